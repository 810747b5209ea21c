"""JSON-RPC with a program, one message per line over its standard streams. Whatever it sends is hostile input."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from typing import Any, cast

_LONGEST = 32 * 2**20
_MOST_COMPLAINTS = 20
_PATIENCE = 1.0


class AgentFailed(Exception):
    """The agent ended, refused or broke off; the message tells how."""


class JsonRpc:
    """A program that was started, to be written to and read from."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], folder: str) -> None:
        try:
            self._agent = subprocess.Popen(
                command, env=dict(env), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise AgentFailed(f"the agent can't be started: {command[0]}: {error.strerror}") from None
        self._input, self._output = cast("FileIO", self._agent.stdin), cast("FileIO", self._agent.stdout)
        self._numbers = 0
        self._complaints = 0

    def request(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request; its number."""
        self._numbers += 1
        self._send({"id": self._numbers, "method": method, "params": params})
        return self._numbers

    def answer(self, number: Any, result: Mapping[str, Any] | None) -> None:
        """Answer a request of the agent."""
        self._send({"id": number, "result": result})

    def refuse(self, number: Any, code: int, message: str) -> None:
        """Refuse a request of the agent."""
        self._send({"id": number, "error": {"code": code, "message": message}})

    def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        try:
            while line:
                line = line[self._input.write(line) :]
        except OSError:
            pass  # it has closed its input; what it says, or its end, tells more

    def messages(self) -> Iterator[dict[str, Any]]:
        """What the agent sends, until it ends; lines that are no message are passed over, and told on stderr."""
        for line in self._lines():
            try:
                message = json.loads(line)
                if b"\\ud" in line.lower():  # halves of characters can't be kept
                    message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                yield message
            elif line.strip():
                self._complain(f"no message of the protocol: {line[:200].decode('utf-8', 'replace')}")

    def _lines(self) -> Iterator[bytes]:
        begun = bytearray()
        skipping = False
        while piece := os.read(self._output.fileno(), 2**16):
            *whole, rest = piece.split(b"\n")
            for line in whole:
                if not skipping:
                    yield bytes(begun + line)
                begun, skipping = bytearray(), False
            if not skipping:
                begun += rest
            if len(begun) > _LONGEST:
                self._complain(f"a line of more than {_LONGEST} bytes was passed over")
                begun, skipping = bytearray(), True

    def _complain(self, problem: str) -> None:
        self._complaints += 1
        if self._complaints <= _MOST_COMPLAINTS:
            sys.stderr.write(f"acp: {problem}\n")

    def how_it_ended(self) -> str:
        """How the agent ended, after it has closed its output."""
        try:
            code = self._agent.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def close(self) -> None:
        """Tell the agent that nothing more will come, and see it end."""
        with contextlib.suppress(OSError):
            self._input.close()
        self._agent.stdin = None
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._agent.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._agent.communicate(timeout=_PATIENCE)
                return
