"""A model server for the bench: answers every request at once with `hi`, as OpenAI's API does.

python benchmarks/comparison/model_server.py      # prints its URL, and serves until its input ends
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CHOICE = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
_USAGE = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
_BODY = json.dumps(
    {"id": "c", "object": "chat.completion", "created": 1, "model": "echo", "choices": [_CHOICE], "usage": _USAGE}
).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


async def _serve() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.split(b"content-length:")[1].split(b"\r")[0])
                await reader.readexactly(length)
                writer.write(_ANSWER)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def model_server() -> Iterator[str]:
    """A running server; yields its base URL."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    asyncio.run(_serve())
