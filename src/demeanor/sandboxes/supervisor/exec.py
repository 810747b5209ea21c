"""Runs one errand in a lodge: a fork of its keeper that goes in there, where programs can see it.

So it may do no more than they: it has the capabilities of the lodge's root, lives by the same filter of system calls,
has nothing of the host's open, and can import no file that lies in there. Whoever takes it over has won nothing.

It speaks with Demeanor over a socket of its own. First it hands over its ends of pipes, made in there so that programs
may open `/dev/stdout`; in the end it says how it went. A program's orphans fall to it: when Demeanor lets go of the
socket before the end, the program and everything it started are ended. After the end, what is left lives on.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from demeanor.sandboxes.supervisor import linux as kernel
from demeanor.sandboxes.supervisor.archive import pack, pack_file, unpack
from demeanor.sandboxes.supervisor.privileges import KEPT, filter_calls, keep_only, no_new_privileges
from demeanor.sandboxes.supervisor.process_tree import ProcessTree, adopt_orphans, hear_children
from demeanor.sandboxes.supervisor.supervisor import DEAF_TO, find_program

NAMESPACES = ("ipc", "uts", "mnt")
"""What a porter enters; it is born into the others."""

_AWAY = 64
_NOT_FOUND, _NOT_RUN = 127, 126


def carry(request: dict[str, Any], talk: int, namespaces: Mapping[str, int], rules: bytes) -> NoReturn:
    """In a fork of the keeper: go in, and run the errand."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (*DEAF_TO, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        talk = fcntl.fcntl(talk, fcntl.F_DUPFD_CLOEXEC, _AWAY)
        for name, namespace in namespaces.items():
            kernel.enter(namespace, name)
        _let_go(talk)
        os.setsid()
        no_new_privileges()
        filter_calls(rules)
        keep_only(KEPT)
        adopt_orphans()
        sys.meta_path.clear()
        with socket.socket(fileno=talk) as line:
            _answer(line, request)
        code = 0
    except OSError as error:
        os.write(talk, b"fail %s\n" % os.fsencode(error.strerror or str(error)))
    finally:
        os._exit(code)


