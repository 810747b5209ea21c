"""Stands between the agent and a real MCP server program over HTTP: records its calls and injects faults."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import IO, Any, cast

from demeanor.core.values.fault import Fault, FaultKind
from demeanor.mcp.record import CallRecorder
from demeanor.mcp.relay import (
    MAX_RESULT,
    MAX_STDERR,
    SECONDS_FOR_STDERR,
    call_in,
    end_of_program,
    fault_answer,
    parsed,
    result_of,
)

_PAUSE = 0.05
_OF_ONE_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "content-length", "date", "server", "host")

_Call = tuple[str, dict[str, Any]]


class HttpRelay(ThreadingHTTPServer):
    """Runs the program, and passes every request on to it."""

    daemon_threads = True

    def __init__(self, record: CallRecorder, listener: socket.socket) -> None:
        super().__init__(listener.getsockname(), _RelayHandler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.record = record
        self._pending: list[_Call] = []
        self._lock = threading.Lock()
        self._stderr = b""
        self._ended = self._terminated = False

    def run(self) -> int:
        """Relay until the program ends; the agent's end terminates the program too."""
        words = [word.replace("{port}", str(self.record.file.program_port)) for word in self.record.file.command]
        signal.signal(signal.SIGTERM, self._terminate)
        quiet = subprocess.DEVNULL
        with subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, bufsize=0) as program:
            errors = threading.Thread(target=self._keep_errors, args=(cast("IO[bytes]", program.stderr),), daemon=True)
            errors.start()
            threading.Thread(target=self.serve_forever, daemon=True).start()
            code = program.wait()
            errors.join(SECONDS_FOR_STDERR)  # a process that the program left behind may keep it open
            self._ended = True
            for call in tuple(self._pending):
                self.answer(call, None)
            if not self._terminated:
                self.record.failed(end_of_program(code, self._stderr))
            os._exit(0)  # without waiting for requests that nothing will answer

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        """The agent has ended; the program got the signal as well."""
        self._terminated = True

    def _keep_errors(self, from_program: IO[bytes]) -> None:
        while data := from_program.read(8192):
            self._stderr = (self._stderr + data)[-MAX_STDERR:]

    def connection(self) -> HTTPConnection:
        """A connection to the program, as soon as it listens; raises ConnectionError if it has ended."""
        while True:
            connection = HTTPConnection("127.0.0.1", self.record.file.program_port)
            try:
                connection.connect()
            except ConnectionRefusedError:
                if self._ended:
                    raise
                time.sleep(_PAUSE)
            else:
                return connection

    def ask(self, call: _Call) -> None:
        """Note that the program works on a call."""
        with self._lock:
            self._pending.append(call)

    def answer(self, call: _Call, message: dict[str, Any] | None) -> None:
        """Record a call with its answer, unless that is done already; None if there is no answer."""
        with self._lock:
            if not any(pending is call for pending in self._pending):
                return
            self._pending = [pending for pending in self._pending if pending is not call]
        text, succeeded = result_of(message) if message is not None else (None, None)
        self.record.called(*call, result=text and text[:MAX_RESULT], succeeded=succeeded)


class _RelayHandler(BaseHTTPRequestHandler):
    """Passes the requests of one connection on."""

    protocol_version = "HTTP/1.1"
    server: HttpRelay

    def pass_on(self) -> None:
        """Pass a request on, and its response back, unless a fault answers it."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        message = parsed(body)
        call, request = call_in(message), message.get("id")
        if message.get("method") == "tools/list":
            self.server.record.listed()
        if call is None:
            self._exchange(body, lambda reply: None)
        elif (fault := self.server.record.fault(call[0])) is not None:
            self._inject(fault, request, call)
        else:
            self.server.ask(call)
            self._exchange(body, lambda reply: self.server.answer(call, reply) if _answers(reply, request) else None)
            self.server.answer(call, None)

    do_GET = do_POST = do_DELETE = pass_on  # noqa: N815 - these are the methods of the protocol

    def _exchange(self, body: bytes, see: Callable[[dict[str, Any]], None]) -> None:
        """Pass a request on and its response back; `see` gets each message of the response before the agent does."""
        headers = {name: text for name, text in self.headers.items() if name.lower() not in _OF_ONE_CONNECTION}
        try:
            connection = self.server.connection()
            with closing(connection):
                connection.request(self.command, self.path, body or None, headers)
                response = connection.getresponse()
                if (response.getheader("Content-Type") or "").startswith("text/event-stream"):
                    self._pass_events(response, see)
                else:
                    content = response.read()
                    see(parsed(content))
                    self._begin(response, {"Content-Length": str(len(content))})
                    self.wfile.write(content)
        except (OSError, HTTPException):
            self.close_connection = True  # the agent, too, sees a connection that breaks

    def _pass_events(self, response: HTTPResponse, see: Callable[[dict[str, Any]], None]) -> None:
        self.close_connection = True
        self._begin(response, {"Connection": "close"})
        data = b""
        for line in response:
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            if name == b"data":
                data += value.removeprefix(b" ") + b"\n"
            elif not name and not value and data:
                see(parsed(data))
                data = b""
            self.wfile.write(line)
            self.wfile.flush()

    def _begin(self, response: HTTPResponse, more: dict[str, str]) -> None:
        self.send_response_only(response.status, response.reason)
        kept = [(name, text) for name, text in response.getheaders() if name.lower() not in _OF_ONE_CONNECTION]
        for name, text in (*kept, *more.items()):
            self.send_header(name, text)
        self.end_headers()

    def _inject(self, fault: Fault, request: Any, call: _Call) -> None:
        answer = fault_answer(fault, request)
        if answer is None:
            self.server.record.called(*call, fault=str(fault))
            if fault.kind is not FaultKind.HANG:
                os._exit(1)
            threading.Event().wait()
            return
        text, succeeded = result_of(answer)
        self.server.record.called(*call, result=text, succeeded=succeeded, fault=str(fault))
        content = json.dumps(answer).encode()
        self.send_response_only(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _answers(message: dict[str, Any], request: Any) -> bool:
    return "method" not in message and message.get("id") == request
