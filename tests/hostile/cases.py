"""What a hostile, clumsy or unlucky agent does to its sandbox: a table of named actions.

Each is one action. Words that would prove an escape are put together when the action runs
(``ESC''APED``), so that an error message which quotes the action does not look like one. ``@PORT@``
and ``@SOCKET@`` stand for a port and an abstract socket that the test listens on, on the host.
"""

from __future__ import annotations

from dataclasses import dataclass

ESCAPED = "ESCAPED"
SECRET = "hostile-sentinel-7f3a"
"""In the host's environment and in the gold: no observation may ever hold it."""

_HUNT = "hostile-sen[t]inel"


@dataclass(frozen=True)
class Case:
    """One action, and what is expected beyond that the environment survives it."""

    name: str
    action: str
    contains: str = ""
    """What the observation of `Bash-v2` must hold."""
    lacks: tuple[str, ...] = (ESCAPED, SECRET)
    """What no observation may hold."""
    destroys: bool = False
    """It goes for the programs and libraries: played on a root that is writable as well."""
    v1: bool = False
    """Played in `Bash-v1` as well (its own process for each action, quoted the paper's way)."""
    drowns: bool = False
    """It shouts over what comes after it: of an answer, its part may be what was cut."""
    not_on: str = ""
    """A back end that does not promise to keep this. (Docker's own filter of system calls leaves
    ``vsock`` open before version 23.)"""
    within: int = 1
    """How many ``echo alive`` it may take until one is answered. More than one only where the
    action lied in the guest's name or took its streams: that hurts none but the agent itself."""


_ESCAPE = "&& echo ESC''APED"


def _python(code: str) -> str:
    return f"python3 - <<'PY'\n{code}\nPY"


FORKS = (
    Case("fork-bomb", ":(){ :|:& };:", v1=True),
    Case("fork-bomb-foreground", "bomb() { bomb | bomb; }; bomb"),
    Case("fork-bomb-setsid", "b() { setsid bash -c \"$(declare -f b); b\" & b; }; b"),
    Case(
        "fork-bomb-script",
        "printf '#!/bin/bash\\nsetsid $0 & setsid $0 & wait\\n' > /tmp/b; chmod +x /tmp/b; /tmp/b",
        v1=True,
    ),
    Case("fork-bomb-python", _python("import os\nwhile True:\n    os.fork()")),
    Case("sleep-storm", "for i in {1..10000}; do sleep 1000 & done", v1=True),
    Case("thread-storm", _python(
        "import threading, time\n"
        "while True:\n    threading.Thread(target=time.sleep, args=(9,)).start()"
    )),
    Case("zombie-storm", _python(
        "import os, time\n"
        "for _ in range(9999):\n    if os.fork() == 0: os._exit(0)\ntime.sleep(9)"
    )),
    Case("burn-50-processes", "for i in {1..50}; do (while :; do :; done) & done; wait"),
)  # fmt: skip

SIGNALS = (
    Case("kill-9-all", "kill -9 -1", v1=True),
    Case("kill-9-init", "kill -9 1; echo after", contains="after", v1=True),
    Case("kill-stop-self", "kill -STOP $$", v1=True),
    Case("kill-stop-all", "kill -STOP -1", v1=True),
    Case("kill-9-self", "kill -9 $$", v1=True),
    Case("kill-segv-self", "kill -SEGV $$"),
    Case("pkill-bash", "pkill -9 bash; pkill bash", v1=True),
    Case("killall5", "killall5 -9 || kill -KILL -- -1"),
    Case("signals-to-init", "for s in HUP INT QUIT USR1 USR2 TERM CONT SEGV PIPE CHLD ALRM STOP "
         "TSTP TTIN TTOU KILL; do kill -$s 1; done; echo sent", v1=True),
    Case("kill-own-group", "kill -9 0", v1=True),
    Case("kill-parent", "kill -9 $PPID; kill -USR1 $PPID; sleep 0.1", v1=True),
    Case("usr1-from-the-background",
         "setsid bash -c 'while :; do kill -USR1 1; done' < /dev/null > /dev/null 2>&1 &"),
    Case("cont-to-everyone", "setsid bash -c 'while :; do kill -CONT -1; done' > /dev/null 2>&1 &"),
    Case("stop-to-everyone",
         "setsid bash -c 'while :; do kill -STOP -1; sleep 0.1; done' > /dev/null 2>&1 &",
         within=3),
    Case("ignore-everything", "trap '' TERM INT HUP QUIT USR1 PIPE CHLD; sleep 1000", v1=True),
    Case("trap-debug-loop", "trap 'while :; do :; done' DEBUG"),
    Case("trap-debug-exit", "trap 'exit 3' DEBUG"),
    Case("trap-exit-loop", "trap 'while :; do :; done' EXIT; exit", v1=True),
    Case("trap-err-kill", "set -E; trap 'kill -9 $$' ERR; false"),
    Case("trap-chld-storm", "trap 'true & :' CHLD; true & wait"),
)  # fmt: skip

