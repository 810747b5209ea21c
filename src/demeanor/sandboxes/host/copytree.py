"""Copies workspaces quickly from a template, and removes them whatever an agent did to them."""

# pathlib is slower than the system calls, of which there are many here.
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

from demeanor.core.trees.tree_io import Stamp, stamp
from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause

_SMALL_FILE = 64 * 1024
_TOTAL_IN_MEMORY = 2**20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_DEPTH = 100
_USE_CP = 500
SMALL = 200
"""Up to this many files are handled in the event loop; more of them in a thread, so that other trials go on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TemplateFile:
    """One file of a template."""

    mode: int
    """Its permission bits."""

    mtime_ns: int
    """Its modification time."""

    content: bytes | None
    """Its content; None for a large file, which is copied from disk."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TemplateCopy:
    """A folder that was read in order to be copied many times."""

    folder: str
    """Its path."""

    folders: Mapping[str, int]
    """Its folders by relative path, with their permission bits; outer ones first."""

    files: Mapping[str, TemplateFile]
    """Its files by relative path."""

    links: Mapping[str, str]
    """Its links by relative path, with their targets."""

    @property
    def small(self) -> bool:
        """Whether copying takes only a moment."""
        return len(self.files) <= SMALL and all(file.content is not None for file in self.files.values())


def read_template(folder: Path) -> TemplateCopy:
    """Read a folder in order to copy it. Small files are held in memory, up to a limit."""
    folders, files, links, budget = {}, {}, {}, _TOTAL_IN_MEMORY
    for top, folder_names, file_names in os.walk(folder):
        below = os.path.relpath(top, folder)
        prefix = "" if below == "." else f"{below}/"
        for name in (*folder_names, *file_names):
            status = os.lstat(f"{top}/{name}")
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                links[prefix + name] = os.readlink(f"{top}/{name}")
            elif stat.S_ISDIR(status.st_mode):
                folders[prefix + name] = mode
            else:
                small = status.st_size <= min(_SMALL_FILE, budget)
                content = Path(top, name).read_bytes() if small else None
                budget -= len(content or b"")
                files[prefix + name] = TemplateFile(mode=mode, mtime_ns=status.st_mtime_ns, content=content)
    return TemplateCopy(folder=str(folder), folders=folders, files=files, links=links)


def copy(template: TemplateCopy, into: str) -> dict[str, Stamp]:
    """Copy a template to a new folder `into`; returns the stamps of the copied files."""
    os.mkdir(into)
    if len(template.files) > _USE_CP and _copy_with_cp(template.folder, into):
        return {path: stamp(os.lstat(f"{into}/{path}")) for path in template.files}
    for path in template.folders:
        os.mkdir(f"{into}/{path}")
    stamps = {path: copy_file(template, path, into) for path in template.files}
    for path, target in template.links.items():
        os.symlink(target, f"{into}/{path}")
    for path, mode in reversed(tuple(template.folders.items())):
        if stat.S_IMODE(os.lstat(f"{into}/{path}").st_mode) != mode:
            os.chmod(f"{into}/{path}", mode)
    return stamps


def _copy_with_cp(folder: str, into: str) -> bool:
    """Copy with `cp`, which is faster for many files and shares blocks where the file system can."""
    sharing = ["--reflink=auto"] if sys.platform == "linux" else []
    command = ["cp", "-a", *sharing, f"{folder}/.", into]
    if shutil.which("cp") and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        return True
    remove(into)
    os.mkdir(into)
    return False


def copy_file(template: TemplateCopy, path: str, into: str) -> Stamp:
    """Copy one file, which must not exist yet."""
    file = template.files[path]
    handle = os.open(f"{into}/{path}", _NEW, file.mode)
    try:
        if file.content is None:
            _copy_large(f"{template.folder}/{path}", handle)
        elif file.content:
            os.write(handle, file.content)
        os.utime(handle, ns=(file.mtime_ns, file.mtime_ns))
        status = os.fstat(handle)
        if stat.S_IMODE(status.st_mode) != file.mode:
            os.fchmod(handle, file.mode)
            status = os.fstat(handle)
    finally:
        os.close(handle)
    return stamp(status)


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


def remove(folder: str, *, limit: int | None = None) -> bool:
    """Remove a folder with everything in it, whatever its permissions.

    With `limit`, remove at most about that many files; False when more is left.
    """
    remover = _Remover(limit)
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
    except _LimitReached:
        return False
    except OSError:
        if limit is not None:
            return False
        _remove_with_rm(folder)
    return True


def _remove_with_rm(folder: str) -> None:
    """Remove what the recursive function can't, such as folders nested a thousand deep."""
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


class _LimitReached(Exception):
    """The limit was reached."""


class _Remover:
    """Removes files recursively, up to a limit."""

    def __init__(self, limit: int | None) -> None:
        self._left = limit

    def empty(self, folder: int, depth: int) -> None:
        """Remove everything in an open folder."""
        if depth > _MAX_DEPTH:
            raise OSError("nested too deep")
        with os.scandir(folder) as items:
            for item in items:
                if item.is_dir(follow_symlinks=False):
                    inner = _open_folder(item.name, folder)
                    try:
                        self.empty(inner, depth + 1)
                    finally:
                        os.close(inner)
                    _with_permission(os.rmdir, item.name, folder)
                else:
                    _with_permission(os.unlink, item.name, folder)
                if self._left is not None:
                    self._left -= 1
                    if self._left < 0:
                        raise _LimitReached


def _with_permission(act: Callable[..., None], name: str, folder: int) -> None:
    try:
        act(name, dir_fd=folder)
    except PermissionError:
        os.fchmod(folder, 0o700)
        act(name, dir_fd=folder)
