"""The starting states of a run's workspaces, each stored once: `starts/<hash>.jsonl.gz`, one line per file.

A capture contains only what the agent changed. Judging it again needs the other files as well, and those of the
scenario may have changed since, or may be on another machine. A large state that an earlier run in the same folder has
stored is hard-linked instead of written again.
"""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from hashlib import sha256
from pathlib import Path

from demeanor.core.text.codec import decode, encode
from demeanor.core.trees.atomic_file import atomic_file
from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.trees.tree_io import tree_path_problem
from demeanor.core.values.errors import StoreError
from demeanor.core.values.starting_state import fit_to_keep, start_hash

FOLDER = "starts"
_SUFFIX = ".jsonl.gz"
_LINK_THRESHOLD = 2**20
"""From this size in bytes, searching for an earlier copy is cheaper than writing a new one."""
_CACHE_SIZE = 256


class StartingStates:
    """The starting states of one run."""

    def __init__(self, run: Path) -> None:
        self.folder = run / FOLDER
        self._cache: dict[int, tuple[Tree, str]] = {}
        self._lock = threading.Lock()

    def keep(self, tree: Tree) -> str:
        """Store a state, unless it is stored already or too large; returns its hash.

        The hash is "" for a state with gaps: it may contain a secret, which could be guessed from a hash.
        """
        if tree.gaps:
            return ""
        with self._lock:
            cached = self._cache.get(id(tree))
            if cached is not None:
                return cached[1]
            name = start_hash(tree)
            if fit_to_keep(tree):
                self._write(name, tree)
            while len(self._cache) >= _CACHE_SIZE:
                del self._cache[next(iter(self._cache))]
            self._cache[id(tree)] = (tree, name)
            return name

    def read(self, name: str) -> Tree | None:
        """Read a state; None if it is not stored here."""
        packed = self.packed(name)
        return None if packed is None else unpack_start(packed, name, where=str(self._path(name)))

    def names(self) -> list[str]:
        """The hashes of all states that are stored here."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in self.folder.glob(f"[!.]*{_SUFFIX}"))

    def packed(self, name: str) -> bytes | None:
        """A compressed state; None if it is not stored here."""
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self._path(name)}: can't be read: {error.strerror}") from None

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"

    def _write(self, name: str, tree: Tree) -> None:
        path = self._path(name)
        if path.exists():
            return
        self.folder.mkdir(exist_ok=True)
        if sum(entry.size for entry in tree.entries.values()) >= _LINK_THRESHOLD and self._link(path):
            return
        with atomic_file(path) as temporary, gzip.GzipFile(temporary, "wb", compresslevel=1, mtime=0) as out:
            for file, entry in sorted(tree.entries.items()):
                out.write(json.dumps({"path": file, **encode(entry)}).encode() + b"\n")

    def _link(self, path: Path) -> bool:
        """Make `path` a hard link to the same state of an earlier run; False if no run has it."""
        for earlier in self.folder.parent.parent.glob(f"*/{FOLDER}/{path.name}"):
            try:
                path.hardlink_to(earlier)
            except OSError:  # a file system without hard links, or a run that is being removed
                continue
            return True
        return False


def unpack_start(packed: bytes, name: str, *, where: str) -> Tree:
    """Read a starting state from its compressed lines; raises StoreError if its hash is not `name`."""
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
        raise StoreError(f"{where}: the starting files are damaged: their hash is not {name[:12]}…")
    return tree


def _check(path: str, entry: Entry) -> None:
    problem = tree_path_problem(path)
    if problem:
        raise ValueError(f"path {path!r} {problem}")
    content = entry.read()
    if content is not None and sha256(content).hexdigest() != entry.sha256:
        raise ValueError(f"{path!r} does not match its hash")