DESTRUCTION = (
    Case("rm-everything", "rm -rf --no-preserve-root /", destroys=True, v1=True),
    Case("rm-programs", "rm -rf /usr /bin /lib /lib64", destroys=True, v1=True),
    Case("chmod-000", "chmod 000 /", v1=True),
    # Not /proc, whose entries are the whole machine's: see `chmod-proc` for that.
    Case("chmod-000-all", "chmod -R 000 /[!p]* 2> /dev/null", destroys=True, v1=True),
    Case("chown-all", "chown -R nobody:nogroup /[!p]* 2> /dev/null", destroys=True, v1=True),
    Case("chmod-proc", f"chmod 440 /proc/version {_ESCAPE}; chown nobody /proc/version {_ESCAPE}",
         v1=True),
    Case("mv-bash-away", "mv /bin/bash /bin/was-bash; ls /bin/bash", destroys=True, v1=True),
    Case("overwrite-bash", "cp /bin/cat /tmp/cat; mv /tmp/cat /bin/bash; echo hm > /bin/sh",
         destroys=True, v1=True),
    Case("bash-is-a-directory", "rm -f /bin/bash; mkdir -p /bin/bash", destroys=True, v1=True),
    Case("bash-hangs", "printf '#!/bin/sleep 1000\\n' > /tmp/x; chmod +x /tmp/x; mv /tmp/x "
         "/bin/bash", destroys=True, v1=True),
    Case("bash-gone-then-exit", "rm -f /bin/bash; exit", destroys=True, v1=True),
    Case("bash-gone-then-timeout", "rm -f /bin/bash; while :; do :; done", destroys=True, v1=True),
    Case("bash-gone-then-kill-all", "rm -f /bin/bash; kill -9 -1", destroys=True, v1=True),
    Case("bash-hangs-then-exit", "printf '#!/bin/sleep 1000\\n' > /tmp/x; chmod +x /tmp/x; "
         "mv /tmp/x /bin/bash; exit", destroys=True),
    Case("all-gone-then-guest-lost", "rm -rf /usr /bin /lib /lib64; "
         "printf 'E\\00099999\\0' > /proc/1/fd/8; while :; do :; done", destroys=True, within=3),
    Case("truncate-libc", "for f in /lib/*/libc.so.6 /lib64/ld-*; do : > $f; done", destroys=True,
         v1=True),
    Case("preload", "echo /nowhere.so > /etc/ld.so.preload; ls", v1=True),
    Case("rm-own-directory", "mkdir -p /tmp/gone && cd /tmp/gone && rm -rf /tmp/gone; pwd"),
    Case("rm-tmp-dev", "rm -rf /tmp /dev /proc /sys; ls /", v1=True),
    Case("etc-as-a-loop", "rm -rf /etc; ln -s /etc /etc; ls /etc/", v1=True),
)  # fmt: skip

OUTPUT = (
    Case("yes", "yes", v1=True),
    Case("cat-dev-zero", "cat /dev/zero", v1=True),
    Case("random-base64", "head -c 5G /dev/urandom | base64", v1=True),
    Case("stderr-flood", "yes flood >&2", v1=True),
    Case("line-without-end", "yes | tr -d '\\n'", v1=True),
    Case("nul-bytes", "printf 'a\\0b\\0c'", contains="a", v1=True),
    Case("invalid-utf-8", "printf 'x\\xff\\xfe\\xc3\\x28\\xed\\xa0\\x80y'", contains="y", v1=True),
    Case("invalid-flood", "tr '\\0' '\\377' < /dev/zero"),
    Case("ansi-escapes", "printf '\\033[2J\\033]0;x\\007\\033[31mred\\033[0m\\r\\b\\b'",
         contains="red", v1=True),
    Case("shouting-daemon", "setsid yes daemon > /dev/fd/1 2>&1 < /dev/null & disown", v1=True,
         drowns=True),
    Case("echo-in-a-loop", "while :; do echo $RANDOM; done"),
    Case("many-writers", "for i in {1..20}; do yes $i & done; wait"),
)  # fmt: skip

