"""The small process that starts sandboxes: one for each back end in use.

It exists because mounting an overlay and entering namespaces change the process that does them, and
because forking a small process is cheap where forking the host's is not. It reads requests from a
socket, forks, and the child becomes a sandbox:

    mount namespace → tmpfs of the disk limit's size → overlay on the image's layers →
    user namespace → bwrap → guest

All mounts live in the child's own mount namespace and die with it. When the socket ends, because
its owner closed it or was killed, everything that was started is killed and reaped.

Only the standard library's quick parts are imported: start-up time and memory are paid per fork.
What chores need, which is most, comes with the first request that needs it often.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from intercode.sandboxes import linux

ID_COUNT = 65536
SECCOMP_FD, REPLY_FD = 10, 11
_MAX_MESSAGE = 1 << 18
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_HANDLED = (*_IGNORED, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ)

Request = Mapping[str, Any]


def main(socket_fd: int, mount_point: str, id_base: int) -> None:
    Spawner(socket.socket(fileno=socket_fd), mount_point, id_base).serve()


class Spawner:
    """Owns the sandboxes' outermost processes."""

    def __init__(self, requests: socket.socket, mount_point: str, id_base: int) -> None:
        self._requests = requests
        self._mount_point = mount_point
        self._id_base = id_base
        self._user_namespace = _range_namespace(id_base) if os.getuid() == 0 else None
        self._children: set[int] = set()
        self._groups: dict[int, list[str]] = {}
        self._waiting: dict[int, socket.socket] = {}

    def serve(self) -> None:
        for name in _IGNORED:
            signal.signal(name, signal.SIG_IGN)
        linux.adopt_orphans()
        if self._user_namespace is None:
            _chores()  # an ordinary user's every look at files is one
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        poll.register(wake_read, select.POLLIN)
        serving = True
        while serving:
            for fd, _ in poll.poll():
                if fd == wake_read:
                    os.read(wake_read, 4096)
                    self._reap()
                else:
                    serving = self._take_request()
        self._end()

    def _take_request(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._requests, _MAX_MESSAGE, 8)
        if not data:
            return False
        request = json.loads(data)
        reply = socket.socket(fileno=fds[0])
        try:
            if request["op"] == "stop":
                self._stop(request["pid"], reply)
                return True
            if _is_seeded(request, fds):
                _chores()
            try:
                pid = os.fork()
            except OSError as error:
                # This machine is full. That is this request's trouble, not that of all the others.
                _tell(reply, {"error": str(error), "errno": error.errno})
                return True
            if pid == 0:
                self._become(request, fds)
            self._children.add(pid)
            self._groups[pid] = [os.path.dirname(path) for path in request.get("procs", ())]
        finally:
            for fd in fds[1:]:
                os.close(fd)
            if reply not in self._waiting.values():
                reply.close()
        return True

    def _stop(self, pid: int, reply: socket.socket) -> None:
        if pid in self._children:
            os.kill(pid, signal.SIGKILL)
            self._waiting[pid] = reply
        else:
            _tell(reply, {})

    def _reap(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._children:
                self._children.remove(pid)
                del self._groups[pid]
                # A bwrap killed while it starts leaves its child behind, which waits for it for
                # ever, and holds on to our descriptors.
                _kill(_adopted() - self._children)
            waiting = self._waiting.pop(pid, None)
            if waiting is not None:
                _tell(waiting, {})
                waiting.close()

    def _end(self) -> None:
        groups = [group for folders in self._groups.values() for group in folders]
        while True:
            _kill(self._children | _adopted())
            for group in groups:
                _thaw(group)
            try:
                self._children.discard(os.wait()[0])
            except ChildProcessError:
                break
        for group in groups:
            with contextlib.suppress(OSError):
                os.rmdir(group)

    def _become(self, request: Request, fds: list[int]) -> None:
        """In the forked child: never returns."""
        reply = socket.socket(fileno=fds[0])
        try:
            signal.set_wakeup_fd(-1)
            # Python ignores SIGPIPE, and what is ignored stays so in the sandbox.
            for name in _HANDLED:
                signal.signal(name, signal.SIG_DFL)
            if request["op"] == "start":
                self._become_sandbox(request, reply, fds)
            else:
                if self._user_namespace is None:
                    enter_own_namespace()
                answer = _chores().do(request["name"], fds[1:], request["arguments"])
                with os.fdopen(fds[-1], "wb") as out:
                    out.write(json.dumps(answer).encode())
                reply.send(b"{}")
                os._exit(0)
        except BaseException as error:
            code = error.errno if isinstance(error, OSError) else None
            reply.send(json.dumps({"error": str(error), "errno": code}).encode())
        finally:
            # Also when nobody waits for the answer any more: there must never be two spawners.
            os._exit(1)

    def _become_sandbox(self, request: Request, reply: socket.socket, fds: list[int]) -> None:
        own_id = str(os.getpid()).encode()
        for path in request["procs"]:
            fd = os.open(path, os.O_WRONLY)
            os.write(fd, own_id)
            os.close(fd)
        if self._user_namespace is None:
            enter_own_namespace()
        linux.unshare(linux.CLONE_NEWNS)
        linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
        upper, root = self._mount(request, fds[5] if _is_seeded(request, fds) else None)
        answer = json.dumps({"pid": os.getpid()}).encode()
        socket.send_fds(reply, [answer], [upper, root])
        if self._user_namespace is not None:
            linux.setns(self._user_namespace, linux.CLONE_NEWUSER)
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        for name, value in request["rlimits"]:
            hard = resource.getrlimit(name)[1]
            least = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(name, (least, least))
        if request["cores"]:
            own = sorted(os.sched_getaffinity(0))
            first = os.getpid() % len(own)
            os.sched_setaffinity(0, (own + own)[first : first + request["cores"]])
        _place([*fds[1:4]], [0, 1, 2], fds[4], reply.fileno())
        os.execve(request["argv"][0], request["argv"], {})

    def _mount(self, request: Request, seed: int | None) -> tuple[int, int]:
        """Mount the sandbox's root; give descriptors of its upper directory and of its root."""
        base = self._id_base if self._user_namespace is not None else 0
        where = self._mount_point
        # Memory, not disk: gone with the sandbox, limited to the byte, and fast.
        inodes = max(4096, request["disk_mib"] * 256)
        linux.mount(
            "tmpfs", where, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV,
            f"size={request['disk_mib']}m,nr_inodes={inodes},mode=755",
        )  # fmt: skip
        for name in ("upper", "work", "root"):
            os.mkdir(f"{where}/{name}", 0o755)
        os.chown(f"{where}/upper", base, base)
        if seed is not None:
            _chores().copy_upper(seed, f"{where}/upper")
        extra = "" if self._user_namespace is not None else ",userxattr"
        linux.mount(
            "overlay", f"{where}/root", "overlay", linux.MS_NOSUID | linux.MS_NODEV,
            f"lowerdir={':'.join(request['lowers'])},upperdir={where}/upper,workdir={where}/work"
            f",redirect_dir=nofollow,metacopy=off,index=off{extra}",
        )  # fmt: skip
        for source, target in request["binds"]:
            _bind_read_only(source, f"{where}/root{target}")
        upper = os.open(f"{where}/upper", os.O_RDONLY | os.O_DIRECTORY)
        return upper, os.open(f"{where}/root", os.O_RDONLY | os.O_DIRECTORY)


def _chores() -> ModuleType:
    from intercode.sandboxes.bubblewrap import chores

    return chores


def _is_seeded(request: Request, fds: list[int]) -> bool:
    """Whether a sandbox starts with another's files: the last descriptor is their folder."""
    return request["op"] == "start" and len(fds) > 5


def _tell(reply: socket.socket, answer: Mapping[str, Any]) -> None:
    """Answer, unless nobody waits for it any more."""
    with contextlib.suppress(OSError):
        reply.send(json.dumps(answer).encode())


def _adopted() -> set[int]:
    """All our children, those included whose parent has died."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:  # a kernel without this file
        return set()


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _thaw(group: str) -> None:
    """In version 1 of control groups the frozen cannot even die. An owner that was killed while it
    looked at a sandbox's files has left it frozen."""
    with contextlib.suppress(OSError), open(f"{group}/freezer.state", "r+") as file:
        file.write("THAWED")


def enter_own_namespace() -> None:
    """As an ordinary user: become root of a user namespace that holds this user alone."""
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"0 {uid} 1"),
        ("gid_map", f"0 {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _range_namespace(base: int) -> int:
    """As root: a user namespace of 65,536 ids that own nothing on this machine; its descriptor."""
    ready_read, ready_write = os.pipe()
    done_read, done_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            linux.unshare(linux.CLONE_NEWUSER)
            os.write(ready_write, b"x")
            os.close(done_write)
            os.read(done_read, 1)
        finally:
            os._exit(0)
    os.close(ready_write)
    try:
        if not os.read(ready_read, 1):
            raise OSError("cannot make a user namespace")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write(f"0 {base} {ID_COUNT}")
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for fd in (ready_read, done_read, done_write):
            os.close(fd)
        os.waitpid(pid, 0)


def _bind_read_only(source: str, target: str) -> None:
    linux.mount(source, target, "", linux.MS_BIND | linux.MS_REC)
    flags = os.statvfs(target).f_flag
    # An ordinary user may not drop what the original mount forbids: keep every such flag.
    kept = flags & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME | os.ST_NODIRATIME)
    relatime = (1 << 21) if flags & os.ST_RELATIME else 0
    linux.mount(
        "none", target, "",
        linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY | linux.MS_NOSUID | linux.MS_NODEV
        | kept | relatime,
    )  # fmt: skip


def _place(streams: list[int], targets: list[int], seccomp: int, reply: int) -> None:
    """Put each descriptor at its number, first all out of the way, and close every other."""
    high = [os.dup(fd) for fd in (*streams, seccomp, reply)]
    while min(high) <= REPLY_FD:
        high = [os.dup(fd) for fd in high]
    for source, target in zip(high, (*targets, SECCOMP_FD, REPLY_FD), strict=True):
        os.dup2(source, target, inheritable=True)
    os.closerange(3, SECCOMP_FD)
    os.closerange(REPLY_FD + 1, 65536)
