"""The supervisor of a persistent sandbox: several programs run in it at once, for as long as a task lasts.

    Demeanor ──(control socket)──► fork server ──fork──► supervisor ──clone──► outer init ──spawn──► bwrap ──► init
                                                             └──fork──► exec process, inside ──► program ──► children …

The first message is the sandbox's spec; it is answered when the init runs. Each further message is a request: to run a
program, to pack or unpack files (exec.py), or to export what was changed (layer_export.py). The forked process reports
the result to Demeanor over its own socket. Then Demeanor asks the supervisor to check the limits (`check`): a program
that the OOM killer killed may end before the supervisor polls again, and its exit code alone would be taken for its
own.

Processes that a program leaves running live on, as in a container. The supervisor kills the init, and the kernel with
it all processes, when Demeanor asks for it, when Demeanor has gone, or when the memory limit is exceeded. When the
supervisor itself is killed, the outer init dies (pid_namespace.py), and with it everything inside.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from typing import Any

from demeanor.sandboxes.supervisor import linux
from demeanor.sandboxes.supervisor.bwrap_supervisor import memfd
from demeanor.sandboxes.supervisor.cgroup import Cgroup
from demeanor.sandboxes.supervisor.exec import NAMESPACES, handle_request
from demeanor.sandboxes.supervisor.layer_export import serve_layer
from demeanor.sandboxes.supervisor.memory_watch import MemoryWatch, OomKills
from demeanor.sandboxes.supervisor.messages import reason, receive, reply
from demeanor.sandboxes.supervisor.namespaces import enter_namespaces, staged_path
from demeanor.sandboxes.supervisor.pid_namespace import NamespaceInit
from demeanor.sandboxes.supervisor.privileges import set_rlimits
from demeanor.sandboxes.supervisor.process_tree import become_subreaper, children, descendants, sigchld_fd
from demeanor.sandboxes.supervisor.rootfs import OWN_FILES, ROOT, ROOT_CHANGES, SHARED, mount_rootfs
from demeanor.sandboxes.supervisor.supervisor import IGNORED_SIGNALS

_START_TIMEOUT_MS = 20_000
_FILTER_FD = 11
_INIT = "/bin/cat"
"""The init. It echoes what we write, which shows that it runs, and waits for us to close its input."""


def serve_persistent(control: socket.socket, cgroup: Cgroup | None) -> None:
    """Set up a sandbox and handle requests until Demeanor hangs up."""
    import tarfile  # noqa: F401 - exec processes can't import modules any more

    become_subreaper()
    sigchld = sigchld_fd()
    spec, _ = receive(control, 0)
    if spec is None:
        return
    _hide_command_line()
    supervisor: PersistentSupervisor | None = None
    try:
        listener = enter_namespaces(spec)
        if spec["network"] != "host":
            _allow_low_ports()
        supervisor = PersistentSupervisor(spec, cgroup)
        reply(control, b"ready %s\n" % supervisor.users.encode(), [] if listener is None else [listener.fileno()])
        if listener is not None:
            listener.close()
        supervisor.serve(control, sigchld)
    except OSError as error:
        reply(control, b"fail %s\n" % reason(error))
    finally:
        if supervisor is not None:
            supervisor.kill()


def _hide_command_line() -> None:
    """Overwrite our command line and environment: exec processes inherit them, are visible in the sandbox, and would
    reveal paths of the host.
    """
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            first, last, env_first, env_last = map(int, file.read().rpartition(b")")[2].split()[45:49])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
            for start, end in ((first, last), (env_first, env_last)):
                memory.seek(start)
                memory.write(b"demeanor-exec".ljust(end - start, b"\0"))


def _allow_low_ports() -> None:
    """Allow binding to ports below 1024 in the private network namespace."""
    with contextlib.suppress(OSError), open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as file:  # noqa: PTH123
        file.write("0")


class PersistentSupervisor:
    """A sandbox whose root is mounted, and its init."""

    def __init__(self, spec: dict[str, Any], cgroup: Cgroup | None) -> None:
        self._oom_kills = OomKills(cgroup)
        self.users = mount_rootfs(spec)
        """Which users exist in the sandbox: `many`, or `one`."""
        self._filter: bytes = spec["filter"] if self.users == "many" else spec["single_user_filter"]
        self._watch = MemoryWatch(spec["memory"])
        set_rlimits(spec["rlimits"])
        self._outer: NamespaceInit | None = None
        self._input, self._init = -1, -1
        try:
            self._start(spec)
        except OSError:
            self.kill()
            raise

    def _start(self, spec: dict[str, Any]) -> None:
        """Start the init, and wait until it answers."""
        output, output_write = os.pipe()
        input_read, self._input = os.pipe()
        rules = memfd(self._filter)
        try:
            actions: list[tuple[Any, ...]] = [
                (os.POSIX_SPAWN_DUP2, input_read, 0),
                (os.POSIX_SPAWN_DUP2, output_write, 1),
                (os.POSIX_SPAWN_DUP2, output_write, 2),
                (os.POSIX_SPAWN_DUP2, rules, _FILTER_FD),
            ]
            argv = [spec["bwrap"], *bwrap_arguments(spec), "--", _INIT]
            self._outer = NamespaceInit(lambda: _spawn_bwrap(argv, actions))
        finally:
            for end in (output_write, input_read, rules):
                os.close(end)
        os.write(self._input, b"ready\n")
        output_text = _read_until_ready(output)
        outer_children = children(self._outer.program)
        if output_text != b"ready\n" or not outer_children:
            why = output_text.strip().rpartition(b"\n")[2].decode("utf-8", "replace") or "the init did not answer"
            raise OSError(5, f"bubblewrap: {why.removeprefix('bwrap: ')}")
        self._init = os.pidfd_open(outer_children[0])
        self._namespaces = {name: os.open(f"/proc/{outer_children[0]}/ns/{name}", os.O_RDONLY) for name in NAMESPACES}
        pids = os.open(f"/proc/{outer_children[0]}/ns/pid", os.O_RDONLY)
        linux.setns(pids, "pid")  # processes that we fork from now on are in the pid namespace
        os.close(pids)

    def serve(self, control: socket.socket, sigchld: int) -> None:
        """Handle requests until Demeanor hangs up, a limit is exceeded, or the init ends."""
        poller = select.poll()
        for fd in (control.fileno(), sigchld, self._init):
            poller.register(fd, select.POLLIN)
        while True:
            ready = [fd for fd, _ in poller.poll(self._watch.pause * 1000)]
            if sigchld in ready:
                os.read(sigchld, 4096)
                self._reap()
            if self._failed(control) or (control.fileno() in ready and not self._handle(control)):
                return

    def _failed(self, control: socket.socket, peak: int = 0) -> bool:
        """Whether the memory limit was exceeded or the init has ended; reports it to Demeanor. Memory is checked first,
        since the OOM killer may also choose the init. `peak` is the peak of one program, in bytes.
        """
        ours = (self._outer.pid, self._outer.program) if self._outer else ()
        inside = [pid for pid in descendants([os.getpid()]) if pid not in ours]
        if self._watch.exceeded(inside) or self._watch.record(peak) or self._oom_kills.any():
            reply(control, b"memory %d\n" % self._watch.peak)
            return True
        poller = select.poll()
        poller.register(self._init, select.POLLIN)
        if poller.poll(0):
            reply(control, b"exited\n")
            return True
        return False

    def _handle(self, control: socket.socket) -> bool:
        """Handle the next request; False when the sandbox must be killed."""
        request, fds = receive(control, 1)
        if request is None:
            return False
        try:
            if request["action"] == "check":
                if self._failed(control, request["peak"]):
                    return False
                os.write(fds[0], b"ok\n")
            elif fds:
                pid = os.fork()
                if pid == 0 and request["action"] == "export layer":
                    serve_layer(fds[0], ROOT_CHANGES, OWN_FILES)
                elif pid == 0:
                    handle_request(request, fds[0], self._namespaces, self._filter)
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def kill(self) -> None:
        """Kill the init, and with it all processes. The init is gone only after all of them are."""
        if self._init >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            poller = select.poll()
            poller.register(self._init, select.POLLIN)
            while not poller.poll(1):  # the init waits until exec processes are reaped, too
                self._reap()
        for pid in children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()

    def _reap(self) -> None:
        """Reap exec processes that have ended. The outer init is left: it ends after the init, which is polled."""
        for pid in children(os.getpid()):
            if self._outer is None or pid != self._outer.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _spawn_bwrap(argv: list[str], actions: list[tuple[Any, ...]]) -> int:
    """Start bubblewrap; in the outer init."""
    defaults = [*IGNORED_SIGNALS, signal.SIGPIPE, signal.SIGXFSZ]
    usual = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # an init that ignores it need not reap zombies
    try:
        with linux.raised_oom_score(linux.open_oom_score()):
            return os.posix_spawn(
                argv[0], argv, {}, file_actions=actions, setsid=True, setsigmask=[], setsigdef=defaults
            )
    finally:
        signal.signal(signal.SIGCHLD, usual)


def bwrap_arguments(spec: dict[str, Any]) -> list[str]:
    """The arguments of bubblewrap. It creates no user namespace: the sandbox has its own, with more than one user."""
    args = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1"]
    args += ["--hostname", "sandbox", "--bind", ROOT, "/", "--proc", "/proc", "--dev", "/dev"]
    args += ["--bind", SHARED, "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108 - the sandbox's own
    for number, path in enumerate(spec["reads"], 1):
        args += ["--ro-bind", staged_path(number), path]
    return [*args, "--chdir", "/", "--clearenv", "--cap-drop", "ALL", "--seccomp", str(_FILTER_FD)]


def _read_until_ready(pipe: int) -> bytes:
    """The output of bubblewrap and the init, up to the line `ready` or the end."""
    output = b""
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    try:
        while not output.endswith(b"ready\n") and poller.poll(_START_TIMEOUT_MS):
            piece = os.read(pipe, 4096)
            if not piece:
                break
            output += piece
    finally:
        os.close(pipe)
    return output