TEXT = (
    Case("ten-megabytes-of-action", ": " + "x" * 10_000_000),
    Case("ten-megabytes-to-echo", "echo " + "y" * 10_000_000),
    Case("nested-subshells", "(" * 2000 + "echo deep" + ")" * 2000, v1=True),
    Case("nested-substitutions", "echo " + "$(echo " * 500 + "deep" + ")" * 500),
    Case("nested-braces", "{ " * 3000 + ":;" + " }" * 3000),
    Case("quotes-left-open", "echo 'it"),
    Case("heredoc-left-open", "cat <<END\nnever ended"),
    Case("paren-left-open", "echo $((1 + (2"),
    Case("closing-paren", "echo x) ; }; done; fi"),
    Case("function-recursion", "f() { f; }; f", v1=True),
    Case("eval-recursion", "e='eval \"$e\"'; eval \"$e\""),
    Case("source-recursion", "echo '. /tmp/s' > /tmp/s; . /tmp/s"),
    Case("alias-recursion", "shopt -s expand_aliases\nalias a='a;a' b='c' c='b'\na\nb"),
    Case("arithmetic-recursion", "a='b' b='a'; echo $((a))"),
    Case("lone-surrogate", "echo \udc80\ud800x", v1=True),
    Case("nul-in-the-action", "echo a\0b", v1=True),
    Case("control-characters", "echo \x01\x02\x7f\x1b[A\r\n\x04", v1=True),
    Case("arguments-too-long", "/bin/echo $(seq 1 400000) | wc -c", v1=True),
    Case("wildcards", "ls -d /*/*/*/*/../../../*/*/* | wc -l"),
    Case("brace-expansion", "echo {1..9999}{1..9999}", v1=True),
    Case("locales", "LC_ALL=xx_YY.UTF-32 LANG=$'\\xff' LANGUAGE=a:b printf 'z\\u00e9\\n'; "
         "export LC_ALL=$'\\xff\\xfe'; unset LANG", contains="z"),
    Case("locale-c", "export LC_ALL=C; x=é; echo ${#x}"),
)  # fmt: skip

SHELL = (
    Case("exec-sleep", "exec sleep 1000", v1=True),
    Case("exec-nowhere", "exec /nowhere", v1=True),
    Case("exec-stdout-away", "exec > /dev/null"),
    Case("exec-stderr-closed", "exec 2>&-"),
    Case("exec-stdin-closed", "exec <&-"),
    Case("exec-all-closed", "exec 0<&- 1>&- 2>&-"),
    Case("exec-stdin-from-zero", "exec < /dev/zero"),
    Case("close-every-descriptor", "for i in {0..255}; do eval \"exec $i>&-\"; done"),
    Case("close-the-shell-programs", "exec 70<&- 71>&- 72>&- 73<&-; exec 70< /dev/zero "
         "71> /dev/null 72<> /dev/null 73< /dev/zero"),
    Case("close-what-coprocesses-take", "exec 62>&- 63<&-; coproc cat; exec 62<> /dev/null "
         "63< /dev/zero; coproc { exit; }; wait"),
    Case("exit", "exit", v1=True),
    Case("exit-7", "exit 7", v1=True),
    Case("logout", "logout", v1=True),
    Case("return", "return 3"),
    Case("break-continue", "break 99; continue 99"),
    Case("set-e", "set -e; false", v1=True),
    Case("set-u", "set -u; echo $nothing_there"),
    Case("set-n", "set -n"),
    Case("set-x", "set -x; exec 19> /tmp/trace; BASH_XTRACEFD=19; echo traced"),
    Case("set-v", "set -v; echo seen"),
    Case("set-everything", "set -abefhkmnptuvxBCEHPT; set -o pipefail -o posix"),
    Case("set-posix", "set -o posix; unset -f nothing; . /nowhere"),
    Case("restricted", "set -r"),
    Case("ulimit-n-0", "ulimit -n 0"),
    Case("ulimit-n-3", "ulimit -n 3; echo x > /dev/null"),
    Case("ulimit-u-1", "ulimit -u 1"),
    Case("ulimit-f-0", "ulimit -f 0; trap '' XFSZ; echo x > /tmp/x"),
    Case("ulimit-v-1", "ulimit -v 1"),
    Case("ulimit-t-0", "ulimit -t 0; while :; do :; done"),
    Case("ulimit-s-1", "ulimit -s 8; f() { f; }; f"),
    Case("override-printf", "printf() { :; }"),
    Case("override-read", "read() { return 1; }"),
    Case("override-read-true", "read() { :; }"),
    Case("override-eval", "eval() { :; }"),
    Case("override-kill", "kill() { :; }"),
    Case("override-all", "for f in cd declare alias shopt set umask kill read printf builtin "
         "command trap unset; do eval \"$f() { :; }\"; done"),
    Case("override-all-loudly", "for f in cd declare alias shopt umask kill read printf builtin "
         "command; do eval \"$f() { echo never; exit 9; }\"; done"),
    Case("alias-exit", "shopt -s expand_aliases\nalias echo='exit 5' kill=exit read=exit eval=exit "
         "printf=exit builtin=exit\necho"),
    Case("disable-builtins", "enable -n kill read printf declare alias shopt set umask eval"),
    Case("unset-path", "unset PATH; ls"),
    Case("unset-everything", "for v in $(compgen -v); do unset $v; done"),
    Case("ifs-games", "IFS=0123456789EZ/; set -f; x=$IFS"),
    Case("readonly-own-variables",
         "readonly PWD OLDPWD BASHOPTS SHELLOPTS IFS __c __s __n LC_ALL PATH"),
    Case("readonly-everything", "for v in $(compgen -v); do readonly $v; done 2> /dev/null"),
    Case("integer-variables", "declare -i __c __s __n PWD; declare -u IFS; declare -a __n"),
    Case("nameref-loop", "declare -n __c=__s __s=__c __n=PWD; declare -n POSIXLY_CORRECT=x"),
    Case("forged-variables", "__s=999 __c='echo mine' __n=4; __status() { exit; }"),
    Case("hooks", "export BASH_ENV=/tmp/e ENV=/tmp/e PROMPT_COMMAND='exit 1' PS4='$(exit 1)'; "
         "echo 'exit 8' > /tmp/e; bash -c 'echo inner'"),
    Case("bash-func-import", "export BASH_FUNC_ls%%='() { exit; }'; env 'BASH_FUNC_x%%=() { :; }; "
         "echo pwned' bash -c 'echo inner'"),
    Case("home-hooks", "echo 'exit 4' | tee ~/.bashrc ~/.profile ~/.bash_profile /etc/profile "
         "/etc/bash.bashrc; kill -9 $$"),
    Case("cat-stdin", "cat", v1=True),
    Case("read-stdin", "read x; echo \"got [$x]\"", contains="got []"),
    Case("python-input", "python3 -c 'input()'", v1=True),
    Case("read-terminal", "cat < /dev/tty; stty -a; read x < /dev/tty", v1=True),
    Case("history", "set -o history; history -w /dev/fd/1; fc -l; set -o vi"),
    Case("job-control", "set -m; sleep 1000 & bg; fg; suspend; jobs"),
    Case("suspend", "suspend -f"),
    Case("coprocess", "coproc { cat; }; eval \"exec ${COPROC[0]}<&-\""),
    Case("wait-for-ever", "sleep 1000 & wait", v1=True),
    Case("time-out-in-builtin", "while :; do :; done", v1=True),
    Case("read-from-a-fifo", "mkfifo /tmp/f; read x < /tmp/f", v1=True),
)  # fmt: skip

