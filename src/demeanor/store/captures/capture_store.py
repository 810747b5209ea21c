"""Published captures, addressed by the hash of their content, in a folder or in object storage.

    <store>/ab/ab12….json.gz            one compressed line; its name is `zcat FILE | sha256sum`
    <store>/starts/ab/ab12….jsonl.gz    starting states of workspaces, see starting_states.py

During a run its captures are in one append-only file of its folder, because creating a file takes longer than many
attempts. They are published when the run ends; the same content is stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from demeanor.config import Config
from demeanor.core.installation import install_extra
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import BadInput, StoreError
from demeanor.core.values.record import Record
from demeanor.store.captures.document import read_capture_json, unpack
from demeanor.store.captures.starting_states import unpack_start
from demeanor.store.runs.run_folder import RunFolder

_PARALLEL = 16
_START = "starts/"
"""The prefix of the names of starting states."""


class CaptureStore(Protocol):
    """A store of published captures."""

    @property
    def address(self) -> str:
        """Its address, as in the configuration."""
        ...

    def put(self, name: str, packed: bytes) -> None:
        """Store one, unless it is stored already."""
        ...

    def get(self, name: str) -> bytes | None:
        """Read one; None if it is not stored."""
        ...


class FolderCaptureStore:
    """A store in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def address(self) -> str:
        """The path of the folder."""
        return str(self.folder)

    def put(self, name: str, packed: bytes) -> None:
        """Store one atomically, unless it is stored already."""
        path = self.folder / _path(name)
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, packed)

    def get(self, name: str) -> bytes | None:
        """Read one; None if it is not stored."""
        try:
            return (self.folder / _path(name)).read_bytes()
        except FileNotFoundError:
            return None


class RemoteCaptureStore:
    """A store in object storage, through fsspec."""

    def __init__(self, url: str, *, where: Path | str) -> None:
        self.address = url
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]

            self._files, self._root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            remedy = install_extra("s3") if url.startswith("s3:") else "install the fsspec package for this scheme"
            raise BadInput(f"{url!r} can't be opened: {error}", where=where, key="captures", remedy=remedy) from None

    def put(self, name: str, packed: bytes) -> None:
        """Store one, unless it is stored already."""
        path = f"{self._root}/{_path(name)}"
        if not self._files.exists(path):
            self._files.pipe_file(path, packed)

    def get(self, name: str) -> bytes | None:
        """Read one; None if it is not stored."""
        try:
            content: bytes = self._files.cat_file(f"{self._root}/{_path(name)}")
            return content
        except FileNotFoundError:
            return None


def open_capture_store(config: Config) -> CaptureStore | None:
    """The store in the configuration; None if there is none."""
    if not config.captures:
        return None
    if "://" in config.captures:
        return RemoteCaptureStore(config.captures, where=config.where)
    return FolderCaptureStore(config.root / config.captures)


def publish(captures: CaptureStore, run: RunFolder, records: Iterable[Record]) -> int:
    """Publish the captures and starting states of some attempts; returns the number of captures.

    Raises StoreError if one can't be published.
    """

    def one(record: Record) -> bool:
        packed = run.packed_capture(record)
        if packed is None or not record.capture_hash:
            return False
        captures.put(record.capture_hash, packed)
        return True

    def start(name: str) -> None:
        packed = run.starts.packed(name)
        if packed is not None:
            captures.put(f"{_START}{name}", packed)

    from concurrent.futures import ThreadPoolExecutor  # takes long, and only publishing needs it

    with ThreadPoolExecutor(_PARALLEL, thread_name_prefix="captures") as pool:
        _guarded(captures.address, lambda: list(pool.map(start, run.starts.names())))
        return sum(_guarded(captures.address, lambda: list(pool.map(one, records))))


def read_capture(
    record: Record, before: Tree, *, run: RunFolder | None = None, captures: CaptureStore | None = None, home: str = ""
) -> Capture:
    """The capture of an attempt, from the folder of its run or from the store.

    `before` is the starting state of the workspace: the capture contains only changes. `home` is as for `capture_text`.
    """
    text, where = capture_text(record, run=run, captures=captures, home=home)
    return read_capture_json(text, before, where=where)


def read_start(name: str, *, run: RunFolder | None = None, captures: CaptureStore | None = None) -> Tree | None:
    """A starting state by its hash, from the folder of a run or from the store; None if neither has it."""
    start = run.starts.read(name) if run else None
    if start is not None or captures is None:
        return start
    packed = _guarded(captures.address, lambda: captures.get(f"{_START}{name}"))
    return None if packed is None else unpack_start(packed, name, where=f"{captures.address}: {name}")


def capture_text(
    record: Record, *, run: RunFolder | None = None, captures: CaptureStore | None = None, home: str = ""
) -> tuple[bytes, str]:
    """The JSON text of a capture, and where it was found. `home` tells where the folder of the run is, if not here."""
    packed, where = (run.packed_capture(record), str(run.folder)) if run else (None, "")
    if packed is None and captures is not None and record.capture_hash:
        packed, where = _guarded(captures.address, lambda: captures.get(record.capture_hash)), captures.address
    if packed is None:
        searched = [str(run.folder)] if run else []
        searched += [captures.address] if captures else []
        not_there = f"not in {' or '.join(searched)}" if searched else "not on this machine"
        elsewhere = f"; the folder of its run is {home}" if home and not run else ""
        raise StoreError(
            f"{record.trial}: its capture ({record.capture_hash[:12] or 'no hash'})"
            f" is {not_there}{elsewhere}\n"
            "  → set `captures` to the store that it was published to, or copy the folder of its run to the results"
        )
    where = f"{where}: {record.trial}"
    return unpack(packed, record.capture_hash, where=where), where


def _path(name: str) -> str:
    if name.startswith(_START):
        return f"{_START}{_path(name.removeprefix(_START)).removesuffix('json.gz')}jsonl.gz"
    if len(name) != 64 or not all(character in "0123456789abcdef" for character in name):
        raise StoreError(f"{name!r} is not the hash of a capture")
    return f"{name[:2]}/{name}.json.gz"


def _guarded(address: str, work: Callable[[], Any]) -> Any:
    """Turn every exception into a StoreError that names the store."""
    try:
        return work()
    except StoreError:
        raise
    except Exception as error:  # backends of fsspec raise exceptions of their libraries
        raise StoreError(
            f"{address}: {type(error).__name__}: {error}\n  → check its address and credentials"
        ) from error
