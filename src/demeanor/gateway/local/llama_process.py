"""Runs a local model in a child process, which is started on first use and ends with its parent."""

from __future__ import annotations

import asyncio
import json
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp

from demeanor.core.installation import install_extra
from demeanor.core.text.wording import shortened
from demeanor.gateway.local.free_cores import engine_threads
from demeanor.gateway.local.slots import EngineError, SavedPrefixes, SlotPool
from demeanor.gateway.local.weights import MAX_CONCURRENT_CHATS

RUNTIME = "xllamacpp"
CONTEXT_EXCEEDED = "exceed_context_size_error"
"""The engine's error type for a conversation that exceeds the context window."""


MOST_CONVERSATIONS = 8
"""Conversations that are held at once, however many trials run: each needs about 200 MB."""

_HOST = Path(__file__).with_name("llama_host.py")
_LOADING_SECONDS = 300.0
_STOP_SECONDS = 5.0
_NO_OPENMP = (
    "the runtime for local models needs the system's OpenMP library, libgomp.so.1"
    "\n  → install it: the package is libgomp1 on Debian and Ubuntu, libgomp on Fedora and Alpine"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineLimits:
    """How much of the machine a model may use."""

    threads: int | None = None
    """Compute threads; None: as many as there are free cores when the engine starts."""

    slots: int = MAX_CONCURRENT_CHATS + 1
    """Responses that are generated at the same time. One more than there are trials, so that a new trial takes the slot
    of one that has ended."""

    context: int = 8192
    """Tokens of one conversation, response included."""


def no_runtime() -> str:
    """What to say if the runtime is not installed."""
    return f"the runtime for local models is not installed\n  → {install_extra('local')}"


def runtime_installed() -> bool:
    """Whether the runtime is installed; does not load it."""
    return find_spec(RUNTIME) is not None


class LlamaProcess:
    """The process of one model. Several event loops may use it; it ends when the last of them closes it."""

    def __init__(self, path: Path, *, limits: EngineLimits | None = None, python: str = sys.executable) -> None:
        """`path` is the model's file."""
        self._path = path
        self._limits = limits or EngineLimits()
        self._python = python
        self._key = secrets.token_hex(24)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""
        self._pool = SlotPool(self._limits.slots)
        self._prefixes = SavedPrefixes()
        self.states: Path | None = None
        """The folder of saved states while it runs."""
        self._users: set[asyncio.AbstractEventLoop] = set()

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    @property
    def address(self) -> str:
        """The URL while it runs; requests need the key."""
        return self._url

    @property
    def slots(self) -> int:
        """How many conversations it holds at once."""
        return self._limits.slots

    def make_room(self, conversations: int) -> None:
        """Hold so many conversations at once, from the next start on: with fewer slots, each turn would evict another
        conversation, which is then evaluated again from its beginning."""
        slots = min(conversations, MOST_CONVERSATIONS) + 1
        with self._lock:
            if self.pid is None and slots > self._limits.slots:
                self._limits = replace(self._limits, slots=slots)
                self._pool = SlotPool(slots)

    async def chat(self, body: Mapping[str, Any], *, shared: int = 0, owner: str = "") -> Any:
        """Send a request in the format of the OpenAI chat API; raises EngineError. Cancelling stops the generation.

        Its first `shared` messages are evaluated once for all conversations that begin with them. `owner` is its trial:
        trials take turns.
        """
        self._users.add(asyncio.get_running_loop())
        url, pool, prefixes = await asyncio.to_thread(self._ensure_running)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
        headers = {"Authorization": f"Bearer {self._key}"}
        messages = body["messages"]

        async with (
            aiohttp.ClientSession(timeout=timeout, headers=headers) as client,
            pool.slot(messages, shared=shared, owner=owner) as slot,
        ):
            post = partial(_post, client, url)
            await prefixes.load(slot, messages, post, shared=shared)
            slot.held = messages
            return await post("/v1/chat/completions", {**body, "id_slot": slot.number})

    async def close(self) -> None:
        """Release it; the process ends when no other event loop uses it."""
        self._users.discard(asyncio.get_running_loop())
        if not self._users:
            await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        """End the process, even if it is in use."""
        with self._lock:
            self._end()

    def _ensure_running(self) -> tuple[str, SlotPool, SavedPrefixes]:
        """The engine's URL and what its slots hold; starts the engine if it does not run."""
        with self._lock:
            if self.pid is None:
                self._end()
                self._start()
            return self._url, self._pool, self._prefixes

    def _start(self) -> None:
        if not self._path.is_file():
            raise EngineError(f"{self._path}: there is no such file")
        limits = self._limits
        try:
            self.states = Path(tempfile.mkdtemp(prefix="demeanor-model-"))
        except OSError as error:
            raise EngineError(f"there is no temporary folder for the engine: {error}") from None
        self._pool, self._prefixes = SlotPool(limits.slots), SavedPrefixes()
        process = self._process = subprocess.Popen(
            [self._python, "-P", str(_HOST)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to Demeanor, which stops the engine itself
        )
        try:
            settings = {
                "path": str(self._path),
                "key": self._key,
                "threads": limits.threads or engine_threads(),
                "slots": limits.slots,
                "context": limits.context,
                "states": str(self.states),
            }
            self._url = _handshake(process, settings)
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        process, self._process = self._process, None
        states, self.states = self.states, None
        if states is not None:
            shutil.rmtree(states, ignore_errors=True)
        if process is None:
            return
        with process:
            try:
                if process.stdin:
                    process.stdin.close()
                process.wait(_STOP_SECONDS)
            except (subprocess.TimeoutExpired, BrokenPipeError):
                process.kill()


def _handshake(process: subprocess.Popen[bytes], settings: Mapping[str, Any]) -> str:
    """Send the settings and wait for the URL."""
    if process.stdin is None or process.stdout is None:
        raise EngineError("the engine process has no pipes")
    try:
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        raise EngineError(f"the engine exited during start-up (exit code {process.wait()})") from None
    if not select.select([process.stdout], [], [], _LOADING_SECONDS)[0]:
        raise EngineError(f"the engine did not load the model within {_LOADING_SECONDS:g} seconds")
    line = process.stdout.readline()
    if not line:
        raise EngineError(f"the engine exited while loading the model (exit code {process.wait()})")
    reply = json.loads(line)
    if "url" in reply:
        return str(reply["url"])
    raise EngineError(_startup_problem(reply["problem"], reply["message"]))


async def _post(client: aiohttp.ClientSession, url: str, path: str, body: Mapping[str, Any]) -> Any:
    try:
        async with client.post(url + path, json=body) as answer:
            text = await answer.text()
            if answer.status != 200:
                raise _engine_error(answer.status, text)
            return json.loads(text)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise EngineError(f"the engine closed the connection: {type(error).__name__}: {error}") from None


def _startup_problem(kind: str, message: str) -> str:
    if kind == "import":
        if "libgomp" in message:
            return _NO_OPENMP
        return no_runtime() if RUNTIME in message else f"the runtime for local models can't be loaded: {message}"
    return f"the model can't be loaded: {message}"


def _engine_error(status: int, text: str) -> EngineError:
    """The error in an engine's response."""
    try:
        error = json.loads(text)["error"]
        return EngineError(str(error["message"]), kind=str(error.get("type", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return EngineError(f"HTTP {status}: {shortened(text, 400)}")