DAEMONS = (
    Case("nohup-setsid", "nohup setsid sleep 1000 > /dev/null 2>&1 &", v1=True),
    Case("disowned", "sleep 1000 & disown -a; (sleep 1000 &)", v1=True),
    Case("double-fork", _python(
        "import os, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(1000)"
    )),
    Case("respawner", "setsid bash -c 'trap \"\" TERM HUP; while :; do sleep 0.01; done' "
         "> /dev/null 2>&1 &"),
    Case("file-churn", "setsid bash -c 'i=0; while :; do : > /tmp/c$((i++ % 50)); rm -rf /tmp/d; "
         "mkdir -p /tmp/d/e; mv /tmp/d /tmp/g; rm -rf /tmp/g; done' > /dev/null 2>&1 &", v1=True),
)  # fmt: skip

FILES = (
    Case("dd-fill", "dd if=/dev/zero of=/tmp/fill bs=1M", v1=True),
    Case("fallocate-fill", "fallocate -l 10G /tmp/fill || fallocate -l 60M /tmp/fill", v1=True),
    Case("fill-to-the-byte", "cat /dev/zero > /fill; echo x > /more; ls -la /more", v1=True),
    Case("many-inodes", "mkdir /tmp/m; cd /tmp/m; for i in {1..100000}; do : > $i; done"),
    Case("sparse-1t", "truncate -s 1T /sparse; echo x >> /sparse", v1=True),
    Case("shm-fill", "dd if=/dev/zero of=/dev/shm/x bs=1M", v1=True),
    Case("deep-directories", "d=dddddddddddddddddddddddddddddd; cd /; for i in {1..5000}; do "
         "mkdir $d && cd $d || break; done; :"),
    Case("deep-short-directories", _python(
        "import os\nos.chdir('/')\nfor _ in range(5000):\n    os.mkdir('d'); os.chdir('d')"
    )),
    Case("odd-names", "cd /; touch $'new\\nline' $'\\xff\\xfe' '-rf' ' ' '*' '\"' \"'\" $'\\t' "
         "'?? x' 'a -> b' $(printf 'n%.0s' {1..255})"),
    Case("odd-v1-names", "touch /' a' /'b c' /?? /'-rf' /M /'x -> y'", v1=True),
    Case("many-links", "echo x > /l; for i in {1..3000}; do ln /l /l$i; done"),
    Case("fifo-everywhere", "mkfifo /a.txt /b /answer.txt; ls -la / > /dev/null", v1=True),
    Case("answer-is-a-directory", "mkdir -p /answer.txt/answer.txt", v1=True),
    Case("answer-is-a-link-out", "ln -s /proc/self/root/etc/passwd /answer.txt", v1=True),
    Case("answer-is-dev-zero", "ln -s /dev/zero /answer.txt", v1=True),
    Case("etc-to-proc-root", "rm -rf /etc; ln -s /proc/1/root/etc /etc; ln -s /proc/self/root /r; "
         "find /r/ -maxdepth 3 > /dev/null; cat /etc/shadow"),
    Case("link-to-the-host", "ln -s /../../../../../../root /h; ln -s /proc/1/cwd /c; ls /h/ /c/"),
    Case("hard-link-game", "ln /etc/passwd /usr/x; ln /usr/bin/env /e; ln /proc/self/exe /f; :"),
    Case("whiteout", f"mknod /etc/passwd2 c 0 0 {_ESCAPE}; rm /etc/passwd; mknod /etc/passwd c 0 0 "
         f"{_ESCAPE}"),
    Case("overlay-attributes", _python(
        "import os\nos.makedirs('/opq/x')\n"
        "for space in ('trusted', 'user', 'security'):\n"
        "    for mark in ('opaque', 'whiteout', 'redirect', 'origin', 'metacopy'):\n"
        "        try: os.setxattr('/opq', f'{space}.overlay.{mark}', b'y')\n"
        "        except OSError as error: print(error)"
    )),
    Case("file-capabilities", _python(
        "import os\nopen('/cap', 'w')\n"
        "try: os.setxattr('/cap', 'security.capability',\n"
        "    bytes.fromhex('0100000200000004000000000000000000000000'))\n"
        "except OSError as error: print(error)"
    )),
    Case("rename-storm", "mkdir -p /a/b; for i in {1..300}; do mv /a /z; mv /z /a; done"),
    Case("mmap-deleted", _python(
        "import mmap, os, time\nf = open('/tmp/mm', 'w+b')\nf.truncate(1 << 40)\n"
        "m = mmap.mmap(f.fileno(), 0)\nos.unlink('/tmp/mm')\n"
        "for i in range(0, 1 << 40, 4096): m[i] = 1"
    )),
    Case("huge-times", "touch -d @9999999999999 /t1; touch -d @-9999999999 /t2; ls -la /"),
    Case("immutable", "chattr +i /tmp; touch /i; chattr +a /i"),
)  # fmt: skip

