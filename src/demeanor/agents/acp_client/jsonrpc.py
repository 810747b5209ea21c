"""JSON-RPC with a subprocess, one message per line on its standard streams. Its messages are untrusted input."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import FileIO
from typing import Any, cast

_MAX_LINE = 32 * 2**20
_MAX_WARNINGS = 20
_TIMEOUT = 1.0


class AgentFailed(Exception):
    """The agent exited, returned an error or did not finish its turn; the message says which."""


class JsonRpc:
    """A subprocess that speaks JSON-RPC."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], cwd: str) -> None:
        try:
            self._agent = subprocess.Popen(
                command, env=dict(env), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise AgentFailed(f"the agent can't be started: {command[0]}: {error.strerror}") from None
        self._input, self._output = cast("FileIO", self._agent.stdin), cast("FileIO", self._agent.stdout)
        self._last_id = 0
        self._warnings = 0
        self._unread = self._lines()  # one for all requests: a part of the next line may have been read already
        self.patience: float | None = None
        """Seconds after which `messages` reports that nothing came; None to wait for as long as it takes."""

    def request(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request; returns its id."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification, which has no answer."""
        self._send({"method": method, "params": params})

    def answer(self, request: Any, result: Mapping[str, Any] | None) -> None:
        """Answer a request of the agent with a result."""
        self._send({"id": request, "result": result})

    def refuse(self, request: Any, code: int, message: str) -> None:
        """Answer a request of the agent with an error."""
        self._send({"id": request, "error": {"code": code, "message": message}})

    def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        try:
            while line:
                line = line[self._input.write(line) :]
        except OSError:
            pass  # it closed its input; its output or its exit code explains why

    def messages(self) -> Iterator[dict[str, Any] | None]:
        """The messages of the agent until it exits; other lines are skipped and reported on stderr.

        None means that none came for as long as the client has `patience`.
        """
        for line in self._unread:
            if line is None:
                yield None
                continue
            try:
                message = json.loads(line)
                if b"\\ud" in line.lower():  # replace lone surrogates, which can't be stored
                    message = json.loads(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                yield message
            elif line.strip():
                self._warn(f"not a message of the protocol: {line[:200].decode('utf-8', 'replace')}")

    def _lines(self) -> Iterator[bytes | None]:
        partial = bytearray()
        skipping = False
        while True:
            while self.patience is not None and not select.select([self._output], [], [], self.patience)[0]:
                yield None
            piece = os.read(self._output.fileno(), 2**16)
            if not piece:
                return
            *whole, rest = piece.split(b"\n")
            for line in whole:
                if not skipping:
                    yield bytes(partial + line)
                partial, skipping = bytearray(), False
            if not skipping:
                partial += rest
            if len(partial) > _MAX_LINE:
                self._warn(f"a line of more than {_MAX_LINE} bytes was skipped")
                partial, skipping = bytearray(), True

    def _warn(self, problem: str) -> None:
        self._warnings += 1
        if self._warnings <= _MAX_WARNINGS:
            sys.stderr.write(f"acp: {problem}\n")

    def describe_exit(self) -> str:
        """How the agent exited, after it closed its output."""
        try:
            code = self._agent.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def close(self) -> None:
        """Close the agent's input and wait for its exit; terminate it if it does not exit."""
        with contextlib.suppress(OSError):
            self._input.close()
        self._agent.stdin = None
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._agent.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._agent.communicate(timeout=_TIMEOUT)
                return
