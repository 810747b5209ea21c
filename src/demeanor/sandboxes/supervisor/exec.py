"""The exec process: a fork of the supervisor that enters a persistent sandbox and handles one request there.

Programs in the sandbox can see it, so it may do no more than they can: it has the capabilities of the sandbox's root
and the same seccomp filter, no file of the host is open in it, and it can't import files that lie in the sandbox. A
program that takes it over gains nothing.

It talks to Demeanor over its own socket. First it sends its ends of pipes, which are created inside so that programs
may open `/dev/stdout`; at the end it sends the result. It is the subreaper of its program: when Demeanor closes the
socket before the end, the program and all its descendants are killed. After the end, what is left lives on.
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

from demeanor.sandboxes.supervisor import linux
from demeanor.sandboxes.supervisor.archive import pack, pack_file, unpack
from demeanor.sandboxes.supervisor.messages import reason
from demeanor.sandboxes.supervisor.privileges import (
    KEPT_CAPABILITIES,
    drop_capabilities_except,
    install_seccomp,
    no_new_privileges,
)
from demeanor.sandboxes.supervisor.process_tree import ProcessTree, become_subreaper, sigchld_fd
from demeanor.sandboxes.supervisor.supervisor import DEFAULT_SIGNALS, find_program

NAMESPACES = ("ipc", "uts", "mnt")
"""The namespaces that it enters; it is forked into the others."""

_HIGH_FD = 64
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def handle_request(request: dict[str, Any], channel_fd: int, namespaces: Mapping[str, int], rules: bytes) -> NoReturn:
    """In a fork of the supervisor: enter the sandbox, and handle the request."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in DEFAULT_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        channel_fd = fcntl.fcntl(channel_fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD)
        for name, namespace in namespaces.items():
            linux.setns(namespace, name)
        _close_all_except(channel_fd)
        os.setsid()
        no_new_privileges()
        install_seccomp(rules)
        drop_capabilities_except(KEPT_CAPABILITIES)
        become_subreaper()
        sys.meta_path.clear()
        with socket.socket(fileno=channel_fd) as channel:
            _respond(channel, request)
        code = 0
    except OSError as error:
        os.write(channel_fd, b"fail %s\n" % reason(error))
    finally:
        os._exit(code)


