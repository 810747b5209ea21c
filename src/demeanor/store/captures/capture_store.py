"""Captures by the hash of their content, in a folder or in object storage: read from wherever they were published.

    <place>/ab/ab12….json.gz        one compressed line; `zcat FILE | sha256sum` is its name
    <place>/starts/ab/ab12….jsonl.gz    what workspaces started from, see starts.py

While a run goes on its captures lie in one growing file of its folder (to make a file costs more than many an agent's
work); they are published when it ends, and the same content only once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from demeanor.config.config import Config
from demeanor.core.capture import Capture
from demeanor.core.errors import BadInput, StoreError
from demeanor.core.record import Record
from demeanor.core.tree import Tree
from demeanor.store.captures.capture_json import read_capture_json, unpack
from demeanor.store.captures.starting_states import unpack_start
from demeanor.store.runs.run_folder import RunFolder

_AT_ONCE = 16
_START = "starts/"
"""What the names of starting states begin with: they are lines, and named after the files in them."""


class CaptureStore(Protocol):
    """Where captures are published."""

    @property
    def place(self) -> str:
        """As the configuration names it."""
        ...

    def put(self, name: str, packed: bytes) -> None:
        """Keep one, unless it is there."""
        ...

    def get(self, name: str) -> bytes | None:
        """One again; None where it is not there."""
        ...


class FolderCaptureStore:
    """A folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def place(self) -> str:
        """The folder."""
        return str(self.folder)

    def put(self, name: str, packed: bytes) -> None:
        """Keep one, unless it is there; nobody ever sees half of it."""
        path = self.folder / _path(name)
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f".{path.name}.{os.getpid()}")
        half.write_bytes(packed)
        half.replace(path)

    def get(self, name: str) -> bytes | None:
        """One again."""
        try:
            return (self.folder / _path(name)).read_bytes()
        except FileNotFoundError:
            return None


class RemoteCaptureStore:
    """Object storage, as fsspec reaches it."""

    def __init__(self, url: str, *, where: Path | str) -> None:
        self.place = url
        remedy = "pip install 'demeanor[s3]'" if url.startswith("s3:") else "install fsspec's package for it"
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]

            self._files, self._root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise BadInput(f"{url!r} can't be reached: {error}", where=where, key="captures", remedy=remedy) from None

    def put(self, name: str, packed: bytes) -> None:
        """Keep one, unless it is there."""
        path = f"{self._root}/{_path(name)}"
        if not self._files.exists(path):
            self._files.pipe_file(path, packed)

    def get(self, name: str) -> bytes | None:
        """One again."""
        try:
            found: bytes = self._files.cat_file(f"{self._root}/{_path(name)}")
            return found
        except FileNotFoundError:
            return None


def open_capture_store(config: Config) -> CaptureStore | None:
    """The place that the configuration names, if any."""
    if not config.captures:
        return None
    if "://" in config.captures:
        return RemoteCaptureStore(config.captures, where=config.where)
    return FolderCaptureStore(config.root / config.captures)


def publish(vault: CaptureStore, run: RunFolder, records: Iterable[Record]) -> int:
    """Publish the captures of some attempts, and what they started from; how many captures there are.

    Raises StoreError where one can't be.
    """

    def one(record: Record) -> bool:
        packed = run.packed_capture(record)
        if packed is None or not record.capture_hash:
            return False
        vault.put(record.capture_hash, packed)
        return True

    def start(name: str) -> None:
        packed = run.starts.packed(name)
        if packed is not None:
            vault.put(f"{_START}{name}", packed)

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="captures") as pool:
        _guarded(vault.place, lambda: list(pool.map(start, run.starts.names())))
        return sum(_guarded(vault.place, lambda: list(pool.map(one, records))))


def read_capture(
    record: Record, before: Tree, *, run: RunFolder | None = None, vault: CaptureStore | None = None
) -> Capture:
    """An attempt's capture, from its run's folder or from where it was published.

    `before` is the workspace's starting state: the capture holds only what changed.
    """
    text, where = capture_text(record, run=run, vault=vault)
    return read_capture_json(text, before, where=where)


def read_start(name: str, *, run: RunFolder | None = None, vault: CaptureStore | None = None) -> Tree | None:
    """A starting state by its hash, from a run's folder or from where it was published; None where neither has it."""
    found = run.starts.read(name) if run else None
    if found is not None or vault is None:
        return found
    packed = _guarded(vault.place, lambda: vault.get(f"{_START}{name}"))
    return None if packed is None else unpack_start(packed, name, where=f"{vault.place}: {name}")


def capture_text(
    record: Record, *, run: RunFolder | None = None, vault: CaptureStore | None = None
) -> tuple[bytes, str]:
    """An attempt's capture as it was written, and where it was found."""
    packed, where = (run.packed_capture(record), str(run.folder)) if run else (None, "")
    if packed is None and vault is not None and record.capture_hash:
        packed, where = _guarded(vault.place, lambda: vault.get(record.capture_hash)), vault.place
    if packed is None:
        looked = [str(run.folder)] if run else []
        looked += [vault.place] if vault else []
        raise StoreError(
            f"{record.trial}: its capture ({record.capture_hash[:12] or 'no hash'})"
            f" is not in {' nor in '.join(looked) or 'any place that was named'}\n"
            "  → name where it was published as `captures`, or fetch the run's folder"
        )
    where = f"{where}: {record.trial}"
    return unpack(packed, record.capture_hash, where=where), where


def _path(name: str) -> str:
    if name.startswith(_START):
        return f"{_START}{_path(name.removeprefix(_START)).removesuffix('json.gz')}jsonl.gz"
    if len(name) != 64 or not all(sign in "0123456789abcdef" for sign in name):
        raise StoreError(f"{name!r} is no hash of a capture")
    return f"{name[:2]}/{name}.json.gz"


def _guarded(place: str, work: Callable[[], Any]) -> Any:
    """Whatever goes wrong out there is an error that names the place."""
    try:
        return work()
    except StoreError:
        raise
    except Exception as error:  # fsspec's backends raise whatever their libraries do
        raise StoreError(
            f"{place}: {type(error).__name__}: {error}\n  → are its address and credentials right?"
        ) from error
