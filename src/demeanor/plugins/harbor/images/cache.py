"""The cache of images: downloaded layers, unpacked root file systems, and which image has which.

    blobs/HASH            a layer or the settings of an image, as downloaded
    roots/KEY/rootfs/     a root file system: the layers of an image, or these and the first steps of a Dockerfile
    roots/KEY/root.json   its size, and what it was made from
    images/HASH.json      an image by its name: its digest, its settings and the key of its root
    builds/KEY            exists while a process builds a root, and is locked by it

What is written appears under its final name when it is complete. Roots share files by hard links and are never changed.
A root that is in use is locked, so that it is not removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from demeanor.core.trees.atomic_file import atomic_file, write_atomically
from demeanor.core.trees.cache_dir import cache_folder
from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.images.layer import remove_tree
from demeanor.plugins.harbor.images.locks import in_use, new_file, temporary_folder, unused
from demeanor.plugins.harbor.images.manifest import Blob, ImageSettings

DEFAULT_LIMIT = 20 * 2**30
"""How large the cache may become, in bytes."""

_TEMPORARY = "new-"


@dataclass(frozen=True, kw_only=True, slots=True)
class CachedImage:
    """An image in the cache."""

    name: str
    """Its name."""

    digest: str
    """The digest of its manifest; of its content, if it was imported without one."""

    key: str
    """The key of its root."""

    settings: ImageSettings
    """The settings of programs that run in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CachedRoot:
    """A root file system in the cache."""

    key: str
    """Its key."""

    origin: str
    """What it was made from."""

    size: int
    """What it takes on the disk besides the files that it shares with an older root, in bytes."""

    used: float
    """When it was last used, in seconds since 1970."""

    parent: str | None
    """The key of the root whose files it shares."""


