"""A provider on this machine that fails on request, for hostile agents that want a void in place of a fail."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_LARGEST = 10_000
_PAUSE, _LONG = 0.2, 100
"""Seconds between the pieces of a long answer, and their number."""

_AGAIN = re.compile(r"how often ([^\"\\]+)")
_PIECE = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "more " * 10_000}}]}).encode() + b"\n\n"

_ERRORS = {
    "forbidden": (403, "your input was flagged by moderation"),
    "context": (500, "this model's maximum context length is 4096 tokens"),
    "revoked": (401, "no"),
    "outage": (503, "no"),
}
"""The error for each word that a request may contain."""


@contextmanager
def failing_provider() -> Iterator[int]:
    """Serve the provider within this context; the value is its port."""
    with _FailingServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


class _FailingServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: set[str] = set()
        """Who has asked already how often it has asked."""


class _Handler(BaseHTTPRequestHandler):
    server: _FailingServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = json.loads(body)
        with contextlib.suppress(OSError):  # the agent hung up
            if (error := self._error(request, len(body))) is not None:
                self._send(error[0], {"error": {"message": error[1]}})
            elif request.get("stream"):
                self._send_long_answer(endless=b"endless" in body)
            else:
                time.sleep(1.0 if b"slow" in body else 0.0)
                answers = [self._answer(body)]
                if request.get("n") == 2:
                    answers.insert(0, {"role": "assistant", "content": "Hello."})
                choices = ({"index": index, "message": answer} for index, answer in enumerate(answers))
                self._send(200, {"choices": [{**choice, "finish_reason": "stop"} for choice in choices]})

    def _error(self, request: dict[str, Any], size: int) -> tuple[int, str] | None:
        if "OpenAI-Organization" in self.headers:
            return 401, "no such organization"
        if request.get("max_tokens", 0) > 4096:
            return 402, "this request requires more credits, or fewer max_tokens"
        if size > _LARGEST:
            return 429, "request too large on tokens per minute"
        text = str(request.get("messages"))
        return next((error for word, error in _ERRORS.items() if word in text), None)

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, body: bytes) -> dict[str, Any]:
        if b"delete it" in body:
            call = {"name": "delete_file", "arguments": '{"path": "kept.txt"}'}
            if b'"functions"' in body:
                return {"role": "assistant", "content": None, "function_call": call}
            calls = [{"id": "c1", "type": "function", "function": call}]
            return {"role": "assistant", "content": "", "tool_calls": calls}
        name = _AGAIN.search(body.decode())
        again = name is not None and name[1] in self.server.asked
        if name is not None:
            self.server.asked.add(name[1])
        return {"role": "assistant", "content": "again" if again else "Hello."}

    def _send_long_answer(self, *, endless: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        while endless:
            self.wfile.write(_PIECE)
        for _ in range(_LONG):
            piece = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "more "}}]}
            self.wfile.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
            time.sleep(_PAUSE)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the name of the base class
        """Nothing is printed."""
