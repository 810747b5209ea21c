"""Stands between the agent and a real MCP server program: records its calls and injects faults."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO, Any, cast

from demeanor.core.values.fault import Fault, FaultKind
from demeanor.mcp.probe import Resumed, first_message
from demeanor.mcp.record import CallRecorder

MAX_RESULT = 50_000
MAX_STDERR = 2_000
_LAST_LINES = 3
SECONDS_FOR_STDERR = 5


class Relay:
    """Passes messages on, line by line."""

    def __init__(self, record: CallRecorder) -> None:
        self._record = record
        self._pending: dict[str, tuple[str, dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._stderr = b""
        self._client_left = False

    def run(self, command: Sequence[str]) -> int:
        """Run the server until it exits or the client closes the input; its exit code is returned."""
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as server:
            to_server, from_server = cast("IO[bytes]", server.stdin), cast("IO[bytes]", server.stdout)
            errors = threading.Thread(target=self._copy_errors, args=(cast("IO[bytes]", server.stderr),), daemon=True)
            errors.start()
            threading.Thread(target=self._there, args=(to_server,), daemon=True).start()
            self._back(from_server)
            code = server.wait()
            errors.join(SECONDS_FOR_STDERR)  # a process that the server left behind may keep it open
        self._end(code)
        return code

    def _there(self, to_server: IO[bytes]) -> None:
        """Pass the client's messages on, until it closes the input or the server exits."""
        first = first_message(0, 1)
        try:
            for line in io.BufferedReader(Resumed(first, 0)):
                if self._forward(line):
                    to_server.write(line)
            self._client_left = True
            to_server.close()
        except BrokenPipeError:
            pass

    def _copy_errors(self, from_server: IO[bytes]) -> None:
        while data := from_server.read(8192):
            self._stderr = (self._stderr + data)[-MAX_STDERR:]
            sys.stderr.buffer.write(data)
            sys.stderr.buffer.flush()

    def _end(self, code: int) -> None:
        """Record the calls that got no answer, and why the server exited although the client needed it."""
        with self._lock:
            pending, self._pending = list(self._pending.values()), {}
        for call in pending:
            self._record.called(*call)
        if not self._client_left:
            self._record.failed(end_of_program(code, self._stderr))

    def _forward(self, line: bytes) -> bool:
        """Note a request of the client; False if a fault answers it instead of the server."""
        message = parsed(line)
        if message.get("method") == "tools/list":
            self._record.listed()
        call = call_in(message)
        if call is None:
            return True
        request = message["id"]
        if (fault := self._record.fault(call[0])) is not None:
            self._inject(fault, request, *call)
            return False
        with self._lock:
            self._pending[repr(request)] = call
        return True

    def _inject(self, fault: Fault, request: Any, name: str, arguments: dict[str, Any]) -> None:
        answer = fault_answer(fault, request)
        if answer is not None:
            text, succeeded = result_of(answer)
            self._record.called(name, arguments, result=text, succeeded=succeeded, fault=str(fault))
            self._send(json.dumps(answer).encode() + b"\n")
            return
        self._record.called(name, arguments, fault=str(fault))
        if fault.kind is not FaultKind.HANG:
            os._exit(1)

    def _back(self, from_server: IO[bytes]) -> None:
        for line in from_server:
            message = parsed(line)
            request = message.get("id")
            with self._lock:
                call = self._pending.pop(repr(request), None) if "method" not in message else None
            if call is not None:
                text, succeeded = result_of(message)
                self._record.called(*call, result=text[:MAX_RESULT], succeeded=succeeded)
            self._send(line)

    def _send(self, line: bytes) -> None:
        with self._lock:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()


def call_in(message: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The tool and the arguments that a request calls; None if it is no call."""
    if message.get("method") != "tools/call" or message.get("id") is None:
        return None
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    arguments = params.get("arguments")
    return str(params.get("name")), arguments if isinstance(arguments, dict) else {}


def fault_answer(fault: Fault, request: Any) -> dict[str, Any] | None:
    """The message that a fault sends instead of the server's; None for one that sends nothing."""
    if not fault.kind.isdigit() and fault.kind is not FaultKind.EMPTY:
        return None
    error = fault.kind.isdigit()
    content = [{"type": "text", "text": f"HTTP {fault.kind}" if error else ""}]
    return {"jsonrpc": "2.0", "id": request, "result": {"resultType": "complete", "content": content, "isError": error}}


def end_of_program(code: int, stderr: bytes) -> str:
    """Why a server can't work whose program has ended, with the last lines that it printed."""
    said = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    last = "\n".join(said[-_LAST_LINES:])
    return f"its program ended with exit code {code}" + (f": {last}" if last else "")


def parsed(line: bytes) -> dict[str, Any]:
    """A message; empty if it is not a JSON object."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def result_of(message: dict[str, Any]) -> tuple[str, bool]:
    """The text of a result, and whether the tool succeeded."""
    if isinstance(message.get("error"), dict):
        return str(message["error"].get("message")), False
    result = message.get("result")
    result = result if isinstance(result, dict) else {}
    content = result.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks), not result.get("isError")
