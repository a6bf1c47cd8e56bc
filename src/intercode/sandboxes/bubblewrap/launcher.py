"""The small process that starts sandboxes: one for each back end in use.

It exists because mounting an overlay and entering namespaces change the process that does them, and
because cloning a small process is cheap where cloning the host's is not. Its owner sends requests
over a socket. A start goes like this:

    launcher: tmpfs of the disk limit's size → overlay on the image's layers → clone
    child, in namespaces of its own: waits → its control group → its own root, /proc and /dev → no
        rights → guest
    launcher: ids and limits of the child → "go" → lets go of the mounts

So every mount lives in the child's own mount namespace and dies with it. When the socket ends,
because its owner closed it or was killed, everything that was started is killed and reaped.

Each request is one message: a dictionary (in `marshal`'s form, as both ends are the same Python),
and descriptors, the first of which is a socket for the answer:

=========  ============================  =======================================================
``op``     further descriptors           answer
=========  ============================  =======================================================
``room``   none                          a folder for a sandbox to come: ``room``, and a
                                         descriptor of the directory that its files belong in
``leave``  none                          none; such a folder is not wanted any more
``start``  the guest's stdin, stdout,    ``pid``, and descriptors of the upper directory and of
           stderr, and descriptor 3      the root; after that, an ``error`` or the socket's end
``stop``   none                          empty, when the sandbox with this ``pid`` is reaped
=========  ============================  =======================================================

Instead of any answer there may be an ``error`` with its ``errno``. As an ordinary user the launcher
first becomes root of a user namespace that holds this user alone.

A clone copies the map of all memory that is in use, and throws it away again. So little is imported
here and in what this imports: modules written in C where there are any, and none for types alone.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import _socket
import fcntl
import gc
import marshal
import os
import resource
import select

from intercode.sandboxes import linux
from intercode.sandboxes.bubblewrap import inside, names
from intercode.sandboxes.bubblewrap.console import Console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Request = Mapping[str, Any]

_MAX_MESSAGE = 1 << 16
_HANDLED = (
    signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ,
)  # fmt: skip
_NAMESPACES = (
    linux.CLONE_NEWUSER | linux.CLONE_NEWNS | linux.CLONE_NEWPID | linux.CLONE_NEWIPC
    | linux.CLONE_NEWUTS
)  # fmt: skip


def main(socket_fd: int, mount_point: str, id_base: int, id_count: int) -> None:
    """``id_base``: the host's first id for sandboxes, of ``id_count``; for an ordinary user 0."""
    os.set_inheritable(socket_fd, False)
    requests = _socket.socket(fileno=socket_fd)
    program = requests.recv(_MAX_MESSAGE)
    Launcher(requests, mount_point, (id_base, id_count), program).serve()


