"""A local model that runs: its process is started when it is first asked, and ends with whoever started it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import select
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp

from demeanor.gateway.local.weights import AT_ONCE

RUNTIME = "xllamacpp"
TOO_LONG = "exceed_context_size_error"
"""The engine's word for a conversation that it has no room for."""

NO_RUNTIME = "the runtime of local models is not installed\n  → pip install 'demeanor[local]'"

_HOST = Path(__file__).with_name("llama_host.py")
_LOADING_SECONDS = 300.0
_ENDING_SECONDS = 5.0
_NO_OPENMP = (
    "the runtime of local models needs the system's OpenMP library, libgomp.so.1"
    "\n  → install it: the package is called libgomp1 on Debian and Ubuntu, libgomp on Fedora and Alpine"
)


class EngineError(Exception):
    """The engine can't run, or did not answer. `kind` is its own word for what is wrong, if it had one."""

    def __init__(self, message: str, *, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """How much of the machine a model may take."""

    threads: int
    """Threads that compute."""

    slots: int = AT_ONCE
    """Answers that are worked on at once."""

    context: int = 8192
    """Tokens that one conversation may have, its answer included."""


def usual_room() -> Room:
    """All cores but one: with other work on the machine, the last one costs more than it gives."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Room(threads=max(1, cores - 1))


def installed() -> bool:
    """Whether the runtime is there; nothing is loaded to find out."""
    return find_spec(RUNTIME) is not None


class LlamaProcess:
    """The process of one model. It may be used from several event loops, and ends when the last of them lets go."""

    def __init__(self, path: Path, *, room: Room | None = None, python: str = sys.executable) -> None:
        """`path` is the model's file."""
        self._path = path
        self._room = room or usual_room()
        self._python = python
        self._key = secrets.token_hex(24)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""
        self._users: set[asyncio.AbstractEventLoop] = set()

    @property
    def pid(self) -> int | None:
        """The process, while it runs."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    @property
    def address(self) -> str:
        """Where it listens, while it runs; it answers nobody who does not know its key."""
        return self._url

    async def chat(self, body: Mapping[str, Any]) -> Any:
        """The answer to a request in the shape of the OpenAI chat API; raises EngineError. Cancelling it stops it."""
        self._users.add(asyncio.get_running_loop())
        url = await asyncio.to_thread(self._running)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
        headers = {"Authorization": f"Bearer {self._key}"}
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as client,
                client.post(f"{url}/v1/chat/completions", json=body) as answer,
            ):
                text = await answer.text()
                if answer.status != 200:
                    raise _refusal(answer.status, text)
                return json.loads(text)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise EngineError(f"the engine hung up: {type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Let go of it; the process ends when nobody else holds it."""
        self._users.discard(asyncio.get_running_loop())
        if not self._users:
            await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """End the process, whoever uses it."""
        with self._lock:
            self._end()

    def _running(self) -> str:
        """The engine's address; it is started where it does not run."""
        with self._lock:
            if self.pid is None:
                self._end()
                self._start()
            return self._url

    def _start(self) -> None:
        if not self._path.is_file():
            raise EngineError(f"{self._path}: there is no such file")
        process = self._process = subprocess.Popen(
            [self._python, "-P", str(_HOST)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for Demeanor, which ends the engine in its own time
        )
        room = self._room
        orders = {"path": str(self._path), "key": self._key, "threads": room.threads, "slots": room.slots}
        try:
            self._url = _begin(process, {**orders, "context": room.context})
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with process:
            try:
                if process.stdin:
                    process.stdin.close()
                process.wait(_ENDING_SECONDS)
            except (subprocess.TimeoutExpired, BrokenPipeError):
                process.kill()


def _begin(process: subprocess.Popen[bytes], orders: Mapping[str, Any]) -> str:
    """Give the orders and wait for the address."""
    if process.stdin is None or process.stdout is None:
        raise EngineError("the engine has no pipes")
    try:
        process.stdin.write(json.dumps(orders).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        raise EngineError(f"the engine ended at once (exit code {process.wait()})") from None
    if not select.select([process.stdout], [], [], _LOADING_SECONDS)[0]:
        raise EngineError(f"the engine did not load the model within {_LOADING_SECONDS:g} seconds")
    line = process.stdout.readline()
    if not line:
        raise EngineError(f"the engine ended while it loaded the model (exit code {process.wait()})")
    told = json.loads(line)
    if "url" in told:
        return str(told["url"])
    raise EngineError(_problem(told["problem"], told["message"]))


def _problem(kind: str, message: str) -> str:
    if kind == "import":
        if "libgomp" in message:
            return _NO_OPENMP
        return NO_RUNTIME if RUNTIME in message else f"the runtime of local models can't be loaded: {message}"
    return f"the model can't be loaded: {message}"


def _refusal(status: int, text: str) -> EngineError:
    """What the engine said instead of an answer."""
    try:
        error = json.loads(text)["error"]
        return EngineError(str(error["message"]), kind=str(error.get("type", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return EngineError(f"HTTP {status}: {text[:400]}")
