"""The conductor's connection to a scheduler: Dask's protocol, as far as we need it, without its pickles.

Dask's own client unpickles what it receives, so a worker, or a scheduler that a worker has taken over, could run code
in its process. This one sends the names of our functions, and reads nothing but data in msgpack: anything else is an
error.
"""

from __future__ import annotations

import asyncio
import pickle
import ssl
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from demeanor.plugins.cluster.messages import MAX_BYTES

_CONNECT_SECONDS = 30.0
_MAX_FRAMES = 10_000
_PLAIN = ("msgpack",)
"""How values are to be written, in Dask's words."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class ClusterConnection:
    """Connections to one scheduler, over TLS with certificates on both sides; each carries one request at a time."""

    def __init__(self, address: str, *, certificate: Path, key: Path) -> None:
        self._address = urlsplit(address)
        self._tls = ssl.create_default_context(cafile=certificate)
        self._tls.check_hostname = False  # the certificate is for the cluster, not for a machine
        self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as Dask does: it is its own authority
        self._tls.load_cert_chain(certificate, key)
        self._idle: list[Stream] = []
        self._closed = False

    async def run(self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str]) -> dict[str, Any]:
        """Call one of our functions on some workers, by name; what each has returned. Those that are gone are left out.

        Raises OSError.
        """
        call = {"op": "run", "function": pickle.dumps(function), "args": pickle.dumps(arguments), "wait": True}
        answers = await self.ask(op="broadcast", msg=call, workers=tuple(workers), on_error="ignore")
        return {address: _result(answers[address]) for address in workers if address in answers}

    async def run_on_scheduler(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on the scheduler, by name. Raises OSError."""
        call = {"function": pickle.dumps(function), "args": pickle.dumps(arguments), "kwargs": pickle.dumps({})}
        return _result(await self.ask(op="run_function", wait=True, **call))

    async def ask(self, **message: Any) -> Mapping[str, Any]:
        """The scheduler's answer to a request; raises OSError if there is none, or if it is no data."""
        if self._closed:
            raise ConnectionError("the connection was closed")
        stream = self._idle.pop() if self._idle else await self._connect()
        try:
            await _send(stream, {**message, "reply": True, "serializers": _PLAIN})
            answer = await _receive(stream)
        except BaseException:
            stream[1].transport.abort()  # the answer to this request must not be taken for that to the next one
            raise
        self._idle.append(stream)
        return answer

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        for _, writer in self._idle:
            writer.transport.abort()
        self._idle.clear()

    async def _connect(self) -> Stream:
        async with asyncio.timeout(_CONNECT_SECONDS):
            stream = await asyncio.open_connection(
                self._address.hostname, self._address.port, ssl=self._tls, limit=2**20
            )
            try:
                version = tuple(sys.version_info)[:3]
                await _send(
                    stream, {"compression": None, "python": version, "pickle-protocol": pickle.HIGHEST_PROTOCOL}
                )
                await _receive(stream)
            except BaseException:
                stream[1].transport.abort()
                raise
        return stream


async def _send(stream: Stream, message: Mapping[str, Any]) -> None:
    import msgpack

    content = msgpack.packb(message)
    stream[1].write(struct.pack("<QQQ", 16 + len(content), 1, len(content)))
    stream[1].write(content)
    await stream[1].drain()


async def _receive(stream: Stream) -> Mapping[str, Any]:
    """A message: the size of its first part, then the number of its frames, their sizes, and the frames."""
    reader = stream[0]
    try:
        (size,) = struct.unpack("<Q", await _read(reader, 8))
        first = await _read(reader, size)
        (number,) = struct.unpack_from("<Q", first)
        if number > _MAX_FRAMES:
            raise ConnectionError(f"sent a message of {number} frames")
        sizes = struct.unpack_from(f"<{number}Q", first, 8)
        content = first[8 * (number + 1) :] + await _read(reader, sum(sizes) + 8 * (number + 1) - size)
    except (struct.error, asyncio.IncompleteReadError) as error:
        raise ConnectionError(f"closed the connection, or sent a damaged message: {error}") from None
    frames, start = [], 0
    for length in sizes:
        frames.append(content[start : start + length])
        start += length
    return read_message(frames)


async def _read(reader: asyncio.StreamReader, size: int) -> bytes:
    if not 0 <= size <= MAX_BYTES:
        raise ConnectionError(f"sent a message of {size} bytes")
    return await reader.readexactly(size)


def read_message(frames: Sequence[bytes]) -> Mapping[str, Any]:
    """The message in the frames, if it is data; raises ConnectionError for anything else."""
    import msgpack

    def value(data: dict[Any, Any]) -> Any:
        if "__Serialized__" not in data:
            return data
        number = data["__Serialized__"]
        header = msgpack.unpackb(frames[number], use_list=False)
        if header["serializer"] not in _PLAIN or any(header.get("compression") or ()):
            raise ValueError(f"a value is written as {header['serializer']!r}")
        body = b"".join(frames[number + 1 : number + 1 + header["num-sub-frames"]])
        return msgpack.unpackb(body, use_list=False)

    try:
        message = msgpack.unpackb(frames[0], object_hook=value, use_list=False, strict_map_key=False)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, msgpack.UnpackException) as error:
        raise ConnectionError(f"sent something else than data: {error}") from None
    if not isinstance(message, dict):
        raise ConnectionError(f"sent something else than a message: {type(message).__name__}")
    if message.get("status") == "uncaught-error":
        raise ConnectionError(str(message.get("exception_text")))
    return message


def _result(answer: object) -> Any:
    """What a function has returned; raises OSError for its error."""
    if isinstance(answer, dict) and answer.get("status") == "OK" and "result" in answer:
        return answer["result"]
    text = answer.get("exception_text") if isinstance(answer, dict) else None
    raise ConnectionError(text if isinstance(text, str) else "sent an invalid answer")