class Launcher:
    """Owns the first process of each sandbox."""

    def __init__(
        self, requests: _socket.socket, mount_point: str, ids: tuple[int, int], program: bytes
    ) -> None:
        self._requests = requests
        self._mount_point = mount_point
        self._id_base, count = ids
        self._privileged = os.getuid() == 0
        self._id_map = f"0 {self._id_base} {count}".encode()
        self._filter = linux.Filter(program)
        self._folders = 0
        self._free: list[str] = []
        self._children: dict[int, list[str]] = {}
        self._waiting: dict[int, _socket.socket] = {}

    def serve(self) -> None:
        for name in _HANDLED:
            # Not ignored: what is ignored stays so in a sandbox, what is caught does not.
            signal.signal(name, lambda *_: None)
        if not self._privileged:
            enter_own_namespace()
        linux.unshare(linux.CLONE_NEWNS)
        linux.mount("none", "/", "", linux.MS_REC | linux.MS_PRIVATE)
        linux.mount(
            "tmpfs", self._mount_point, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=755"
        )
        inside.furnish(self._mount_point, self._id_base)
        self._life, self._held = os.pipe2(os.O_CLOEXEC)
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._requests, select.POLLIN)
        poll.register(wake_read, select.POLLIN)
        # A child that collects garbage would copy the memory it shares with us.
        gc.disable()
        gc.freeze()
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
        data, fds = _receive(self._requests)
        if not data:
            return False
        request = marshal.loads(data)
        reply = _socket.socket(fileno=fds[0])
        try:
            self._do(request, reply, fds)
        except Exception as error:
            # That is this request's trouble, not that of all the others.
            _complain(reply, error)
        finally:
            for fd in fds[1:]:
                os.close(fd)
            if reply not in self._waiting.values():
                reply.close()
        return True

    def _do(self, request: Request, reply: _socket.socket, fds: list[int]) -> None:
        op = request["op"]
        if op == "stop":
            self._stop(request["pid"], reply)
        elif op == "room":
            room = self._new_room(request)
            upper = os.open(f"{room}/upper", os.O_RDONLY | os.O_DIRECTORY)
            _tell(reply, {"room": room}, upper)
            os.close(upper)
        elif op == "leave":
            self._leave(request["room"])
        else:
            self._start(request, reply, fds)

    def _start(self, request: Request, reply: _socket.socket, fds: list[int]) -> None:
        room = request["room"] or self._new_room(request)
        try:
            self._furnish(room, request)
            wait, go = os.pipe2(os.O_CLOEXEC)
            try:
                network = 0 if request["network"] else linux.CLONE_NEWNET
                pid = linux.clone(_NAMESPACES | network)
                if pid == 0:
                    os.close(go)
                    self._become_sandbox(request, room, reply, fds, wait)
                self._children[pid] = [os.path.dirname(path) for path in request["procs"]]
                self._admit(pid, request)
                os.write(go, str(pid).encode())
            finally:
                os.close(wait)
                os.close(go)
        finally:
            self._leave(room)

    def _admit(self, pid: int, request: Request) -> None:
        """Let a child's ids mean something, and set its limits."""
        try:
            _write(f"/proc/{pid}/uid_map", self._id_map)
            _write(f"/proc/{pid}/gid_map", self._id_map)
            for name, value in request["rlimits"]:
                hard = resource.prlimit(pid, name)[1]
                least = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.prlimit(pid, name, (least, least))
            if request["cores"]:
                own = sorted(os.sched_getaffinity(0))
                first = pid % len(own)
                os.sched_setaffinity(pid, (own + own)[first : first + request["cores"]])
        except OSError:
            os.kill(pid, signal.SIGKILL)
            raise

    def _become_sandbox(
        self, request: Request, room: str, reply: _socket.socket, fds: list[int], wait: int
    ) -> None:
        """In the child: never returns."""
        try:
            # What the launcher alone holds ends with it only if nobody else holds it.
            os.close(self._held)
            pid = os.read(wait, 16)
            if not pid:
                os._exit(1)
            # Not done by the launcher: the kernel may let it wait for ten milliseconds.
            for path in request["procs"]:
                _write(path, b"0")
            if self._privileged:
                inside.become_root()
            console = mount_proc = None
            if request["console"]:
                if not request["network"]:
                    names.start(self._filter)
                console = Console(fds[2], self._filter, request["env"])
                mount_proc = console.mount_proc
            folders = inside.settle(request, room, self._mount_point, mount_proc)
            inside.stay_with(self._life)
            _tell(reply, {"pid": int(pid)}, *folders)
            _place(fds[1:])
            if console:
                console.go()
            inside.give_up(self._filter)
            # Every other descriptor is closed by this.
            os.execve(request["argv"][0], request["argv"], request["env"])
        except BaseException as error:
            _complain(reply, error)
        finally:
            # Also when nobody waits for the answer any more: there must never be two launchers.
            os._exit(1)

    def _new_room(self, request: Request) -> str:
        """A folder with room for what a sandbox writes: in memory, not on the disk. So it is gone
        with the sandbox, limited to the byte, and fast."""
        disk_mib = request["disk_mib"]
        if not self._free:
            self._folders += 1
            self._free.append(f"{self._mount_point}/{self._folders}")
            os.mkdir(self._free[0])
        room = self._free.pop()
        linux.mount(
            "tmpfs", room, "tmpfs", linux.MS_NOSUID | linux.MS_NODEV,
            f"size={disk_mib}m,nr_inodes={max(4096, disk_mib * 256)},mode=755",
        )  # fmt: skip
        if request["blocks"] and self._privileged:
            _cover_with_blocks(room, disk_mib)
        for name in ("upper", "work", "root"):
            os.mkdir(f"{room}/{name}", 0o755)
        os.chown(f"{room}/upper", self._id_base, self._id_base)
        return room

    def _leave(self, room: str) -> None:
        linux.detach(room)
        # The folder itself is kept: removing it would unmount it in every other namespace too.
        self._free.append(room)

    def _furnish(self, room: str, request: Request) -> None:
        extra = "" if self._privileged else ",userxattr"
        linux.mount(
            "overlay", f"{room}/root", "overlay", linux.MS_NOSUID | linux.MS_NODEV,
            f"lowerdir={':'.join(request['lowers'])},upperdir={room}/upper,workdir={room}/work"
            f",redirect_dir=nofollow,metacopy=off,index=off{extra}",
        )  # fmt: skip
        for source, target in request["binds"]:
            _bind_read_only(source, f"{room}/root{target}")

    def _stop(self, pid: int, reply: _socket.socket) -> None:
        if pid in self._children:
            os.kill(pid, signal.SIGKILL)
            self._waiting[pid] = reply
        else:
            _tell(reply, {})

    def _reap(self) -> None:
        while self._children:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._children.pop(pid, None)
            waiting = self._waiting.pop(pid, None)
            if waiting is not None:
                _tell(waiting, {})
                waiting.close()

    def _end(self) -> None:
        groups = [group for folders in self._children.values() for group in folders]
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        for group in groups:
            _thaw(group)
        for pid in self._children:
            os.waitpid(pid, 0)
        for group in groups:
            try:
                os.rmdir(group)
            except OSError:
                continue