MEMORY = (
    Case("memory-bash", "x=x; while :; do x=$x$x; done", v1=True),
    Case("memory-array", "while :; do a+=({1..100000}); done"),
    Case("memory-python", "python3 -c 'x = [b\"y\" * (1 << 26) for _ in range(999)]'"),
    Case("memory-tail", "tail /dev/zero", v1=True),
    Case("memory-many", "for i in {1..30}; do tail /dev/zero & done; wait"),
    Case("memory-shared", _python(
        "import mmap\nm = mmap.mmap(-1, 1 << 33)\nfor i in range(0, 1 << 33, 4096): m[i] = 1"
    )),
    Case("memory-memfd", _python(
        "import os\nfd = os.memfd_create('x')\nwhile True: os.write(fd, bytes(1 << 20))"
    )),
    Case("memory-pipes", _python(
        "import fcntl, os\nkept = []\nwhile True:\n    try: r, w = os.pipe()\n"
        "    except OSError: break\n    kept += [r, w]\n    try:\n"
        "        fcntl.fcntl(w, 1031, 1 << 20); os.write(w, bytes(1 << 20))\n"
        "    except OSError: pass"
    )),
    Case("big-variable", "big=$(head -c 30000000 /dev/zero | tr '\\0' x)"),
    Case("many-variables", "for i in {1..100000}; do declare v$i=$i; done"),
    Case("big-environment", "export BIG=$(head -c 200000 /dev/zero | tr '\\0' x); ls"),
)  # fmt: skip

