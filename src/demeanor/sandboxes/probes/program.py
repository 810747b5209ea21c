"""The program that tries hostile actions; runs by itself in a sandbox, standard library only.

It prints a JSON object: each action with `reached` or the error that prevented it. With the argument `stay` it leaves
daemons behind instead, under names by which they can be found.
"""

# It is not part of Demeanor when it runs, and does what well-behaved programs don't.
# ruff: noqa: PTH101, PTH123, PTH208, SIM115, T201

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEWUSER, _NEWNS = 0x10000000, 0x20000
_IO_URING_SETUP = 425
_MULTIPATH = 262
_PR_SET_NAME = 15
_DAEMON_SECONDS = 60.0


def main(targets: dict[str, str]) -> dict[str, str]:
    """Try every action; returns the outcomes."""
    tries: dict[str, Callable[[], object]] = {
        "write in its workspace": lambda: _write("written"),
        "reach its gateway": lambda: _connect("127.0.0.1", int(targets["gateway"])),
        "read another user's file": lambda: _read(targets["file"], targets["secret"]),
        "list the folder of another run": lambda: os.listdir(targets["folder"]),
        "write outside": lambda: _write(targets["folder"] + "/written"),
        "write in /usr or /etc": lambda: _write_somewhere(
            "/etc/demeanor-probe", "/usr/demeanor-probe", "/demeanor-probe"
        ),
        "change permissions outside": lambda: os.chmod(targets["file"], 0o644),
        "reach another port": lambda: _connect("127.0.0.1", int(targets["tcp"])),
        "reach another port by multipath TCP": lambda: _multipath("127.0.0.1", int(targets["tcp"])),
        "reach another port by fast open": lambda: _fast_open("127.0.0.1", int(targets["tcp"])),
        "reach another address": lambda: _connect(targets["address"], int(targets["everywhere"])),
        "reach another address at the gateway's port": lambda: _connect(
            targets["address"], int(targets["other_address"])
        ),
        "send a datagram": lambda: _datagram(targets["address"], 53),
        "reach a socket by its path": lambda: _unix(targets["socket"]),
        "reach an abstract socket": lambda: _unix("\0" + targets["secret"]),
        "send to a socket by way of a pair": lambda: _send_from_pair(targets["datagrams"]),
        "share memory with the host": lambda: _call(_LIBC.shmget(int(targets["shared"]), 1, 0)),
        "make a vsock": lambda: socket.socket(40, socket.SOCK_STREAM).close(),
        "see a process of the host": lambda: _see(targets["victim"]),
        "signal a process of the host": lambda: os.kill(int(targets["victim"]), 0),
        "set limits of a process of the host": lambda: resource.prlimit(
            int(targets["victim"]), resource.RLIMIT_CORE, (0, 0)
        ),
        "read the environment of a process of the host": lambda: _read(
            f"/proc/{targets['victim']}/environ", targets["secret"]
        ),
        "read the supervisor's environment": lambda: _read(f"/proc/{targets['supervisor']}/environ", "="),
        "make a user namespace": lambda: _in_child(lambda: _call(_LIBC.unshare(_NEWUSER))),
        "make a user namespace with clone": _call_clone,
        "mount": lambda: _in_child(_mount),
        "set up io_uring": lambda: _call(_LIBC.syscall(_IO_URING_SETUP, 8, ctypes.create_string_buffer(256))),
        "write to /proc/sys": lambda: open("/proc/sys/kernel/core_pattern", "ab").close(),
        "read /etc/shadow": lambda: open("/etc/shadow", "rb").read(1),
    }
    return {name: _outcome(action) for name, action in tries.items()}


def _outcome(action: Callable[[], object]) -> str:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return f"{type(error).__name__}: {error}"
    return "reached"


def _read(path: str, text: str) -> None:
    with open(path, "rb") as file:
        if text.encode() not in file.read():
            raise ValueError("not the expected content")


def _write(path: str) -> None:
    with open(path, "w") as file:
        file.write("x")
    os.unlink(path)  # noqa: PTH108


def _write_somewhere(*paths: str) -> None:
    problems = []
    for path in paths:
        try:
            _write(path)
        except OSError as error:
            problems.append(str(error))
        else:
            return
    raise OSError("; ".join(problems))


def _connect(address: str, port: int) -> None:
    socket.create_connection((address, port), timeout=2).close()


def _multipath(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, _MULTIPATH) as sock:
        sock.settimeout(2)
        sock.connect((address, port))


def _fast_open(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 2, 0))
        sock.sendto(b"x", socket.MSG_FASTOPEN, (address, port))


def _send_from_pair(path: str) -> None:
    sender, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with sender, other:
        sender.sendto(b"x", path)


def _datagram(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", (address if address != "127.0.0.1" else "192.0.2.1", port))


def _unix(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(2)
        sock.connect(address)


def _see(pid: str) -> None:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        if b"cat" not in file.read():
            raise ValueError("not the expected content")


def _call(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _in_child(action: Callable[[], object]) -> None:
    """Try an action in a child process, because it would change this one."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            action()
            code = 0
        except OSError as error:
            code = error.errno or 1
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        raise OSError(code, os.strerror(code))


def _call_clone() -> None:
    """clone(2) itself, since C libraries prefer clone3."""
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    pid = _LIBC.syscall(number, ctypes.c_ulong(_NEWUSER | signal.SIGCHLD), None, None, None, None)
    if pid == 0:
        os._exit(0)
    _call(pid)
    os.waitpid(pid, 0)


def _mount() -> None:
    if _LIBC.unshare(_NEWNS) != 0 and _LIBC.unshare(_NEWUSER | _NEWNS) != 0:
        _call(-1)
    _call(_LIBC.mount(b"x", b"/proc", b"tmpfs", ctypes.c_ulong(0), None))


def stay(names: list[str], lifeline: str) -> None:
    """Leave two daemons behind: one in its own session, and one that forks repeatedly. They end when the other end of
    `lifeline` is closed, the number of an inherited pipe, or after a minute; `never` for no pipe.
    """
    until = time.monotonic() + _DAEMON_SECONDS
    for name, action in zip(names, (_wait, _fork_repeatedly), strict=True):
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                _LIBC.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
                os.write(writing, b"x")
                action(until, lifeline)
            os._exit(0)
        os.read(reading, 1)
        os.wait()
    print("up")


def _goes_on(until: float, lifeline: str) -> bool:
    closed = lifeline != "never" and bool(select.select([int(lifeline)], [], [], 0)[0])
    return time.monotonic() < until and not closed


def _wait(until: float, lifeline: str) -> None:
    while _goes_on(until, lifeline):
        time.sleep(0.01)
    os._exit(0)


def _fork_repeatedly(until: float, lifeline: str) -> None:
    """Most generations are short, to be hard to catch; some are long enough to be seen in a list of processes."""
    generations = 0
    while _goes_on(until, lifeline):
        generations += 1
        time.sleep(0.0005 if generations % 10 else 0.03)
        if os.fork() != 0:
            os._exit(0)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "stay":
        stay(sys.argv[3:], sys.argv[2])
    else:
        print(json.dumps(main(json.loads(sys.argv[1]))))
