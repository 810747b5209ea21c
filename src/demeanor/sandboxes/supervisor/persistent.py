"""A supervisor that keeps a lodge: walls behind which several programs run at once, for as long as a task lasts.

    Demeanor ──(a control socket)──► nursery ──fork──► keeper ──spawn──► bwrap ──► init of a pid namespace
                                                          └──fork──► porter, in there ──► a program ──► its children …

The first order says what kind of lodge it is, and is answered when its init is there. Each further order is an errand:
a program to be run, or files to be packed or unpacked (porter.py). Its porter tells Demeanor how it went over a socket
of its own. Then Demeanor has the keeper check the limits (`check`): a program that the kernel killed for its memory may
end before the keeper polls again, and its exit code alone would be taken for its own doing.

What a program leaves running lives on, as in a container, until the keeper ends the init, and with it everybody: when
Demeanor says so, when it has gone, or when they take too much memory.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from typing import Any

from demeanor.sandboxes.supervisor import linux as kernel
from demeanor.sandboxes.supervisor.bwrap_supervisor import answer, in_memory, receive
from demeanor.sandboxes.supervisor.cgroup import Leaf
from demeanor.sandboxes.supervisor.exec import NAMESPACES, carry
from demeanor.sandboxes.supervisor.memory_watch import MemoryWatch, OomKills
from demeanor.sandboxes.supervisor.namespaces import enter_namespaces, read_at
from demeanor.sandboxes.supervisor.privileges import hold_to
from demeanor.sandboxes.supervisor.process_tree import adopt_orphans, children, descendants, hear_children
from demeanor.sandboxes.supervisor.rootfs import ROOT, SHARED, mount_rootfs
from demeanor.sandboxes.supervisor.supervisor import DEAF_TO

_PATIENCE = 20_000
_FILTER = 11
_INIT = "/bin/cat"
"""The first program. It says what we say, which shows that it is there, and waits for us to close its input."""


def keep(control: socket.socket, leaf: Leaf | None) -> None:
    """Make a lodge, and let porters run errands in it until Demeanor lets go."""
    import tarfile  # noqa: F401 - nothing can be imported any more where porters go

    adopt_orphans()
    bell = hear_children()
    order, _ = receive(control, 0)
    if order is None:
        return
    _forget_name()
    sandbox: PersistentSupervisor | None = None
    try:
        door = enter_namespaces(order)
        if order["network"] != "host":
            _free_low_ports()
        sandbox = PersistentSupervisor(order, leaf)
        answer(control, b"ready %s\n" % sandbox.users.encode(), [] if door is None else [door.fileno()])
        if door is not None:
            door.close()
        sandbox.serve(control, bell)
    except OSError as error:
        answer(control, b"fail %s\n" % os.fsencode(error.strerror or str(error)).replace(b"\n", b" "))
    finally:
        if sandbox is not None:
            sandbox.end()


def _forget_name() -> None:
    """Porters are seen in the lodge, and their command line would tell where things lie on the host."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            first, last, env_first, env_last = map(int, file.read().rpartition(b")")[2].split()[45:49])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
            for start, end in ((first, last), (env_first, env_last)):
                memory.seek(start)
                memory.write(b"porter".ljust(end - start, b"\0"))


def _free_low_ports() -> None:
    """In a network of one's own, everybody may be a web server."""
    with contextlib.suppress(OSError), open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as file:  # noqa: PTH123
        file.write("0")