def _cover_with_blocks(room: str, disk_mib: int) -> None:
    from intercode.sandboxes.bubblewrap import blocks  # seldom wanted

    blocks.cover(room, disk_mib)


def enter_own_namespace() -> None:
    """As an ordinary user: become root of a user namespace that holds this user alone."""
    uid, gid = os.getuid(), os.getgid()
    linux.unshare(linux.CLONE_NEWUSER)
    _write("/proc/self/setgroups", b"deny")
    _write("/proc/self/uid_map", f"0 {uid} 1".encode())
    _write("/proc/self/gid_map", f"0 {gid} 1".encode())


def _receive(source: _socket.socket) -> tuple[bytes, list[int]]:
    data, parts, _, _ = source.recvmsg(_MAX_MESSAGE, 256, _socket.MSG_CMSG_CLOEXEC)
    return data, [fd for _, _, body in parts for fd in memoryview(body).cast("i")]


def _tell(reply: _socket.socket, answer: dict[str, Any], *fds: int) -> None:
    """Answer, unless nobody waits for it any more."""
    rights = b"".join(fd.to_bytes(4, "little") for fd in fds)
    parts = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if fds else []
    try:
        reply.sendmsg([marshal.dumps(answer)], parts)
    except OSError:
        return


def _place(streams: list[int]) -> None:
    """Make these the descriptors from 0 on; they take the places of others that end here."""
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, len(streams)) for fd in streams]
    for number, fd in enumerate(high):
        os.dup2(fd, number)


def _write(path: str, text: bytes) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)


def _thaw(group: str) -> None:
    """In version 1 of control groups the frozen cannot even die. An owner that was killed while it
    looked at a sandbox's files has left it frozen."""
    try:
        _write(f"{group}/freezer.state", b"THAWED")
    except OSError:
        return


def _complain(reply: _socket.socket, error: BaseException) -> None:
    code = error.errno if isinstance(error, OSError) else None
    _tell(reply, {"error": str(error) or repr(error), "errno": code})


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