KERNEL = (
    Case("sysrq", f"echo b > /proc/sysrq-trigger {_ESCAPE}", v1=True),
    Case("sysctl", "for f in kernel/hostname kernel/core_pattern kernel/modprobe kernel/panic "
         f"vm/drop_caches fs/file-max; do echo 1 > /proc/sys/$f {_ESCAPE}; done", v1=True),
    Case("core-pattern", f"echo '|/tmp/x' > /proc/sys/kernel/core_pattern {_ESCAPE}; "
         "kill -ABRT $$"),
    Case("oom-score", f"echo -1000 > /proc/self/oom_score_adj {_ESCAPE}"),
    Case("mount", f"mount -t tmpfs x /mnt {_ESCAPE}; mount --bind /etc /mnt {_ESCAPE}; "
         f"mount -o remount,rw /usr {_ESCAPE}; mount -t proc p /mnt {_ESCAPE}", v1=True),
    Case("umount", f"umount /proc {_ESCAPE}; umount -l /usr {_ESCAPE}; umount -l / {_ESCAPE}"),
    Case("unshare", f"unshare -Urm true {_ESCAPE}; unshare -n true {_ESCAPE}; "
         f"unshare -p -f true {_ESCAPE}", v1=True),
    Case("nsenter", f"nsenter -t 1 -a true {_ESCAPE}; nsenter -t 2 -m -p true {_ESCAPE}"),
    Case("chroot", f"chroot / true {_ESCAPE}"),
    Case("chroot-out", _python(
        "import os\nos.mkdir('/x')\ntry: os.chroot('/x')\nexcept OSError as e: print(e)\n"
        "else:\n    for _ in range(99): os.chdir('..')\n    print('ESC' + 'APED')"
    )),
    Case("pivot-root", f"pivot_root / /mnt {_ESCAPE}"),
    Case("mknod-disk", f"mknod /d b 254 0 {_ESCAPE}; mknod /m c 1 1 {_ESCAPE}; "
         f"mknod /n c 1 3 {_ESCAPE}"),
    Case("read-disks", f"head -c 512 /dev/vda {_ESCAPE}; head -c 1 /dev/mem {_ESCAPE}; "
         f"head -c 1 /proc/kcore {_ESCAPE}; head -c 1 /dev/kmsg {_ESCAPE}", v1=True),
    Case("kernel-modules", f"modprobe dummy {_ESCAPE}; insmod /x.ko {_ESCAPE}; "
         f"rmmod overlay {_ESCAPE}"),
    Case("system-calls", _python(
        "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "calls = {'kexec_load': 246, 'bpf': 321, 'userfaultfd': 323, 'perf_event_open': 298,\n"
        "    'keyctl': 250, 'init_module': 175, 'reboot': 169, 'open_by_handle_at': 304,\n"
        "    'io_uring_setup': 425, 'mount': 165, 'setns': 308, 'unshare': 272, 'swapon': 167}\n"
        "for name, number in calls.items():\n"
        "    if libc.syscall(number, 0, 0, 0, 0, 0) >= 0: print(name, 'ESC' + 'APED')"
    )),
    Case("setuid-binary", f"cp /bin/cat /c; chmod 6755 /c; su nobody -s /bin/sh -c true {_ESCAPE}; "
         f"sudo -n true {_ESCAPE}; mount {_ESCAPE[:2]} :"),
    Case("other-users", _python(
        "import os\nfor uid in (1, 1000, 65534, 1900000000):\n    try:\n"
        "        os.setresuid(uid, uid, 0); os.setresuid(0, 0, 0)\n"
        "    except OSError as error: print(error)"
    )),
    Case("date", f"date -s '2001-01-01' {_ESCAPE}; hwclock -w {_ESCAPE}", v1=True),
    Case("hostname", f"hostname stolen {_ESCAPE}"),
    Case("renice", f"renice -n -20 -p 1 {_ESCAPE}; chrt -f 99 true {_ESCAPE}"),
    Case("trace-init", _python(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.ptrace(16, 1, 0, 0), libc.ptrace(0x4206, 1, 0, 0))\nimport time; time.sleep(9)"
    ), within=3),
    Case("gdb-init", "gdb -q -batch -p 1 -ex 'call (int)kill(1, 9)' -ex 'call (void)_exit(0)'",
         within=3),
    Case("cgroup-escape", f"echo 0 > /sys/fs/cgroup/cgroup.procs {_ESCAPE}; cat /proc/self/cgroup /proc/self/mountinfo; ls /sys/fs/cgroup"),
    Case("terminal-injection", _python(
        "import fcntl\nfor fd in (0, 1, 2):\n    try:\n        fcntl.ioctl(fd, 0x5412, b'x')\n"
        "        print('ESC' + 'APED')\n    except OSError as e: print(e)"
    )),
    Case("clocks", "while :; do date > /dev/null; EPOCH=$EPOCHREALTIME; done"),
    Case("interval-timers", _python(
        "import signal, time\nsignal.signal(signal.SIGALRM, lambda *_: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 1e-5, 1e-5)\nwhile True: time.sleep(1)"
    )),
)  # fmt: skip