def _close_all_except(channel_fd: int) -> None:
    """Close all file descriptors except the socket to Demeanor; 0, 1 and 2 become /dev/null."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.closerange(3, channel_fd)
    os.closerange(channel_fd + 1, 4096)


def _respond(channel: socket.socket, request: dict[str, Any]) -> None:
    try:
        result = _ACTIONS[request["action"]](channel, request)
    except Exception as error:  # noqa: BLE001 - every error is reported to Demeanor
        why = os.fsencode(getattr(error, "strerror", None) or str(error) or type(error).__name__)
        path = os.fsencode(str(getattr(error, "filename", None) or ""))
        result = b"fail %s%s\n" % (path + b": " if path else b"", why.replace(b"\n", b" "))
    with contextlib.suppress(OSError):
        channel.sendall(result)


def _pack(channel: socket.socket, request: dict[str, Any]) -> bytes:
    reading, writing = os.pipe()
    socket.send_fds(channel, [b"open\n"], [reading])
    os.close(reading)
    with os.fdopen(writing, "wb") as stream:
        if request["action"] == "pack file":
            pack_file(request["path"], "file", stream, max_bytes=request["max_bytes"])
            return b"end 0\n"
        skipped = pack(request["path"], stream, max_bytes=request["max_bytes"], max_files=request["max_files"])
    return b"end 0%s\n" % b"".join(b"\0" + os.fsencode(line) for line in skipped)


def _unpack(channel: socket.socket, request: dict[str, Any]) -> bytes:
    owner = UserSpec(request["owner"])
    reading, writing = os.pipe()
    socket.send_fds(channel, [b"open\n"], [writing])
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        unpack(stream, request["path"], owner=(owner.uid, owner.gid), mode=request["mode"])
    return b"end 0\n"


def _run(channel: socket.socket, request: dict[str, Any]) -> bytes:
    """Run a program, and wait for it."""
    user = UserSpec(request["user"])
    out, out_write = os.pipe()
    err, err_write = os.pipe()
    for pipe in (out_write, err_write):
        with contextlib.suppress(OSError):
            os.fchown(pipe, user.uid, user.gid)
    socket.send_fds(channel, [b"open\n"], [out, err])
    sigchld = sigchld_fd()
    program = os.fork()
    if program == 0:
        _exec_program(request, user, out_write, err_write)
    for end in (out, err, out_write, err_write):
        os.close(end)
    tree = ProcessTree(program)
    poller = select.poll()
    poller.register(channel, select.POLLIN)
    poller.register(sigchld, select.POLLIN)
    while tree.reap() and tree.status is None:
        ready = [fd for fd, _ in poller.poll()]
        if sigchld in ready:
            os.read(sigchld, 4096)
        if channel.fileno() in ready:
            tree.kill()
            break
    return b"end %d %d\n" % (tree.status or 0, tree.peak * 1024)


def _exec_program(request: dict[str, Any], user: UserSpec, out: int, err: int) -> NoReturn:
    """In the forked child: exec the program. A failure is reported as by a shell, with exit code 126 or 127."""
    code = _NOT_EXECUTABLE
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.dup2(out, 1)
        os.dup2(err, 2)
        with contextlib.suppress(OSError):
            linux.raise_oom_score()
        user.switch()
        os.chdir(request["cwd"])
        env = {"HOME": user.home, **request["env"]}
        path = os.fsencode(env.get("PATH", os.defpath))
        code = _NOT_FOUND
        program, argv = _first_found(request["argvs"], path)
        code = _NOT_EXECUTABLE
        os.execve(program, argv, env)  # noqa: S606 - argv is always a list
    except (OSError, ValueError) as error:
        os.write(2, b"demeanor: %s\n" % os.fsencode(str(error)))
    finally:
        os._exit(code)


def _first_found(argvs: list[list[str]], path: bytes) -> tuple[bytes, list[bytes]]:
    """The first of several programs that exists."""
    for words in argvs:
        argv = [os.fsencode(word) for word in words]
        with contextlib.suppress(FileNotFoundError):
            return find_program(argv[0], path), argv
    raise FileNotFoundError(2, "not found", argvs[-1][0])


class UserSpec:
    """The user that a program runs as: a name, a number, or `user:group` as in a Dockerfile."""

    def __init__(self, text: str) -> None:
        name, _, group = text.partition(":")
        name = "0" if name == "root" else name  # whatever the sandbox's /etc/passwd says
        user_row = next((row for row in _rows("/etc/passwd", 7) if name in (row[0], row[2])), None)
        if user_row is None and not name.isdigit():
            raise ValueError(f"there is no user {name!r} in the sandbox")
        self.uid = int(user_row[2] if user_row else name)
        self.gid = int(user_row[3]) if user_row else 0
        self.home = (user_row[5] if user_row else "") or "/"
        self.groups = [int(row[2]) for row in _rows("/etc/group", 4) if user_row and user_row[0] in row[3].split(",")]
        if group:
            row = next((row for row in _rows("/etc/group", 4) if group in (row[0], row[2])), None)
            if row is None and not group.isdigit():
                raise ValueError(f"there is no group {group!r} in the sandbox")
            self.gid = int(row[2] if row else group)
            self.groups = []

    def switch(self) -> None:
        """Become that user."""
        if (self.uid, self.gid) != (os.getuid(), os.getgid()) or self.groups:
            try:
                with contextlib.suppress(PermissionError):  # with a single user, groups can't be set
                    os.setgroups(self.groups)
                os.setresgid(self.gid, self.gid, self.gid)
                os.setresuid(self.uid, self.uid, self.uid)
            except OSError as error:
                why = "root is the only user in this sandbox, since Demeanor does not run as root"
                raise OSError(error.errno, f"user {self.uid}:{self.gid}: {why}") from None


_ACTIONS = {"run": _run, "pack": _pack, "pack file": _pack, "unpack": _unpack}


def _rows(path: str, columns: int) -> list[list[str]]:
    """The rows of a file like /etc/passwd. The C library's functions would load code that lies in the sandbox."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        rows = [line.decode("utf-8", "replace").split(":") for line in file.read(2**20).splitlines()]
        return [row for row in rows if len(row) >= columns and row[2].isdigit()]
    return []
