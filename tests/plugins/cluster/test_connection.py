"""Messages of a cluster are data: what would run code where it is read is an error."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import msgpack
import pytest
from distributed.protocol import dumps, loads, to_serialize
from distributed.protocol.serialize import Serialized, ToPickle

from demeanor.plugins.cluster.connection import read_message


class Bomb:
    """Creates a file where it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


def test_plain_values_are_read() -> None:
    """Also large ones, which Dask sends in several frames."""
    value = b"x" * 10**5
    frames = dumps(
        {"a": {"status": "OK", "result": to_serialize(value)}}, serializers=("msgpack",), frame_split_size=10**4
    )
    assert len(frames) > 10
    assert read_message([bytes(frame) for frame in frames]) == {"a": {"status": "OK", "result": value}}


@pytest.mark.parametrize(
    "how", ["Pickled", "pickle", "dask", "error", "compressed", "no frame", "endless", "list", "deep"]
)
def test_anything_else_is_refused(tmp_path: Path, how: str) -> None:
    """And nothing is run."""
    file = tmp_path / "unpickled"
    bomb = pickle.dumps(Bomb(file))
    header: dict[str, Any] = {"serializer": how, "writeable": (), "type-serialized": bomb, "num-sub-frames": 1}
    if how == "compressed":
        header |= {"serializer": "msgpack", "compression": ("zlib",)}
    message: Any = {"a": ToPickle(Bomb(file)) if how == "Pickled" else Serialized(header, [bomb])}
    frames = [bytes(frame) for frame in dumps(message)]
    others = {
        "no frame": [msgpack.packb({"__Serialized__": 7})],
        "endless": [msgpack.packb({"__Serialized__": 0})],
        "list": [msgpack.packb([1])],
        "deep": [b"\x91" * 10**5],
    }
    try:
        read = read_message(others.get(how, frames))
    except ConnectionError:
        read = {}
    assert not file.exists()
    if how in ("Pickled", "pickle"):
        loads(frames)
        assert file.exists()  # Dask's client runs it
    assert read == ({"a": {"__Pickled__": 1}} if how == "Pickled" else {})