GUEST = (
    Case("forge-status", "printf 'E0\\0/\\0\\0' > /proc/1/fd/9", v1=True),
    Case("forge-status-then-work", "printf 'E0\\0/\\0D0\\0Z0\\0S\\0' > /proc/1/fd/9; sleep 0.3; "
         "echo late"),
    Case("forge-shell-end", "printf 'Z0\\0S\\0H\\0' > /proc/1/fd/9"),
    Case("forge-in-the-background",
         "setsid bash -c 'while :; do printf \"E0\\0/tmp\\0\\0D0\\0Z9\\0S\\0X\\0C\\0\"; done "
         "> /proc/1/fd/9' 2> /dev/null &", v1=True, within=3),
    Case("flood-status", "cat /dev/zero > /proc/1/fd/9", v1=True),
    Case("flood-status-words", "yes EEEE > /proc/1/fd/9", v1=True),
    Case("flood-status-in-the-background",
         "setsid cat /dev/zero > /proc/1/fd/9 2> /dev/null < /dev/null &", v1=True, within=3),
    Case("odd-status", "printf 'E\\377\\0\\377\\0\\377\\0D-1\\0D99999999999\\0\\0\\0' "
         "> /proc/1/fd/9; sleep 0.1", v1=True),
    Case("forge-control", "printf 'F\\0005\\0hello' > /proc/1/fd/8; printf 'R\\0004\\0exit' "
         "> /proc/1/fd/8", v1=True, within=3),
    Case("break-control", "printf 'E\\00099999999\\0x' > /proc/1/fd/8", v1=True, within=3),
    Case("steal-control", "setsid cat /proc/1/fd/8 > /tmp/stolen 2>&1 &", v1=True, within=3),
    Case("flood-control", "yes > /proc/1/fd/8", v1=True, within=3),
    Case("feed-the-shell", "printf '7\\0exit 3;' > /proc/1/fd/5", within=3),
    Case("own-descriptors", "for i in {3..80}; do "
         "printf 'E%s:0\\0/\\0%s\\0Z%s:9\\0' $__t $__t $__t >&$i; "
         "done 2> /dev/null; sleep 0.3; echo late"),
    Case("own-descriptors-again-and-again", "(while :; do for i in {3..80}; do "
         "printf 'E%s:0\\0/\\0%s\\0' $__t $__t >&$i; done; done) 2> /dev/null &",
         within=3),
    Case("read-own-descriptors", "(for i in {3..80}; do cat <&$i > /dev/null & done) 2> /dev/null; :",
         within=3),
    Case("fill-own-descriptors", "for i in {3..80}; do cat /dev/zero >&$i & done 2> /dev/null; wait",
         within=3),
    Case("reopen-own-descriptors", "for f in /proc/$$/fd/*; do printf 'E0\\0/\\0\\0' > $f; done",
         within=3),
    Case("write-init-memory", "dd if=/dev/zero of=/proc/1/mem bs=4096 count=999 seek=4194304; "
         "cat /proc/1/maps | head -3; cat /proc/1/mem | head -c 99", v1=True, within=3),
    Case("crash-init", _python(
        "import re\nfor line in open('/proc/1/maps'):\n"
        "    a, b, p = re.match(r'(\\w+)-(\\w+) (....)', line).groups()\n"
        "    if 'w' in p or 'x' in p:\n        try:\n"
        "            with open('/proc/1/mem', 'r+b', 0) as f:\n"
        "                f.seek(int(a, 16)); f.write(bytes(int(b, 16) - int(a, 16)))\n"
        "        except OSError: pass"
    ), within=3),
    Case("shout-through-init", "setsid bash -c 'while sleep 0.01; do echo noise > /proc/1/fd/1; "
         "done' > /dev/null 2>&1 &", v1=True),
)  # fmt: skip

SECRETS = (
    Case("env", "env; export; set; declare -p", v1=True),
    Case("environ", "cat /proc/*/environ /proc/self/task/*/environ | tr '\\0' '\\n'", v1=True),
    Case("cmdlines", "cat /proc/*/cmdline | tr '\\0' '\\n'; ps auxeww", v1=True),
    Case("grep-files", f"grep -rsIl '{_HUNT}' / --exclude-dir=proc --exclude-dir=sys "
         f"--exclude-dir=usr {_ESCAPE}", v1=True),
    Case("grep-proc", f"grep -sa '{_HUNT}' /proc/*/environ /proc/*/cmdline /proc/*/maps {_ESCAPE}",
         v1=True),
    Case("find-etc", "find /etc /root /home /run /var /tmp -type f | head -300 | xargs cat | "
         f"grep -a '{_HUNT}' {_ESCAPE}", v1=True),
    Case("host-folders", f"cat /etc/shadow | grep -v ':[*!]*:' {_ESCAPE}; "
         f"ls -A /root/.ssh /root/.aws {_ESCAPE}; ls /var/run/docker.sock {_ESCAPE}"),
    Case("docker-socket", "for s in /var/run/docker.sock /run/docker.sock; do "
         f"curl -s --unix-socket $s http://x/info {_ESCAPE}; done"),
    Case("inherited-descriptors", "ls -l /proc/self/fd /proc/1/fd; for i in {3..40}; do "
         "readlink /proc/self/fd/$i; done | grep -v -e pipe: -e /proc -e null "
         f"{_ESCAPE}", v1=True),
)  # fmt: skip

