"""The engine process: it serves only its owner, ends with it, and reports why it can't start."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from demeanor.gateway.local.llama_process import CONTEXT_EXCEEDED, EngineLimits, LlamaProcess
from demeanor.gateway.local.slots import EngineError
from tests.helpers.light_model import light_model
from tests.helpers.processes import alive

HI = {"messages": [{"role": "user", "content": "Hi."}], "max_tokens": 4, "temperature": 0}
ROOM = EngineLimits(threads=1, slots=2, context=512)


@asynccontextmanager
async def an_engine(**settings: object) -> AsyncIterator[LlamaProcess]:
    """The small model, stopped afterwards."""
    engine = LlamaProcess(light_model(), limits=ROOM, **settings)  # type: ignore[arg-type]
    try:
        yield engine
    finally:
        engine.stop()


def gone(pid: int) -> bool:
    """Whether a process ends within a reasonable time."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


async def test_requests_need_the_key() -> None:
    """It starts on first use; requests without the key are refused."""
    async with an_engine() as engine:
        assert engine.pid is None
        completion = await engine.chat(HI)
        assert completion["usage"]["completion_tokens"] <= 4
        assert engine.address.startswith("http://127.0.0.1:")
        async with (
            aiohttp.ClientSession() as client,
            client.post(f"{engine.address}/v1/chat/completions", json=HI) as no,
        ):
            assert no.status == 401


async def test_it_ends_when_the_last_user_closes_it() -> None:
    """And starts again on the next request."""
    async with an_engine() as engine:
        await engine.chat(HI)
        pid = engine.pid
        await engine.close()
        assert pid is not None
        assert engine.pid is None
        assert gone(pid)
        await engine.chat(HI)
        assert engine.pid not in {None, pid}


async def test_a_crashed_engine_is_restarted() -> None:
    """The request at the time of the crash fails; the next one succeeds."""
    async with an_engine() as engine:
        await engine.chat(HI)
        long = asyncio.create_task(engine.chat({**HI, "max_tokens": 400, "ignore_eos": True}))
        await asyncio.sleep(0)
        assert engine.pid
        while not long.done():
            if engine.pid:
                os.kill(engine.pid, signal.SIGKILL)
            await asyncio.sleep(0.05)
        assert isinstance(long.exception(), EngineError)
        assert (await engine.chat(HI))["choices"]


async def test_a_cancelled_request_frees_its_slot() -> None:
    """Both slots are taken by endless requests, which are cancelled; a third one still succeeds."""
    async with an_engine() as engine:
        await engine.chat(HI)
        endless = {**HI, "max_tokens": 100_000, "ignore_eos": True, "temperature": 1}
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(engine.chat(endless), 0.3)
        assert (await asyncio.wait_for(engine.chat(HI), 60))["choices"]


async def test_a_conversation_that_is_too_long_is_reported() -> None:
    """It is the client's error, not a failure of the engine."""
    async with an_engine() as engine:
        with pytest.raises(EngineError) as caught:
            await engine.chat({"messages": [{"role": "user", "content": "so " * 2000}]})
        assert caught.value.kind == CONTEXT_EXCEEDED


async def test_a_shared_prefix_is_evaluated_once_for_all_slots() -> None:
    """Two conversations at the same time, each in a slot of its own; the states are removed with the engine."""
    prefix = {"role": "system", "content": "Be brief. " + "Answer with a single word in English. " * 12}
    async with an_engine() as engine:
        asked = [{**HI, "messages": [prefix, {"role": "user", "content": name}]} for name in ("Ann?", "Bob?")]
        usages = [reply["usage"] for reply in await asyncio.gather(*(engine.chat(one, shared=1) for one in asked))]
        for usage in usages:
            assert usage["prompt_tokens"] - usage["prompt_tokens_details"]["cached_tokens"] < 20, usages
        assert usages[0]["prompt_tokens"] > 100
        states = engine.states
        assert states is not None
        assert [path.name for path in states.iterdir()] == ["1.state"]
    assert not states.exists()


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_its_parent(sign: signal.Signals) -> None:
    """Even if the parent is killed; nothing of it is left."""
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from demeanor.gateway.local.llama_process import LlamaProcess, EngineLimits\n"
        "engine = LlamaProcess(Path(sys.argv[1]), limits=EngineLimits(threads=1, slots=1, context=256))\n"
        f"asyncio.run(engine.chat({HI!r})); print(engine.pid, engine.states, flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", program, str(light_model())]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid, states = parent.stdout.readline().split()
        parent.send_signal(sign)
    assert gone(int(pid))
    assert not Path(states).exists()


def a_python(folder: Path, *options: str, **env: str) -> str:
    """A Python that lacks something."""
    script = folder / "python"
    words = " ".join([*(f"{name}={value}" for name, value in env.items()), sys.executable, *options])
    script.write_text(f'#!/bin/sh\nexec env {words} "$@"\n')
    script.chmod(0o755)
    return str(script)


async def test_a_missing_runtime_is_reported_with_its_remedy(tmp_path: Path) -> None:
    """The runtime is an optional dependency."""
    async with an_engine(python=a_python(tmp_path, "-S")) as engine:
        with pytest.raises(EngineError, match=r"pip install 'xllamacpp>="):
            await engine.chat(HI)


async def test_a_missing_system_library_is_reported_with_its_package(tmp_path: Path) -> None:
    """Slim images lack it."""
    (tmp_path / "xllamacpp.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
    async with an_engine(python=a_python(tmp_path, PYTHONPATH=str(tmp_path))) as engine:
        with pytest.raises(EngineError, match="libgomp1"):
            await engine.chat(HI)


async def test_a_file_that_is_not_a_model_is_reported(tmp_path: Path) -> None:
    """And so is a missing file."""
    (tmp_path / "bad.gguf").write_text("GGUF, but not really")
    for name, problem in (("bad.gguf", "the model can't be loaded"), ("gone.gguf", "there is no such file")):
        engine = LlamaProcess(tmp_path / name, limits=ROOM)
        with pytest.raises(EngineError, match=problem):
            await engine.chat(HI)
        assert engine.pid is None


async def evaluated_again(engine: LlamaProcess) -> int:
    """How many tokens of a first turn are evaluated again in the second turn, after two other conversations began."""
    talks = [[{"role": "user", "content": f"{number} is my number. " * 20}] for number in "123"]
    first = [await engine.chat({**HI, "messages": talk}, owner=talk[0]["content"]) for talk in talks]
    turn = [*talks[0], {"role": "assistant", "content": "ok"}, {"role": "user", "content": "And now?"}]
    second = await engine.chat({**HI, "messages": turn}, owner=talks[0][0]["content"])
    held: int = second["usage"]["prompt_tokens_details"]["cached_tokens"]
    return int(first[0]["usage"]["prompt_tokens"]) - held


async def test_as_many_conversations_are_held_as_trials_run() -> None:
    """With fewer slots, each turn of a trial would evict another trial, and evaluate everything again."""
    async with an_engine() as engine:
        assert await evaluated_again(engine) > 50
    async with an_engine() as engine:
        engine.make_room(3)
        assert await evaluated_again(engine) < 10
