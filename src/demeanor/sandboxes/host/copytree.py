"""Workspaces on disk: copied quickly from a template, and removed whatever an agent did to them."""

# pathlib costs more than the system calls that are made here in large numbers.
# ruff: noqa: PTH101, PTH102, PTH106, PTH108, PTH115, PTH123, PTH211

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.tree_io import Stamp, stamp
from demeanor.core.verdict import VoidCause

_IN_MEMORY = 64 * 1024
_ALL_IN_MEMORY = 2**20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEP = 100
_MANY = 500
SMALL = 200
"""So many files are dealt with at once; more of them in a thread, so that other trials go on meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One file of a master copy."""

    mode: int
    """Its permission bits."""

    mtime_ns: int
    """When it was changed."""

    content: bytes | None
    """What it holds; None for a large file, which is copied from disk."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TemplateCopy:
    """A folder made ready to be copied many times."""

    folder: str
    """Where it lies."""

    folders: Mapping[str, int]
    """Its folders by relative path, with their permission bits; outer ones first."""

    pieces: Mapping[str, Piece]
    """Its files by relative path."""

    links: Mapping[str, str]
    """Its links by relative path, and where they point."""

    @property
    def small(self) -> bool:
        """Whether it is copied in a moment."""
        return len(self.pieces) <= SMALL and all(piece.content is not None for piece in self.pieces.values())


def read_master(folder: Path) -> TemplateCopy:
    """Make `folder` ready to be copied. Small files are held in memory, up to a limit."""
    folders, pieces, links, room = {}, {}, {}, _ALL_IN_MEMORY
    for top, names, files in os.walk(folder):
        below = os.path.relpath(top, folder)
        prefix = "" if below == "." else f"{below}/"
        for name in (*names, *files):
            found = os.lstat(f"{top}/{name}")
            mode = stat.S_IMODE(found.st_mode)
            if stat.S_ISLNK(found.st_mode):
                links[prefix + name] = os.readlink(f"{top}/{name}")
            elif stat.S_ISDIR(found.st_mode):
                folders[prefix + name] = mode
            else:
                small = found.st_size <= min(_IN_MEMORY, room)
                content = Path(top, name).read_bytes() if small else None
                room -= len(content or b"")
                pieces[prefix + name] = Piece(mode=mode, mtime_ns=found.st_mtime_ns, content=content)
    return TemplateCopy(folder=str(folder), folders=folders, pieces=pieces, links=links)


def copy(master: TemplateCopy, into: str) -> dict[str, Stamp]:
    """Copy a folder to `into`, which is made; the stamps of the copied files."""
    os.mkdir(into)
    if len(master.pieces) > _MANY and _copy_by_program(master.folder, into):
        return {path: stamp(os.lstat(f"{into}/{path}")) for path in master.pieces}
    for path in master.folders:
        os.mkdir(f"{into}/{path}")
    stamps = {path: copy_piece(master, path, into) for path in master.pieces}
    for path, target in master.links.items():
        os.symlink(target, f"{into}/{path}")
    for path, mode in reversed(tuple(master.folders.items())):
        if stat.S_IMODE(os.lstat(f"{into}/{path}").st_mode) != mode:
            os.chmod(f"{into}/{path}", mode)
    return stamps


def _copy_by_program(folder: str, into: str) -> bool:
    """Copy with `cp`, which is faster for many files and shares blocks where the disk can."""
    sharing = ["--reflink=auto"] if sys.platform == "linux" else []
    command = ["cp", "-a", *sharing, f"{folder}/.", into]
    if shutil.which("cp") and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        return True
    remove(into)
    os.mkdir(into)
    return False


def copy_piece(master: TemplateCopy, path: str, into: str) -> Stamp:
    """Copy one file, which must not be there yet."""
    piece = master.pieces[path]
    handle = os.open(f"{into}/{path}", _NEW, piece.mode)
    try:
        if piece.content is None:
            _copy_large(f"{master.folder}/{path}", handle)
        elif piece.content:
            os.write(handle, piece.content)
        os.utime(handle, ns=(piece.mtime_ns, piece.mtime_ns))
        found = os.fstat(handle)
        if stat.S_IMODE(found.st_mode) != piece.mode:
            os.fchmod(handle, piece.mode)
            found = os.fstat(handle)
    finally:
        os.close(handle)
    return stamp(found)


def _copy_large(source: str, handle: int) -> None:
    with open(source, "rb") as original:
        if hasattr(os, "copy_file_range"):
            try:
                while os.copy_file_range(original.fileno(), handle, 2**30):
                    pass
            except OSError:
                original.seek(os.lseek(handle, 0, os.SEEK_CUR))
        with open(handle, "wb", closefd=False) as copied:
            shutil.copyfileobj(original, copied, 2**20)


def remove(folder: str, *, at_most: int | None = None) -> bool:
    """Remove a folder with everything in it, whatever its permissions.

    With `at_most` it does only what is done in a moment, and False says that more is left.
    """
    remover = _Remover(at_most)
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            os.unlink(folder)
            return True
        handle = _open_folder(folder)
        try:
            remover.empty(handle, 0)
        finally:
            os.close(handle)
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except _Enough:
        return False
    except OSError:
        if at_most is not None:
            return False
        _remove_by_program(folder)
    return True


def _remove_by_program(folder: str) -> None:
    """Remove what is too odd for us: folders nested a thousand deep."""
    subprocess.run(["chmod", "-R", "u+rwx", folder], capture_output=True, check=False)
    done = subprocess.run(["rm", "-rf", "--", folder], capture_output=True, check=False)
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "backslashreplace").strip()
        raise WorldError(VoidCause.SANDBOX, f"{folder} can't be removed: {why}")


def _open_folder(name: str, parent: int | None = None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        return os.open(name, _FOLDER, dir_fd=parent)


class _Enough(Exception):
    """As much was removed as was asked for."""


class _Remover:
    """One walk that removes what it meets."""

    def __init__(self, at_most: int | None) -> None:
        self._left = at_most

    def empty(self, folder: int, depth: int) -> None:
        """Remove everything in an open folder."""
        if depth > _DEEP:
            raise OSError("nested too deep")
        with os.scandir(folder) as items:
            for item in items:
                if item.is_dir(follow_symlinks=False):
                    inner = _open_folder(item.name, folder)
                    try:
                        self.empty(inner, depth + 1)
                    finally:
                        os.close(inner)
                    _forced(os.rmdir, item.name, folder)
                else:
                    _forced(os.unlink, item.name, folder)
                if self._left is not None:
                    self._left -= 1
                    if self._left < 0:
                        raise _Enough


def _forced(act: Callable[..., None], name: str, folder: int) -> None:
    try:
        act(name, dir_fd=folder)
    except PermissionError:
        os.fchmod(folder, 0o700)
        act(name, dir_fd=folder)
