"""Promises of what cannot be seen or reached from inside."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from intercode.sandboxes.base import Backend, Image, Limits
from intercode.sandboxes.conformance.tools import expect, fresh, prints, same, still_works

# Runs the rest of a line where the image has that program, and counts as refused where not.
_HAS = "command -v {0} > /dev/null || exit 99; "
_SETTINGS = ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
             "/sys/kernel/uevent_helper", "/sys/power/state")  # fmt: skip


def there_is_no_network(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        result = sandbox.run('while read -r name _; do echo "$name"; done < /proc/net/dev')
        interfaces = [line for line in result.output.split() if line.endswith(":")]
        # What the kernel puts into every network namespace leads nowhere.
        reaching = [name for name in interfaces if not name.startswith(("lo:", *_TUNNELS))]
        same("interfaces", (reaching, "lo:" in interfaces), ([], True))
        with socket.create_server(("0.0.0.0", 0)) as server:
            port = server.getsockname()[1]
            for address in (f"127.0.0.1/{port}", f"{_own_address()}/{port}", "192.0.2.1/80"):
                result = sandbox.run(f"exec 3<> /dev/tcp/{address}", timeout_s=5)
                expect(result.exit_code != 0, f"connected to {address}")


def the_host_environment_is_not_seen(backend: Backend, image: Image, limits: Limits) -> None:
    secret = secrets.token_hex(8)
    os.environ["INTERCODE_CONFORMANCE"] = secret
    try:
        with fresh(backend, image, limits) as sandbox:
            for ask in (sandbox.run, sandbox.shell().run):
                seen = ask("cat /proc/*/environ; env; set; declare -p").raw
                expect(secret.encode() not in seen, "a variable of the host is seen inside")
            names = set(sandbox.run("compgen -e").output.split())
            usual = {"PATH", "HOME", "PWD", "OLDPWD", "SHLVL", "_"}
            same(
                "variables beyond the usual", names - usual - {name for name, _ in image.env}, set()
            )
    finally:
        del os.environ["INTERCODE_CONFORMANCE"]


def host_processes_are_not_seen(backend: Backend, image: Image, limits: Limits) -> None:
    mark = f"6{secrets.randbelow(10**6):06}"
    host = subprocess.Popen(["sleep", mark])
    try:
        with fresh(backend, image, limits) as sandbox:
            seen = sandbox.run("cat /proc/*/cmdline").raw
            expect(mark.encode() not in seen, "a process of the host is seen inside")
            pids = sandbox.run("cd /proc; echo [0-9]*").output.split()
            expect(len(pids) < 8, f"too many processes are seen: {pids}")
            sandbox.run(f"kill -9 {host.pid}; kill -9 -1")
            same("exit code of the host's process", host.poll(), None)
    finally:
        host.kill()
        host.wait()


def host_files_and_sockets_are_not_seen(backend: Backend, image: Image, limits: Limits) -> None:
    with tempfile.TemporaryDirectory() as folder, fresh(backend, image, limits) as sandbox:
        Path(folder, "secret").write_text("secret")
        expect(sandbox.run(f"[[ ! -e {folder} ]]").exit_code == 0, f"{folder} is seen inside")
        with _abstract_socket() as name:
            seen = sandbox.run("cat /proc/net/unix").raw
            expect(name.encode() not in seen, "an abstract socket of the host is seen inside")


def sandboxes_do_not_see_each_other(backend: Backend, image: Image, limits: Limits) -> None:
    listen = (
        "if command -v perl > /dev/null; then perl -MSocket -e '"
        'socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("\\0our-own")); listen(S, 1);'
        "sleep 61'; else sleep 61; fi > /dev/null 2>&1 &"
    )
    with fresh(backend, image, limits) as one, fresh(backend, image, limits) as other:
        one.run(f"echo mine > /tmp/mine; echo mine > /dev/shm/mine; {listen} sleep 0.3")
        same("files of the other", other.run("ls -A /tmp/mine /dev/shm").output.count("mine\n"), 0)
        seen = other.run("cat /proc/*/cmdline /proc/net/unix").raw
        expect(b"sleep" not in seen, "a process of another sandbox is seen")
        expect(b"our-own" not in seen, "an abstract socket of another sandbox is seen")
        same("own files", one.run("cat /tmp/mine").raw, b"mine\n")
        expect(one.id != other.id, "both have the same id")
        other.run("kill -9 -1")
        same("processes of the first", one.process_count() > 0, True)


def nothing_can_be_mounted_or_entered(backend: Backend, image: Image, limits: Limits) -> None:
    attempts = (
        ("mount", "mount -t tmpfs none /mnt"),
        ("mount", "mount --bind / /mnt"),
        ("mount", "mount -t proc proc /mnt"),
        ("mount", "mount -o remount,rw /proc/sys"),
        ("umount", "umount -l /proc"),
        ("unshare", "unshare --mount true"),
        ("unshare", "unshare --user --map-root-user true"),
        ("unshare", "unshare --user --map-root-user --mount mount -t tmpfs none /mnt"),
        ("nsenter", "nsenter --target 1 --user true"),
        ("chroot", "mkdir -p /jail; chroot /jail /bin/true || chroot / true"),
        ("pivot_root", "pivot_root / /mnt"),
        ("hostname", "hostname changed"),
        ("insmod", "insmod /dev/null"),
        ("dmesg", "dmesg --clear"),
        ("date", "date --set '2001-01-01'"),
        ("renice", "renice -n -5 $$"),
    )  # fmt: skip
    with fresh(backend, image, limits) as sandbox:
        for program, attempt in attempts:
            result = sandbox.run(_HAS.format(program) + attempt, timeout_s=10)
            expect(result.exit_code != 0, f"this went well: {attempt}")
        for path in _SETTINGS:
            result = sandbox.run(f"echo 1 > {path}")
            expect(result.exit_code != 0, f"this could be written: {path}")
        still_works(sandbox)


def no_device_can_be_made(backend: Backend, image: Image, limits: Limits) -> None:
    with fresh(backend, image, limits) as sandbox:
        for node in ("c 1 1", "c 1 2", "c 5 1", "c 10 229", "b 8 0", "b 254 0", "b 7 0"):
            result = sandbox.run(_HAS.format("mknod") + f"mknod /tmp/node {node} && : < /tmp/node")
            expect(result.exit_code != 0, f"a device was made and opened: {node}")
        found = sandbox.run(
            "for d in /dev/*; do [[ -b $d ]] && echo $d; done; ls /dev/mem /dev/kmsg"
        )
        same("disks, memory and messages of the machine", found.raw.count(b"\n/dev"), 0)
        prints(sandbox.run("echo x > /dev/null; head -c 3 /dev/zero | wc -c; : < /dev/urandom"),
               b"3\n")  # fmt: skip


_TUNNELS = ("tunl", "gre", "erspan", "sit", "ip6", "ip_vti", "teql", "dummy")


def _own_address() -> str:
    """Of this machine, as its network knows it. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


