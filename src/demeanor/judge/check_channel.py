"""The connection between Demeanor and a process in which checks run, and what checks ask for through it.

A check needs Demeanor's own process for two things: commands, which only it can start in the sandbox, and questions to
a judge, because it has the gateway and the keys.
"""

from __future__ import annotations

import pickle
import socket
import struct
import threading
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from demeanor.core.trees.tree import Tree
from demeanor.core.values.errors import WorldError
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.judge_question import AskJudge, JudgeAnswer, JudgeQuestion
from demeanor.core.values.ports import CommandResult, RunCommand
from demeanor.judge.unknowable import Unknowable

_LENGTH = struct.Struct(">Q")
_CHUNK = 256 * 1024

Message: TypeAlias = tuple[Any, ...]
"""Its first item says what it is; the others depend on it."""


class Channel:
    """Messages between Demeanor and a worker, as pickles with their length in front."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._lock = threading.Lock()
        self._held = b""
        self._received = bytearray()

    def send(self, *message: Any, hold: bool = False) -> None:
        """Send one message; with `hold`, together with the next one, so that the other side wakes up once."""
        data = packed(*message)
        with self._lock:
            if hold:
                self._held += data
            else:
                data, self._held = self._held + data, b""
                self.socket.sendall(data)

    def receive(self) -> Message:
        """The next message; raises EOFError if the other side is gone."""
        while (message := self.received()) is None:
            self.read()
        return message

    def read(self) -> None:
        """Read what has arrived; raises EOFError if the other side is gone."""
        data = self.socket.recv(_CHUNK)
        if not data:
            raise EOFError
        self._received += data

    def received(self) -> Message | None:
        """The next message that has been read whole; None if there is none."""
        if len(self._received) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(self._received)[0]
        if len(self._received) < end:
            return None
        with memoryview(self._received) as whole:
            message: Message = pickle.loads(whole[_LENGTH.size : end])  # noqa: S301
        del self._received[:end]
        return message


def packed(*message: Any) -> bytes:
    """A message as it is sent."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def remote_command(channel: Channel, shared: Evidence | None) -> RunCommand:
    """Commands of checks run in the sandbox, which only Demeanor's own process can start. It has the trees of `shared`
    already, so those are only named."""

    def run(tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        own: Literal["before", "after"] | Tree = tree
        if shared is not None and (tree is shared.after or tree is shared.before):
            own = "after" if tree is shared.after else "before"
        channel.send("command", own, argv, timeout)
        result = channel.receive()
        if result[0] == "result":
            command_result: CommandResult = result[1]
            return command_result
        raise WorldError(result[1], result[2])

    return run


def remote_judge(channel: Channel) -> AskJudge:
    """Judges are asked by Demeanor's own process, which has the gateway and the keys."""

    def ask(question: JudgeQuestion) -> JudgeAnswer:
        channel.send("question", question)
        result = channel.receive()
        if result[0] == "result":
            answer: JudgeAnswer = result[1]
            return answer
        if result[0] == "unknowable":
            raise Unknowable(result[1])
        raise WorldError(result[1], result[2])

    return ask


REQUESTS = frozenset({"command", "question"})
"""The messages of a worker that are answered."""


def answer_request(
    channel: Channel, message: Message, evidence: Evidence | None, run_command: RunCommand, ask_judge: AskJudge
) -> None:
    """Answer a request of a check."""
    what, *rest = message
    if what == "command":
        _answer_command(channel, rest, evidence, run_command)
    else:
        _answer_question(channel, rest[0], ask_judge)


def _answer_command(channel: Channel, request: list[Any], evidence: Evidence | None, run_command: RunCommand) -> None:
    """Run a command of a check and send its result."""
    which, argv, timeout = request
    tree = which if isinstance(which, Tree) or evidence is None else getattr(evidence, which)
    try:
        result = run_command(tree, argv, timeout=timeout)
    except WorldError as error:
        channel.send("failed", error.cause, error.detail)
    else:
        channel.send("result", result)


def _answer_question(channel: Channel, question: JudgeQuestion, ask_judge: AskJudge) -> None:
    """Ask the judge for a check and send its answer."""
    try:
        answer = ask_judge(question)
    except WorldError as error:
        channel.send("failed", error.cause, error.detail)
    except Unknowable as error:
        channel.send("unknowable", str(error))
    else:
        channel.send("result", replace(answer, exchanges=()))
