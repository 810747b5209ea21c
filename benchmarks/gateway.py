"""The overhead of the gateway, relative to a bare Starlette/uvicorn echo server.

    python benchmarks/gateway.py

Three programs run in parallel: an echo server, the gateway and this client. The servers are measured alternately, so
that a busy machine affects both. Needs `starlette` and `uvicorn`, for the comparison only.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROUNDS = 5
PER_ROUND = 1_000
CONNECTIONS = 16
LATENCIES = 400
STREAMS = 200
HEAD = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,'
PIECE = HEAD + b'"delta":{"role":"assistant","content":"Hello"}}]}\n\n'
LAST = HEAD + b'"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def serve_echo() -> None:
    """A bare Starlette application: reads a JSON body and answers, as a whole or as a stream."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    async def answer(request: Request) -> Response:
        body = await request.json()
        if body["stream"]:
            return StreamingResponse(_pieces(600 if body["model"] == "slow" else 0), media_type="text/event-stream")
        choice = {"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}
        return JSONResponse({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice]})

    async def run() -> None:
        app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", access_log=False))
        serving = asyncio.ensure_future(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn offers no event to wait for
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        print(f"http://127.0.0.1:{port} none", flush=True)
        await serving

    asyncio.run(run())


async def _pieces(more: int) -> AsyncIterator[bytes]:
    yield PIECE
    for _ in range(more):
        await asyncio.sleep(0.1)
        yield PIECE
    yield LAST


def serve_gateway(upstream: str) -> None:
    """The gateway with a scripted model `played`; others are at the echo server. A line of input opens a session."""
    from demeanor.core.values.eval import Eval, Source
    from demeanor.core.values.gateway_limits import GatewayLimits
    from demeanor.core.values.policy import Policy
    from demeanor.core.values.scenario import Scenario
    from demeanor.core.values.subject import Subject
    from demeanor.core.values.trial import Trial
    from demeanor.gateway.dialects import DIALECTS
    from demeanor.gateway.models.live_model import LiveModel
    from demeanor.gateway.models.provider import Provider
    from demeanor.gateway.models.upstream import Upstream
    from demeanor.gateway.script import ScriptedModel
    from demeanor.gateway.server.http_server import GatewayServer

    scenario, source = Scenario(prompts=("x",)), Source(path=Path("x"))
    found = Eval(name="bench", policy=Policy.USUALLY_PASSES, scenario=scenario, checks=(), source=source)
    subject = Subject(agent="native", model="played", settings={"also": ["live", "slow"]})
    trial = Trial(eval=found, subject=subject, number=1, timeout=60.0)

    async def run() -> None:
        provider = Provider("echo", base_url=upstream, dialects=[DIALECTS["openai-chat"]], key="sk-bench-0123456789")
        models: dict[str, Upstream] = {"played": ScriptedModel(play=lambda _: "Done.")}
        models |= {name: LiveModel(provider=provider, model=name) for name in ("live", "slow")}
        gateway = GatewayServer(models, limits=GatewayLimits(connections=2 * STREAMS))
        await gateway.start()
        while True:
            async with gateway.session(trial, seed=1) as door:
                print(door.base_url, door.token, flush=True)
                if not await asyncio.to_thread(sys.stdin.readline):
                    break
        await gateway.stop()

    gc.set_threshold(150_000, 20, 20)  # as in every run: see demeanor/__main__.py
    asyncio.run(run())


class Server:
    """A server in its own process."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, __file__, *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.listen()

    def listen(self) -> None:
        """Read its URL and token."""
        assert self.process.stdout
        self.url, self.token = self.process.stdout.readline().split()
        authority, _, prefix = self.url.removeprefix("http://").partition("/")
        self.port = int(authority.rpartition(":")[2])
        self.path = f"{'/' if prefix else ''}{prefix}/v1/chat/completions"

    def renew(self) -> None:
        """Start a new session, like a new trial."""
        if "/t/" in self.url:
            assert self.process.stdin
            print(file=self.process.stdin, flush=True)
            self.listen()

    def cpu(self) -> float:
        """Its CPU time in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Its resident memory in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def request(self, model: str, *, stream: bool = False) -> bytes:
        """The bytes of a request."""
        body = json.dumps({"model": model, "stream": stream, **question()}).encode()
        head = f"POST {self.path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
        return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def question() -> dict[str, Any]:
    """A typical request of 20 kB: a system prompt, ten tools and a few turns."""
    path = {"type": "string", "description": "Where the file is, relative to the workspace. " * 5}
    schema = {"type": "object", "properties": {"path": path, "content": path}, "required": ["path"]}
    function = {"description": "Reads or writes a file in the workspace. " * 6, "parameters": schema}
    tools = [{"type": "function", "function": {"name": f"tool_{number}", **function}} for number in range(10)]
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a coding agent. " * 330}]
    messages.append({"role": "user", "content": "Please read the file and tell me what it says."})
    for number in range(4):
        call = {"id": f"call_{number}", "type": "function"}
        call |= {"function": {"name": "tool_1", "arguments": '{"path": "src/a.py"}'}}  # type: ignore[dict-item]
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": "def main(): ...\n" * 20})
    return {"messages": messages, "tools": tools}


async def first_byte(server: Server, model: str) -> list[float]:
    """Milliseconds from the last byte of a request to the first piece of its answer, one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    request, found = server.request(model, stream=True), []
    for _ in range(LATENCIES // ROUNDS):
        started = time.perf_counter()
        writer.write(request)
        await reader.readuntil(b"Hello")
        found.append((time.perf_counter() - started) * 1000)
        await reader.readuntil(b"0\r\n\r\n")
    writer.close()
    return found


async def load(server: Server, model: str) -> tuple[float, float]:
    """Exchanges per second, and per second of the server's CPU time."""
    request, each = server.request(model), PER_ROUND // CONNECTIONS

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(each):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r")[0])
            await reader.readexactly(length)
            assert b" 200 " in head, head
        writer.close()

    started, cpu = time.perf_counter(), server.cpu()
    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    done = each * CONNECTIONS
    return done / (time.perf_counter() - started), done / max(0.001, server.cpu() - cpu)


async def slow_streams(server: Server) -> tuple[float, float]:
    """Memory in megabytes before and during 200 slow streams."""
    before, request = server.memory(), server.request("slow", stream=True)
    writers = []
    for _ in range(STREAMS):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request)
        await reader.readuntil(b"Hello")
        writers.append(writer)
    await asyncio.sleep(2)
    during = server.memory()
    for writer in writers:
        writer.close()
    return before, during


