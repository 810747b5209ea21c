"""The process in which checks run: it answers questions about evidence until its connection is closed.

An author's check may never end, crash the interpreter or change what it is given. In a process of its own it can be
killed, and what it changes is a copy.
"""

from __future__ import annotations

import io
import pickle
import signal
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from demeanor.core.errors import WorldError
from demeanor.core.eval import Eval
from demeanor.core.evidence import Evidence
from demeanor.core.ports import CommandResult, RunCommand
from demeanor.core.tree import Tree
from demeanor.judge.answers import CheckAnswer, Rehearsals, answer_check
from demeanor.judge.rig import Rig
from demeanor.judge.simulation import rehearse
from demeanor.judge.user_check import crash

if TYPE_CHECKING:
    from typing_extensions import Buffer

_LENGTH = struct.Struct(">Q")

Message: TypeAlias = tuple[Any, ...]
"""Its first item says what it is; the others depend on it."""


class Channel:
    """Messages between Demeanor and a worker, as pickles with their length in front."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        """Send one message."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        with self._lock:
            self.socket.sendall(_LENGTH.pack(len(data)))
            self.socket.sendall(data)

    def receive(self) -> Message:
        """The next message; raises EOFError if the other side is gone."""
        message: Message = pickle.loads(self._bytes(_LENGTH.unpack(self._bytes(_LENGTH.size))[0]))  # noqa: S301
        return message

    def _bytes(self, size: int) -> bytearray:
        data = bytearray(size)
        view, got = memoryview(data), 0
        while got < size:
            count = self.socket.recv_into(view[got:])
            if not count:
                raise EOFError
            got += count
        return data


def work(connection: socket.socket, evals: Mapping[str, Eval], rehearsals: Rehearsals) -> None:
    """Answer questions until the connection is closed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    channel = Channel(connection)
    sys.stdout, sys.stderr = _relay(channel, "stdout"), _relay(channel, "stderr")
    sys.breakpointhook = _no_breakpoint
    while True:
        try:
            what, name, numbers, payload = channel.receive()
        except EOFError:
            return
        if what == "judge":
            _judge(channel, evals[name], numbers, payload)
        else:
            _rehearse(channel, evals[name], numbers[0], payload, rehearsals)
        channel.send("done")


def _judge(channel: Channel, eval: Eval, numbers: tuple[int, ...], evidence: Evidence) -> None:  # noqa: A002
    rig = Rig(evidence, _remote_command(channel, evidence))
    _ask(channel, eval, numbers, rig)


def _ask(channel: Channel, eval: Eval, numbers: tuple[int, ...], rig: Rig) -> None:  # noqa: A002
    for number in numbers:
        channel.send("began", number)
        answer = answer_check(eval.checks[number], rig)
        sys.stdout.flush()
        sys.stderr.flush()
        channel.send("answer", answer)


def _rehearse(channel: Channel, eval: Eval, number: int, folder: str, rehearsals: Rehearsals) -> None:  # noqa: A002
    """Ask one check about every rehearsal of its eval; temporary files are written to `folder`."""
    tempfile.tempdir = folder
    for behaviour in (*eval.passes_on, *eval.fails_on):
        channel.send("setup")
        try:
            evidence = rehearse(eval, behaviour, lay_out=rehearsals.lay_out, read_back=rehearsals.read_back)
        except Exception as error:  # noqa: BLE001 - an author's behaviour may raise anything
            channel.send("answer", CheckAnswer(check="rehearsal", crash=crash(error)))
            continue
        _ask(channel, eval, (number,), Rig(evidence, _remote_command(channel, None)))
    tempfile.tempdir = None


def _remote_command(channel: Channel, shared: Evidence | None) -> RunCommand:
    """Commands of checks run in the sandbox, which only Demeanor's own process can start. It has the trees of `shared`
    already, so those are only named."""

    def run(tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        own: Literal["before", "after"] | Tree = tree
        if shared is not None and (tree is shared.after or tree is shared.before):
            own = "after" if tree is shared.after else "before"
        channel.send("command", own, argv, timeout)
        result = channel.receive()
        if result[0] == "result":
            found: CommandResult = result[1]
            return found
        raise WorldError(result[1], result[2])

    return run


class _Relay(io.RawIOBase):
    """What checks print, sent to Demeanor, which prints it where its own output goes."""

    def __init__(self, channel: Channel, stream: str) -> None:
        self._channel = channel
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        raw = bytes(data)
        self._channel.send("print", self._stream, raw.decode("utf-8", "replace"))
        return len(raw)


def _relay(channel: Channel, stream: str) -> io.TextIOWrapper:
    raw = io.BufferedWriter(_Relay(channel, stream))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)


def _no_breakpoint(*_: object, **__: object) -> None:
    raise RuntimeError(
        "breakpoint() does not work here: checks run in a process without a terminal; use `pytest --pdb -s`"
    )
