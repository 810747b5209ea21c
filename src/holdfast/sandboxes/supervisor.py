"""Starts programs and ends every process they leave behind. A program of its own, run by sandboxes/launcher.py.

    Holdfast ──(a control socket per program)──► nursery ──fork──► supervisor ──spawn──► the agent ──► its children …

A supervisor is a *subreaper*: a process whose parent dies becomes the supervisor's child, however often it forks and
whatever session it moves to. So nothing below it gets lost, and `wait` saying «no child» proves that nothing is left.
The control socket is a lifeline: when Holdfast dies, even by `kill -9`, it closes, and the supervisor kills all. The
nursery is a subreaper too: should an agent kill its supervisor, its processes fall to the nursery, which kills them.

Where there are no subreapers (macOS) a program's process group is killed instead, which a daemon can leave.

The standard library only, and little of it: this starts once per run, and every fork of it should be small.
"""

# Standing alone, it does without pathlib.
# ruff: noqa: PTH112, PTH116, PTH118, PTH123, PTH208

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import socket
import stat
import struct
import sys
import time

LENGTH = struct.Struct("!I")
"""A launch begins with its length."""

TERM, KILL = b"T", b"K"
"""What Holdfast may say while a program runs: ask all its processes to end; end them."""

_PR_SET_CHILD_SUBREAPER = 36
_DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_TREES = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True)


def pack(cwd: str, argv: tuple[str, ...], env: dict[str, str]) -> bytes:
    """A launch as bytes."""
    fields = [cwd, str(len(argv)), *argv, *(f"{name}={value}" for name, value in env.items())]
    body = "\0".join(fields).encode("utf-8", "surrogateescape")
    return LENGTH.pack(len(body)) + body


def unpack(body: bytes) -> tuple[bytes, list[bytes], dict[bytes, bytes]]:
    """The folder, arguments and environment of a launch."""
    cwd, count, *rest = body.split(b"\0")
    argv, env = rest[: int(count)], rest[int(count) :]
    return cwd, argv, dict(item.split(b"=", 1) for item in env)


def adopt_orphans() -> None:
    """From now on, processes below this one whose parent dies become its children."""
    if _TREES and _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def hear_children() -> int:
    """A file descriptor that becomes readable when a child ends or stops."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def children(pid: int) -> list[int]:
    """The processes whose parent is `pid`."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as file:
                found += [int(child) for child in file.read().split()]
    except FileNotFoundError:
        if pid == os.getpid():  # a kernel without that file
            return _children_by_search(pid)
    except OSError:
        pass
    return found