def _let_go(talk: int) -> None:
    """Keep nothing open but the line to Demeanor."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, talk)
    os.closerange(talk + 1, 4096)


def _answer(line: socket.socket, request: dict[str, Any]) -> None:
    try:
        words = _ERRANDS[request["do"]](line, request)
    except Exception as error:  # noqa: BLE001 - whatever it is, Demeanor is told
        why = os.fsencode(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        where = os.fsencode(str(getattr(error, "filename", None) or ""))
        words = b"fail %s%s\n" % (where + b": " if where else b"", why.replace(b"\n", b" "))
    with contextlib.suppress(OSError):
        line.sendall(words)


def _pack(line: socket.socket, request: dict[str, Any]) -> bytes:
    reading, writing = os.pipe()
    socket.send_fds(line, [b"open\n"], [reading])
    os.close(reading)
    with os.fdopen(writing, "wb") as stream:
        if request["do"] == "pack file":
            pack_file(request["path"], "file", stream, most=request["most"])
            return b"end 0\n"
        left_out = pack(request["path"], stream, most=request["most"], files=request["files"])
    return b"end 0%s\n" % b"".join(b"\0" + os.fsencode(line) for line in left_out)


def _unpack(line: socket.socket, request: dict[str, Any]) -> bytes:
    person = UserSpec(request["owner"])
    reading, writing = os.pipe()
    socket.send_fds(line, [b"open\n"], [writing])
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        unpack(stream, request["path"], owner=(person.uid, person.gid), mode=request["mode"])
    return b"end 0\n"


def _run(line: socket.socket, request: dict[str, Any]) -> bytes:
    """Run a program, and wait for it."""
    person = UserSpec(request["user"])
    out, to_out = os.pipe()
    err, to_err = os.pipe()
    for pipe in (to_out, to_err):
        with contextlib.suppress(OSError):
            os.fchown(pipe, person.uid, person.gid)
    socket.send_fds(line, [b"open\n"], [out, err])
    bell = hear_children()
    program = os.fork()
    if program == 0:
        _become(request, person, to_out, to_err)
    for end in (out, err, to_out, to_err):
        os.close(end)
    tree = ProcessTree(program)
    ears = select.poll()
    ears.register(line, select.POLLIN)
    ears.register(bell, select.POLLIN)
    while tree.reap() and tree.status is None:
        ready = [fd for fd, _ in ears.poll()]
        if bell in ready:
            os.read(bell, 4096)
        if line.fileno() in ready:
            tree.end()
            break
    return b"end %d %d\n" % (tree.status or 0, tree.peak * 1024)


def _become(request: dict[str, Any], person: UserSpec, out: int, err: int) -> NoReturn:
    """In a fork: become the program. What does not work is told as a shell would."""
    code = _NOT_RUN
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.dup2(out, 1)
        os.dup2(err, 2)
        with contextlib.suppress(OSError):
            kernel.go_first()
        person.be()
        os.chdir(request["cwd"])
        env = {"HOME": person.home, **request["env"]}
        path = os.fsencode(env.get("PATH", os.defpath))
        code = _NOT_FOUND
        program, argv = _choose(request["argvs"], path)
        code = _NOT_RUN
        os.execve(program, argv, env)  # noqa: S606 - argv is always a list
    except (OSError, ValueError) as error:
        os.write(2, b"demeanor: %s\n" % os.fsencode(str(error)))
    finally:
        os._exit(code)


def _choose(argvs: list[list[str]], path: bytes) -> tuple[bytes, list[bytes]]:
    """The first of several programs that is there."""
    for words in argvs:
        argv = [os.fsencode(word) for word in words]
        with contextlib.suppress(FileNotFoundError):
            return find_program(argv[0], path), argv
    raise FileNotFoundError(2, "not found", argvs[-1][0])


class UserSpec:
    """Whom a program is run as: a name, a number, or `name:group` as in Dockerfiles."""

    def __init__(self, name: str) -> None:
        who, _, group = name.partition(":")
        who = "0" if who == "root" else who  # whatever is written in there
        found = next((row for row in _rows("/etc/passwd", 7) if who in (row[0], row[2])), None)
        if found is None and not who.isdigit():
            raise ValueError(f"there is no user {who!r} in the sandbox")
        self.uid = int(found[2] if found else who)
        self.gid = int(found[3]) if found else 0
        self.home = (found[5] if found else "") or "/"
        self.groups = [int(row[2]) for row in _rows("/etc/group", 4) if found and found[0] in row[3].split(",")]
        if group:
            row = next((row for row in _rows("/etc/group", 4) if group in (row[0], row[2])), None)
            if row is None and not group.isdigit():
                raise ValueError(f"there is no group {group!r} in the sandbox")
            self.gid = int(row[2] if row else group)
            self.groups = []

    def be(self) -> None:
        """Become that user."""
        if (self.uid, self.gid) != (os.getuid(), os.getgid()) or self.groups:
            try:
                with contextlib.suppress(PermissionError):  # where there is one user, there are no groups to be chosen
                    os.setgroups(self.groups)
                os.setresgid(self.gid, self.gid, self.gid)
                os.setresuid(self.uid, self.uid, self.uid)
            except OSError as error:
                why = "in this sandbox there is no user but root, since Demeanor does not run as root"
                raise OSError(error.errno, f"user {self.uid}:{self.gid}: {why}") from None


_ERRANDS = {"run": _run, "pack": _pack, "pack file": _pack, "unpack": _unpack}


def _rows(path: str, columns: int) -> list[list[str]]:
    """What a file like /etc/passwd says. Nothing of the C library reads it: that would load code from in there."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        rows = [line.decode("utf-8", "replace").split(":") for line in file.read(2**20).splitlines()]
        return [row for row in rows if len(row) >= columns and row[2].isdigit()]
    return []
