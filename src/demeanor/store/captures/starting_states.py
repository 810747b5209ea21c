"""The states that a run's workspaces started from, each once: `starts/<hash>.jsonl.gz`, one line per file.

A capture holds only what its agent changed. To judge it again one needs the rest as well, and the scenario's own files
may have changed since, or may lie on another machine. A large state that an earlier run of the same folder has kept is
not written again: it becomes another name of the same file.
"""

from __future__ import annotations

import gzip
import json
import os
import threading
import zlib
from hashlib import sha256
from pathlib import Path

from demeanor.core.codec import decode, encode
from demeanor.core.errors import StoreError
from demeanor.core.starting_state import fit_to_keep, start_hash
from demeanor.core.tree import Entry, Tree
from demeanor.core.tree_io import tree_path_problem

FOLDER = "starts"
_SUFFIX = ".jsonl.gz"
_WORTH_A_LOOK = 2**20
"""From this size on it is cheaper to look for an earlier one than to write it."""
_REMEMBERED = 256


class StartingStates:
    """The starting states of one run."""

    def __init__(self, run: Path) -> None:
        self.folder = run / FOLDER
        self._known: dict[int, tuple[Tree, str]] = {}
        self._turn = threading.Lock()

    def keep(self, tree: Tree) -> str:
        """Keep a state, unless it is there or is too large; its hash, or nothing where it is not even to be named."""
        if tree.gaps:
            return ""
        with self._turn:
            known = self._known.get(id(tree))
            if known is not None:
                return known[1]
            name = start_hash(tree)
            if fit_to_keep(tree):
                self._write(name, tree)
            while len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[id(tree)] = (tree, name)
            return name

    def read(self, name: str) -> Tree | None:
        """A state again; None where it is not kept here."""
        packed = self.packed(name)
        return None if packed is None else unpack_start(packed, name, where=str(self._place(name)))

    def names(self) -> list[str]:
        """The hashes of all that are kept here."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in self.folder.glob(f"[!.]*{_SUFFIX}"))

    def packed(self, name: str) -> bytes | None:
        """A state as it lies here, compressed; None where it does not."""
        try:
            return self._place(name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self._place(name)}: can't be read: {error.strerror}") from None

    def _place(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"

    def _write(self, name: str, tree: Tree) -> None:
        place = self._place(name)
        if place.exists():
            return
        self.folder.mkdir(exist_ok=True)
        if sum(entry.size for entry in tree.entries.values()) >= _WORTH_A_LOOK and self._borrow(place):
            return
        half = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            with gzip.GzipFile(half, "wb", compresslevel=1, mtime=0) as out:
                for path, entry in sorted(tree.entries.items()):
                    out.write(json.dumps({"path": path, **encode(entry)}).encode() + b"\n")
            half.replace(place)
        finally:
            half.unlink(missing_ok=True)

    def _borrow(self, place: Path) -> bool:
        """Make `place` another name of what an earlier run keeps; False where none does."""
        for earlier in self.folder.parent.parent.glob(f"*/{FOLDER}/{place.name}"):
            try:
                place.hardlink_to(earlier)
            except OSError:  # a file system without such links, or a run that is being removed
                continue
            return True
        return False


def unpack_start(packed: bytes, name: str, *, where: str) -> Tree:
    """A starting state from its compressed lines, which must be the one that is meant."""
    entries: dict[str, Entry] = {}
    try:
        for line in gzip.decompress(packed).splitlines():
            data = json.loads(line)
            path = str(data.pop("path"))
            entries[path] = decode(Entry, data)
            _check(path, entries[path])
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise StoreError(f"{where}: the starting files can't be read: {error}") from None
    tree = Tree(entries=entries)
    if start_hash(tree) != name:
        raise StoreError(f"{where}: the starting files are damaged: they are not {name[:12]}…")
    return tree


def _check(path: str, entry: Entry) -> None:
    problem = tree_path_problem(path)
    if problem:
        raise ValueError(f"path {path!r} {problem}")
    content = entry.read()
    if content is not None and sha256(content).hexdigest() != entry.sha256:
        raise ValueError(f"{path!r} is not what it was")