class ImageCache:
    """The cache in a folder."""

    def __init__(self, folder: Path, *, limit: int = DEFAULT_LIMIT) -> None:
        self.folder, self._limit = folder, limit

    @classmethod
    def of_user(cls, environ: Mapping[str, str]) -> ImageCache:
        """The cache of the user."""
        return cls(cache_folder(environ, "images"))

    def _make(self, *names: str) -> Path:
        folder = self.folder
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # set-uid programs of images must not be reachable
            for name in names:
                folder /= name
                folder.mkdir(exist_ok=True)
        return folder

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise UsageError in place of OSError."""
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"the cache of images in {self.folder} can't be written: {error.strerror or error}\n"
                "  → free some space (demeanor harbor images prune), or use another folder: DEMEANOR_CACHE=FOLDER"
            ) from None

    def blob(self, blob: Blob) -> Path | None:
        """A downloaded blob; None if there is none, or if its content is not what its digest says."""
        path = self.folder / "blobs" / blob.digest.removeprefix("sha256:")
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None
        return path if f"sha256:{digest}" == blob.digest else None

    def add_blob(self, blob: Blob, pieces: Iterable[bytes], *, where: str) -> Path:
        """Store a blob; raises UsageError if its content is not what its digest says."""
        path = self._make("blobs") / blob.digest.removeprefix("sha256:")
        content, size = hashlib.sha256(), 0
        with self._writing(), atomic_file(path) as temporary:
            with new_file(temporary), temporary.open("wb") as file:
                for piece in pieces:
                    size += len(piece)
                    if size > blob.size:
                        break
                    content.update(piece)
                    file.write(piece)
            if size != blob.size or f"sha256:{content.hexdigest()}" != blob.digest:
                raise UsageError(
                    f"{where}: the content of {blob.digest} does not match its digest, so it was discarded\n"
                    "  → try again; if it happens again, the registry or a proxy sends wrong content"
                )
        return path

    def scratch(self) -> AbstractContextManager[Path]:
        """A new folder, which is removed at the end; by the next process, if this one is killed."""
        return temporary_folder(self._make("roots"), _TEMPORARY)

    def root(self, key: str) -> Path | None:
        """A root file system."""
        folder = self.folder / "roots" / key
        if not (folder / "root.json").is_file():
            return None
        with contextlib.suppress(OSError):
            os.utime(folder / "root.json")
        return folder / "rootfs"

    def add_root(self, key: str, *, parent: str | None, origin: str, fill: Callable[[Path], None]) -> Path:
        """Create a root file system: the files of its parent, and what `fill` does to them."""
        roots = self._make("roots")
        with self._writing(), temporary_folder(roots, _TEMPORARY) as folder:
            root = folder / "rootfs"
            if parent is None:
                root.mkdir(mode=0o755)
            else:
                with self.in_use(parent) as base:
                    _link_tree(base, root)
            fill(root)
            facts = {"origin": origin, "size": _own_size(root), "parent": parent}
            write_atomically(folder / "root.json", json.dumps(facts))
            with contextlib.suppress(OSError):  # another process was faster; its root is the same
                folder.rename(roots / key)
        self.prune(self._limit, keep={key})
        return roots / key / "rootfs"

    @contextmanager
    def in_use(self, key: str) -> Iterator[Path]:
        """A root that is not removed while it is in use."""
        folder = self.folder / "roots" / key
        with ExitStack() as stack:
            with contextlib.suppress(FileNotFoundError):
                stack.enter_context(in_use(folder))
            if not (folder / "root.json").is_file():
                raise UsageError(f"the root file system {key[:12]} was removed from {self.folder}")
            yield folder / "rootfs"

    @contextmanager
    def building(self, key: str) -> Iterator[bool]:
        """Whether no other process builds a root; none can begin to in the block."""
        file = self._make("builds") / key
        file.touch()
        with unused(file) as free:
            try:
                yield free
            finally:
                if free:
                    file.unlink(missing_ok=True)

    def add_image(self, image: CachedImage) -> None:
        """Store which root and settings an image has."""
        with self._writing():
            write_atomically(self._image_file(image.name, self._make("images")), json.dumps(asdict(image), indent=1))

    def image(self, name: str) -> CachedImage | None:
        """An image by its name, if its root is there."""
        data = _read_json(self._image_file(name, self.folder / "images"))
        image = _image(data) if data else None
        return image if image and self.root(image.key) else None

    def images(self) -> list[CachedImage]:
        """All images, by name."""
        documents = (_read_json(file) for file in (self.folder / "images").glob("*.json"))
        return sorted((_image(item) for item in documents if item), key=lambda image: image.name)

    def roots(self) -> list[CachedRoot]:
        """All roots, the one that was not used for the longest time first."""
        roots = []
        for file in (self.folder / "roots").glob("*/root.json"):
            facts = _read_json(file)
            info = _info(file)
            if facts and info and not file.parent.name.startswith(_TEMPORARY):
                key, parent = file.parent.name, facts.get("parent")
                roots.append(
                    CachedRoot(key=key, origin=facts["origin"], size=facts["size"], used=info.st_mtime, parent=parent)
                )
        return sorted(roots, key=lambda root: root.used)

    def size(self) -> int:
        """The size of the cache, in bytes."""
        return sum(info.st_size for _, info in self._blobs()) + sum(root.size for root in self.roots())

    def _blobs(self) -> list[tuple[Path, os.stat_result]]:
        """The downloaded blobs, the oldest first. Another process may remove some meanwhile."""
        blobs = [(file, info) for file in (self.folder / "blobs").glob("*") if (info := _info(file))]
        return sorted(blobs, key=lambda item: item[1].st_mtime)

    def prune(self, limit: int, *, keep: set[str] | None = None) -> int:
        """Remove what was not used for the longest time until the cache is not larger than `limit` bytes, and what
        interrupted processes have left; returns how many bytes were removed.
        """
        before = self.size()
        self._remove_interrupted()
        size = self.size()
        for file, info in self._blobs():  # they can be downloaded again, and are not needed once they are unpacked
            if size > limit and not file.name.startswith("."):
                size -= info.st_size
                file.unlink(missing_ok=True)
        size -= self._remove_roots(size - limit, keep or set())
        for image in self.images():
            if not self.root(image.key):
                self._image_file(image.name, self.folder / "images").unlink(missing_ok=True)
        return before - size

    def _remove_roots(self, enough: int, keep: set[str]) -> int:
        """Remove roots of at least `enough` bytes, as far as possible; returns how many bytes were removed. A root that
        shares its files with another one in the cache goes after that: the disk would have them all the same.
        """
        removed, kept = 0, self.roots()
        while removed < enough:
            needed = {root.parent for root in kept} | keep
            root = next(
                (candidate for candidate in kept if candidate.key not in needed and self._remove_root(candidate.key)),
                None,
            )
            if root is None:
                break
            kept.remove(root)
            removed += root.size
        return removed

    def _remove_root(self, key: str) -> bool:
        """Remove a root, unless it is in use."""
        folder = self.folder / "roots" / key
        with unused(folder) as free:
            if free:
                (folder / "root.json").unlink(missing_ok=True)
                remove_tree(folder)
        return free

    def _remove_interrupted(self) -> None:
        for name, pattern in {"roots": f"{_TEMPORARY}*", "blobs": ".*", "builds": "*"}.items():
            with unused(self.folder / name) as quiet:  # no process is about to lock what it has just created
                for path in (self.folder / name).glob(pattern) if quiet else ():
                    with unused(path) as free:
                        if free and path.is_dir():
                            remove_tree(path)
                        elif free:
                            path.unlink(missing_ok=True)

    @staticmethod
    def _image_file(name: str, folder: Path) -> Path:
        return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"


def step_key(parent: str, step: str) -> str:
    """The key of a root: that of its parent, and what was done to it."""
    return hashlib.sha256(f"{parent}\n{step}".encode("utf-8", "surrogateescape")).hexdigest()


def _link_tree(source: Path, target: Path) -> None:
    """Copy a folder with hard links instead of files."""
    done = subprocess.run(
        ["cp", "-al", "--", str(source), str(target)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 0:
        raise UsageError(f"{source} can't be copied: {done.stderr.decode('utf-8', 'replace').strip()}")


def _own_size(root: Path) -> int:
    """The size on the disk of what is in this root only: its folders, and the files all of whose names are in it."""
    seen: dict[int, int] = {}
    size, folders = _allocated(root.lstat()), [str(root)]
    while folders:
        with os.scandir(folders.pop()) as items:
            for item in items:
                status = item.stat(follow_symlinks=False)
                if item.is_dir(follow_symlinks=False):
                    folders.append(item.path)
                    size += _allocated(status)
                else:
                    seen[status.st_ino] = names = seen.get(status.st_ino, 0) + 1
                    size += _allocated(status) if names == status.st_nlink else 0
    return size


def _allocated(info: os.stat_result) -> int:
    """The size of a file or folder on the disk; not less than its content, which may not be written yet."""
    return max(info.st_size, info.st_blocks * 512)


def _info(file: Path) -> os.stat_result | None:
    """The size and times of a file; None if another process has removed it."""
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _read_json(file: Path) -> dict[str, Any] | None:
    with contextlib.suppress(OSError, ValueError):
        data = json.loads(file.read_bytes())
        return data if isinstance(data, dict) else None
    return None


def _image(record: Mapping[str, Any]) -> CachedImage:
    own = record["settings"]
    settings = ImageSettings(
        env=own["env"],
        workdir=own["workdir"],
        user=own["user"],
        entrypoint=tuple(own["entrypoint"]),
    )
    return CachedImage(name=record["name"], digest=record["digest"], key=record["key"], settings=settings)