def _children_by_search(parent: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    after_name = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(after_name[1]) == parent:
                found.append(int(name))
    return found


def descendants(roots: list[int]) -> list[int]:
    """`roots` and every process below them."""
    found = list(roots)
    for pid in found:
        found += children(pid)
    return found


def send_signal(pids: list[int], number: int) -> None:
    """Signal every one that is still there."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


class Ward:
    """One program, everything below it, and what it used."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.status: int | None = None
        self.leftovers: set[int] = set()
        self.cpu = 0.0
        self.peak = 0

    def reap(self, how: int = os.WNOHANG) -> bool:
        """Bury what has ended; whether anything is left. With `how` 0, wait until at least one process has ended."""
        while True:
            try:
                pid, status, used = os.wait4(-1, how)
            except ChildProcessError:
                return False
            if pid == 0:
                return _TREES or self.status is None
            how = os.WNOHANG
            self.cpu += used.ru_utime + used.ru_stime
            self.peak = max(self.peak, used.ru_maxrss)
            if pid == self.leader:
                self.status = status

    def signal(self, number: int) -> list[int]:
        """Signal all of it; the processes that got it."""
        if _TREES:
            pids = descendants(children(os.getpid()))
            send_signal(pids, number)
            return pids
        try:
            os.killpg(self.leader, number)
        except OSError:
            return []
        return [self.leader] if self.status is None else []

    def end(self) -> None:
        """Kill until nothing is left. What is forked meanwhile falls to us too, and is seen in the next round."""
        alive = self.reap()
        outlived = self.status is not None
        while alive:
            killed = self.signal(signal.SIGKILL)
            if outlived:
                self.leftovers.update(killed)
            if not killed:  # the list of children may miss one while others come and go
                time.sleep(0.001)
            alive = self.reap(0 if killed else os.WNOHANG)
        if not _TREES:
            self.signal(signal.SIGKILL)

    def report(self) -> bytes:
        """How it ended, as a line."""
        scale = 1024 if _TREES else 1
        return b"end %d %d %.6f %d\n" % (self.status or 0, len(self.leftovers), self.cpu, self.peak * scale)


def find_program(name: bytes, path: bytes) -> bytes:
    """Where `name` lies, looked for as a shell would; raises OSError where it can't be run."""
    if b"/" in name:
        return name
    denied = None
    for folder in path.split(b":"):
        place = os.path.join(folder or b".", name)
        try:
            if not stat.S_ISREG(os.stat(place).st_mode):
                continue
        except OSError:
            continue
        if os.access(place, os.X_OK):
            return place
        denied = place
    if denied is not None:
        raise PermissionError(13, "Permission denied", denied)
    raise FileNotFoundError(2, "No such file or directory", name)


def start(body: bytes, out: int, err: int) -> int:
    """Start the program of a launch in a session of its own; its pid."""
    cwd, argv, env = unpack(body)
    os.chdir(cwd)
    program = find_program(argv[0], env.get(b"PATH", os.fsencode(os.defpath)))
    return os.posix_spawn(
        program,
        argv,
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, out, 1),
            (os.POSIX_SPAWN_DUP2, err, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[*_DEAF_TO, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ],
    )


def receive(control: socket.socket) -> tuple[bytes, list[int]]:
    """A launch and the two pipes to print to; empty when Holdfast has gone."""
    head, fds, _, _ = socket.recv_fds(control, LENGTH.size, 2, _CLOEXEC)
    if len(fds) < 2:
        return b"", fds
    length = LENGTH.unpack(head)[0]
    body = bytearray()
    while len(body) < length:
        more = control.recv(length - len(body))
        if not more:
            return b"", fds
        body += more
    return bytes(body), fds


def supervise(control: socket.socket) -> None:
    """Run one program and end it with everything below it, whatever happens."""
    adopt_orphans()
    bell = hear_children()
    body, fds = receive(control)
    if not body:
        return
    try:
        ward = Ward(start(body, *fds))
    except OSError as error:
        control.sendall(b"fail %d\n" % (error.errno or 0))
        return
    for fd in fds:
        os.close(fd)
    watch(ward, control, bell)
    with contextlib.suppress(OSError):  # Holdfast may have gone
        control.sendall(ward.report())


def watch(ward: Ward, control: socket.socket, bell: int) -> None:
    """Wait until the program and everything below it has ended."""
    ears = select.poll()
    ears.register(control, select.POLLIN)
    ears.register(bell, select.POLLIN)
    asked_to_end = False
    while True:
        ready = [fd for fd, _ in ears.poll()]
        if bell in ready:
            os.read(bell, 4096)
        if not ward.reap():
            break
        if control.fileno() in ready:
            words = control.recv(64)
            if not words or KILL in words:
                break
            asked_to_end = True
            ward.signal(signal.SIGTERM)
        if ward.status is not None and not asked_to_end:
            break
    ward.end()


def bury(wards: dict[int, socket.socket]) -> None:
    """Take note of supervisors that have ended. Where one did not end by itself, end what fell to us from it first."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            os.kill(pid, signal.SIGKILL)
        elif pid in wards:
            control = wards.pop(pid)
            if status != 0:
                end_strangers(wards)
            control.close()


def end_strangers(wards: dict[int, socket.socket]) -> None:
    """Kill every child that is no supervisor, and all below it."""
    while strangers := [pid for pid in children(os.getpid()) if pid not in wards]:
        send_signal(descendants(strangers), signal.SIGKILL)
        for pid in strangers:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def serve(door: socket.socket) -> None:
    """Fork a supervisor for every control socket that comes through the door, until the door is closed."""
    adopt_orphans()
    bell = hear_children()
    wards: dict[int, socket.socket] = {}
    ears = select.poll()
    ears.register(door, select.POLLIN)
    ears.register(bell, select.POLLIN)
    while True:
        ready = [fd for fd, _ in ears.poll()]
        if bell in ready:
            os.read(bell, 4096)
            bury(wards)
        if door.fileno() in ready:
            _, fds, _, _ = socket.recv_fds(door, 1, 1, _CLOEXEC)
            if not fds:
                break
            control = socket.socket(fileno=fds[0])
            pid = os.fork()
            if pid == 0:
                become_supervisor(control)
            wards[pid] = control
    while wards:
        select.select([bell], [], [], 1.0)
        bury(wards)


def become_supervisor(control: socket.socket) -> None:
    """What a fork of the nursery does."""
    code = 1
    try:
        if control.fileno() != 3:
            os.dup2(control.fileno(), 3, inheritable=False)
        os.closerange(4, os.sysconf("SC_OPEN_MAX") if not _TREES else 4096)
        supervise(socket.socket(fileno=3))
        code = 0
    finally:
        os._exit(code)


def sweep(folder: str) -> None:
    """Remove the benches that a Holdfast which was killed could not remove."""
    if os.path.isdir(folder):
        script = 'chmod -R u+rwx "$0" 2>/dev/null; exec rm -rf -- "$0"'
        os.execv("/bin/sh", ["sh", "-c", script, folder])  # noqa: S606


def main() -> None:
    """Serve on the socket that was handed over; then leave nothing behind."""
    for number in _DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])))
    sweep(sys.argv[2])


if __name__ == "__main__":
    main()