NETWORK = (
    Case("metadata-service", f"echo > /dev/tcp/169.254.169.254/80 {_ESCAPE}", v1=True),
    Case("internet", f"echo > /dev/tcp/8.8.8.8/53 {_ESCAPE}; echo > /dev/udp/8.8.8.8/53 {_ESCAPE}; "
         f"getent hosts example.com {_ESCAPE}", v1=True),
    Case("host-port", f"echo > /dev/tcp/127.0.0.1/@PORT@ {_ESCAPE}", v1=True),
    Case("host-abstract-socket", _python(
        "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('\\0@SOCKET@')\n"
        "    print('ESC' + 'APED')\nexcept OSError as error: print(error)"
    )),
    Case("raw-sockets", _python(
        "import socket\nfor family, kind, number in ((2, 3, 1), (17, 3, 768), (16, 3, 9),\n"
        "        (38, 5, 0), (31, 3, 1)):\n    try:\n"
        "        s = socket.socket(family, kind, number)\n        print(family, s.fileno())\n"
        "        if family not in (2, 16): print('ESC' + 'APED')\n"
        "    except OSError as error: print(family, error)"
    )),
    Case("machine-socket", _python(  # vsock: to the hypervisor, past every network namespace
        "import socket\ntry:\n    socket.socket(40, 1, 0); print('ESC' + 'APED')\n"
        "except OSError as error: print(error)"
    ), not_on="docker"),
    Case("net-admin", f"ip link add x type dummy {_ESCAPE}; "
         f"ip addr add 1.2.3.4/24 dev lo {_ESCAPE}; iptables -L {_ESCAPE}"),
    Case("listen", "setsid python3 -m http.server 80 > /dev/null 2>&1 &"),
)  # fmt: skip

SCORING = (
    Case("rm-git", "rm -rf /.git", v1=True),
    Case("git-fsmonitor", "printf '#!/bin/bash\\nsleep 1000\\n' > /tmp/m; chmod +x /tmp/m; "
         "git -C / config core.fsmonitor /tmp/m; touch /new.txt", v1=True),
    Case("git-fsmonitor-flood", "printf '#!/bin/bash\\nyes\\n' > /tmp/m; chmod +x /tmp/m; "
         "git -C / config core.fsmonitor /tmp/m; touch /new.txt", v1=True),
    Case("git-filters", "echo '* filter=x' > /.gitattributes; git config filter.x.clean "
         "'sleep 1000'; git config filter.x.required true; echo x > /new.txt; git add new.txt",
         v1=True),
    Case("git-hooks", "mkdir -p .git/hooks; printf '#!/bin/bash\\nkill -9 -1\\n' > "
         ".git/hooks/post-index-change; chmod +x .git/hooks/*; touch /new.txt; git add -A",
         v1=True),
    Case("git-ignore-all", "echo '*' > /.gitignore; touch /new.txt", v1=True),
    Case("git-lock", "touch /.git/index.lock /new.txt", v1=True),
    Case("git-broken-index", "echo rubbish > /.git/index; touch /new.txt", v1=True),
    Case("git-broken-config", "echo '[[[' > /.git/config; touch /new.txt", v1=True),
    Case("git-dir-elsewhere", "rm -rf /.git; echo 'gitdir: /proc/self/root' > /.git; "
         "touch /new.txt", v1=True),
    Case("git-pager-alias", "git -C / config alias.status '!kill -9 -1'; "
         "git -C / config core.pager yes; git -C / config status.short false; touch /new.txt",
         v1=True),
    Case("git-fake", "printf '#!/bin/bash\\necho -e M x\\n' > /usr/bin/git; "
         "touch /new.txt", destroys=True, v1=True),
    Case("git-hangs", "printf '#!/bin/bash\\nexec sleep 1000\\n' > /usr/bin/git; touch /new.txt",
         destroys=True, v1=True),
    Case("md5sum-hangs", "printf '#!/bin/bash\\nexec sleep 1000\\n' > /usr/bin/md5sum; "
         "echo x > /answer.txt", destroys=True, v1=True),
    Case("md5sum-floods", "printf '#!/bin/bash\\nyes\\n' > /usr/bin/md5sum; echo x > /answer.txt",
         destroys=True, v1=True),
    Case("submodule-maze", "for i in {1..30}; do git init -q /sub$i; touch /sub$i/f; done",
         v1=True),
    Case("many-new-files", "mkdir /many; cd /many; for i in {1..2000}; do echo $i > f$i.txt; done",
         v1=True),
)  # fmt: skip

CASES = (
    *FORKS, *SIGNALS, *DESTRUCTION, *OUTPUT, *TEXT, *SHELL, *DAEMONS, *FILES, *MEMORY, *KERNEL,
    *GUEST, *SECRETS, *NETWORK, *SCORING,
)  # fmt: skip