class PersistentSupervisor:
    """A furnished lodge, and its init."""

    def __init__(self, order: dict[str, Any], leaf: Leaf | None) -> None:
        self._kills = OomKills(leaf)
        self.users = mount_rootfs(order)
        """Whom it knows."""
        self._filter: bytes = order["filter"]
        self._watch = MemoryWatch(order["memory"])
        hold_to(order["rlimits"])
        self._leader, self._input = -1, -1
        self._init = -1
        try:
            self._start(order)
        except OSError:
            self.end()
            raise

    def _start(self, order: dict[str, Any]) -> None:
        """Start the init, and wait until it says that it is there."""
        said, saying = os.pipe()
        waits, self._input = os.pipe()
        rules = in_memory(self._filter)
        try:
            actions: list[tuple[Any, ...]] = [
                (os.POSIX_SPAWN_DUP2, waits, 0),
                (os.POSIX_SPAWN_DUP2, saying, 1),
                (os.POSIX_SPAWN_DUP2, saying, 2),
                (os.POSIX_SPAWN_DUP2, rules, _FILTER),
            ]
            argv = [order["bwrap"], *arguments(order), "--", _INIT]
            heard = [*DEAF_TO, signal.SIGPIPE, signal.SIGXFSZ]
            usual = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # an init that ignores it need not bury the dead
            with kernel.first_to_go(turn := kernel.own_turn()):
                self._leader = os.posix_spawn(
                    order["bwrap"], argv, {}, file_actions=actions, setsid=True, setsigmask=[], setsigdef=heard
                )
            os.close(turn)
            signal.signal(signal.SIGCHLD, usual)
        finally:
            for end in (saying, waits, rules):
                os.close(end)
        os.write(self._input, b"ready\n")
        words = _first_words(said)
        found = children(self._leader)
        if words != b"ready\n" or not found:
            why = words.strip().rpartition(b"\n")[2].decode("utf-8", "replace") or "its init gave no word"
            raise OSError(5, f"bubblewrap: {why.removeprefix('bwrap: ')}")
        self._init = os.pidfd_open(found[0])
        self._namespaces = {name: os.open(f"/proc/{found[0]}/ns/{name}", os.O_RDONLY) for name in NAMESPACES}
        pids = os.open(f"/proc/{found[0]}/ns/pid", os.O_RDONLY)
        kernel.enter(pids, "pid")  # from now on, whom we fork is in there
        os.close(pids)

    def serve(self, control: socket.socket, bell: int) -> None:
        """Run errands until Demeanor lets go, or until the init is no more."""
        ears = select.poll()
        for ear in (control.fileno(), bell, self._init):
            ears.register(ear, select.POLLIN)
        while True:
            ready = [fd for fd, _ in ears.poll(self._watch.pause * 1000)]
            if bell in ready:
                os.read(bell, 4096)
                _bury(but=self._leader)
            if self._broken(control) or (control.fileno() in ready and not self._next(control)):
                return

    def _broken(self, control: socket.socket, peak: int = 0) -> bool:
        """Whether a limit was exceeded, or the init has ended; Demeanor is told. Memory comes first: where there is
        none left, the kernel may end the init too. `peak` is what one program is known to have held.
        """
        inside = [pid for pid in descendants([os.getpid()]) if pid != self._leader]
        if self._watch.exceeded(inside) or self._watch.peaked(peak) or self._kills.any():
            answer(control, b"memory %d\n" % self._watch.peak)
            return True
        gone = select.poll()
        gone.register(self._init, select.POLLIN)
        if gone.poll(0):
            answer(control, b"gone\n")
            return True
        return False

    def _next(self, control: socket.socket) -> bool:
        """Take an errand; False when the lodge is to be ended."""
        request, fds = receive(control, 1)
        if request is None:
            return False
        try:
            if request["do"] == "check":
                if self._broken(control, request["peak"]):
                    return False
                os.write(fds[0], b"kept\n")
            elif fds:
                pid = os.fork()
                if pid == 0:
                    carry(request, fds[0], self._namespaces, self._filter)
        finally:
            for fd in fds:
                os.close(fd)
        return True

    def end(self) -> None:
        """End the init, and with it everybody, for certain: it is not gone before they are."""
        if self._init >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            gone = select.poll()
            gone.register(self._init, select.POLLIN)
            while not gone.poll(1):  # it waits for porters to be buried, too
                _bury(but=self._leader)
        for pid in children(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()


def arguments(order: dict[str, Any]) -> list[str]:
    """What bubblewrap is told. It adds no user namespace: the lodge has its own, with more than one user."""
    words = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--as-pid-1"]
    words += ["--hostname", "sandbox", "--bind", ROOT, "/", "--proc", "/proc", "--dev", "/dev"]
    words += ["--bind", SHARED, "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108 - inside, it is its own
    for number, path in enumerate(order["reads"], 1):
        words += ["--ro-bind", read_at(number), path]
    return [*words, "--chdir", "/", "--clearenv", "--cap-drop", "ALL", "--seccomp", str(_FILTER)]


def _first_words(said: int) -> bytes:
    """What the init says, or why there is none."""
    words = b""
    ear = select.poll()
    ear.register(said, select.POLLIN)
    try:
        while not words.endswith(b"ready\n") and ear.poll(_PATIENCE):
            piece = os.read(said, 4096)
            if not piece:
                break
            words += piece
    finally:
        os.close(said)
    return words


def _bury(*, but: int) -> None:
    """Porters that are done need no more than this; the end of bubblewrap is seen by that of its init."""
    for pid in children(os.getpid()):
        if pid != but:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