async def measure(echo: Server, gateway: Server) -> None:
    """Measure and print all numbers."""
    for server, model in ((echo, "m"), (gateway, "live"), (echo, "m"), (gateway, "played")):
        await (first_byte if model != "played" else load)(server, model)
    print(f"{'':44}{'echo':>10}{'gateway':>10}{'ratio':>8}   bar")
    before = (await slow_streams(echo), await slow_streams(gateway))
    waits: tuple[list[float], list[float]] = ([], [])
    loads: tuple[list[Any], list[Any]] = ([], [])
    for _ in range(ROUNDS):
        gateway.renew()
        for place, (server, slow, fast) in enumerate(((echo, "m", "m"), (gateway, "live", "played"))):
            waits[place].extend(await first_byte(server, slow))
            loads[place].append(await load(server, fast))
    direct, through = map(statistics.median, waits)
    row("first byte of a stream, ms (median)", direct, through, f"added {through - direct:.2f} ms, bar < 1 ms")
    direct, through = (statistics.quantiles(found, n=10)[0] for found in waits)
    row("  the fastest tenth of them, ms", direct, through, f"added {through - direct:.2f} ms")
    direct, through = (statistics.median(found[0] for found in one) for one in loads)
    row("whole answers per second, 20 kB asked", direct, through, "")
    direct, through = (statistics.median(found[1] for found in one) for one in loads)
    row("whole answers per CPU second", direct, through, "bar > 2500")
    row(f"megabytes with {STREAMS} slow streams", before[0][1], before[1][1], "bar < 60")
    direct, through = (during - idle for idle, during in before)
    row("  of which the streams, megabytes", direct, through, "")


def row(name: str, echo: float, gateway: float, bar: str) -> None:
    """One line of the table."""
    print(f"{name:44}{echo:10.2f}{gateway:10.2f}{gateway / max(echo, 1e-9):8.2f}   {bar}")


@contextmanager
def running(*arguments: str) -> Iterator[Server]:
    """A running server, terminated at the end of the block."""
    server = Server(*arguments)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


if __name__ == "__main__":
    if sys.argv[1:2] == ["echo"]:
        serve_echo()
    elif sys.argv[1:2] == ["gateway"]:
        serve_gateway(sys.argv[2])
    else:
        with running("echo") as echo, running("gateway", echo.url) as gateway:
            asyncio.run(measure(echo, gateway))
