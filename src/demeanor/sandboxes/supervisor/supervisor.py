"""Runs programs and ends every process they leave behind; one at a time, in a process of its own.

    Demeanor ──(a control socket each)──► nursery ──fork──► supervisor ──spawn──► the agent ──► its children …

The control socket carries launches and orders one way and reports the other. It is a lifeline too: when Demeanor dies,
even by `kill -9`, it closes, and the supervisor kills all. Everything here is the standard library, and little of it.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH116, PTH118

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import stat
import struct
from typing import Protocol

from demeanor.sandboxes.supervisor.process_tree import ProcessTree, adopt_orphans, hear_children

LENGTH = struct.Struct("!I")
"""A launch begins with its length."""

SUPERVISOR, WARDEN, FENCE, KEEPER = b"s", b"w", b"f", b"k"
"""What the nursery is asked for: one that runs programs, one that runs them in a room with walls (warden.py), one that
runs them behind a fence (fence.py), or one that keeps a lodge in which several run at once (keeper.py).
"""

TERM, KILL = b"T", b"K"
"""What Demeanor may say while a program runs: ask all its processes to end; end them."""

DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that are for the agent, not for its supervisor."""


def find_program(name: bytes, path: bytes) -> bytes:
    """Where `name` lies, looked for as a shell would; raises OSError where it can't be run."""
    if b"/" in name:
        return name
    error: type[OSError] = FileNotFoundError
    for folder in path.split(b":"):
        place = os.path.join(folder or b".", name)
        with contextlib.suppress(OSError):
            if stat.S_ISREG(os.stat(place).st_mode):
                if os.access(place, os.X_OK):
                    return place
                error = PermissionError
    raise error(2 if error is FileNotFoundError else 13, "can't be run", name)


def start(argv: list[bytes], env: dict[bytes, bytes], out: int, err: int) -> int:
    """Start a program in a session of its own, with nothing open but /dev/null and two pipes; its pid."""
    program = find_program(argv[0], env.get(b"PATH", b""))
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, err, 2),
    ]
    heard = [*DEAF_TO, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ]
    return os.posix_spawn(program, argv, env, file_actions=actions, setsid=True, setsigmask=[], setsigdef=heard)


def receive_fds(connection: socket.socket, size: int, most: int) -> tuple[bytes, list[int]]:
    """Bytes and file descriptors; an agent must not inherit these."""
    data, fds, _, _ = socket.recv_fds(connection, size, most)
    for fd in fds:
        os.set_inheritable(fd, False)
    return data, fds


def receive(control: socket.socket) -> tuple[list[bytes], list[int]]:
    """The words of a launch and the two pipes to print to; no words when Demeanor has let go."""
    head, fds = receive_fds(control, LENGTH.size, 2)
    if len(fds) < 2:
        return [], fds
    left = LENGTH.unpack(head)[0]
    body = bytearray()
    while left:
        more = control.recv(left)
        if not more:
            return [], fds
        body += more
        left -= len(more)
    return bytes(body).split(b"\0"), fds


def supervise(control: socket.socket) -> None:
    """Run one program after the other, and end each with everything below it, until Demeanor lets go."""
    adopt_orphans()
    bell = hear_children()
    while True:
        words, fds = receive(control)
        if not words:
            return
        report = run(words, fds, control, bell)
        try:
            control.sendall(report)
        except OSError:
            return  # Demeanor has gone


def run(words: list[bytes], fds: list[int], control: socket.socket, bell: int) -> bytes:
    """Run a program to its end; the report."""
    cwd, count, *rest = words
    argv, env = rest[: int(count)], dict(item.split(b"=", 1) for item in rest[int(count) :])
    step = b"enter"
    try:
        os.chdir(cwd)
        step = b"start"
        tree = ProcessTree(start(argv, env, *fds))
    except OSError as error:
        return b"fail %s %d\n" % (step, error.errno or 0)
    finally:
        os.chdir("/")
        for fd in fds:
            os.close(fd)
    watch(tree, control, bell)
    return tree.report()


class Watcher(Protocol):
    """Somebody who looks at a program now and then."""

    def look(self, tree: ProcessTree) -> float | None:
        """Seconds until the next look; None where the program is to be killed."""
        ...


def watch(tree: ProcessTree, control: socket.socket, bell: int, watcher: Watcher | None = None) -> None:
    """Wait until the program and everything below it has ended."""
    ears = select.poll()
    ears.register(control, select.POLLIN)
    ears.register(bell, select.POLLIN)
    asked_to_end = False
    while True:
        pause = watcher.look(tree) if watcher else 0.0
        if pause is None:
            break
        ready = [fd for fd, _ in ears.poll(pause * 1000 if watcher else None)]
        if bell in ready:
            os.read(bell, 4096)
        if not tree.reap():
            break
        if control.fileno() in ready:
            words = control.recv(64)
            if not words or KILL in words:
                break
            asked_to_end = True
            tree.signal(signal.SIGTERM)
        if tree.status is not None and not asked_to_end:
            break
    tree.end()