@contextlib.contextmanager
def _abstract_socket() -> Iterator[str]:
    name = f"intercode-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        yield name


def the_machine_has_the_name_it_was_given(backend: Backend, image: Image, limits: Limits) -> None:
    named = replace(image, hostname="0123456789ab", address="172.17.0.9")
    for chosen, name in ((image, image.hostname), (named, named.hostname)):
        with fresh(backend, chosen, limits) as sandbox:
            prints(sandbox.run("uname -n; echo $HOSTNAME"), f"{name}\n{name}\n".encode())
    with fresh(backend, named, limits) as sandbox:
        prints(sandbox.run("cat /etc/hostname"), b"0123456789ab\n")
        hosts = sandbox.run("cat /etc/hosts").output.split("\n")
        expect("172.17.0.9\t0123456789ab" in hosts, f"its own address is not there: {hosts}")
        expect("127.0.0.1\tlocalhost" in hosts, f"localhost is not there: {hosts}")
        same("changes", sandbox.changes(), [])


PROMISES = (
    there_is_no_network,
    the_host_environment_is_not_seen,
    host_processes_are_not_seen,
    host_files_and_sockets_are_not_seen,
    sandboxes_do_not_see_each_other,
    the_machine_has_the_name_it_was_given,
    nothing_can_be_mounted_or_entered,
    no_device_can_be_made,
)
