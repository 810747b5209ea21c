"""Writes several files, all or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from demeanor.core.trees.atomic_file import is_stream
from demeanor.core.values.errors import BadInput


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write files and the folders above them. On an error everything is undone, and BadInput names the file.

    A link is followed; a device or pipe, such as /dev/stdout, is written to, which can't be undone.
    """
    with ExitStack() as undo:
        staged: dict[Path, Path] = {}
        for path, text in contents.items():
            try:
                if not is_stream(path):
                    staged[path] = _stage(path.resolve(), text, undo)
            except OSError as error:
                raise unwritable(path, error) from None
        for path, text in contents.items():
            try:
                if path in staged:
                    _replace(path.resolve(), staged[path], undo)
                else:
                    path.write_bytes(_encoded(text))
            except OSError as error:
                raise unwritable(path, error) from None
        undo.pop_all()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` to fill; it becomes `path` if the block succeeds and is removed if not.

    `path` must not exist. BadInput names it if it can't be made.
    """
    with ExitStack() as undo:
        try:
            _make_folders(path.parent, undo)
            temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        except OSError as error:
            raise unwritable(path, error) from None
        undo.callback(shutil.rmtree, temporary, ignore_errors=True)
        yield temporary
        temporary.chmod(0o755)
        try:
            temporary.rename(path)
        except OSError as error:
            raise unwritable(path, error) from None
        undo.pop_all()


def _stage(path: Path, text: str | bytes, undo: ExitStack) -> Path:
    """Write the text to a temporary file beside `path`."""
    _make_folders(path.parent, undo)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    undo.callback(_discard, temporary)
    temporary.write_bytes(_encoded(text))
    return temporary


def _encoded(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8")


def _make_folders(folder: Path, undo: ExitStack) -> None:
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
        undo.callback(_remove_folder, parent)


def _discard(temporary: Path) -> None:
    with suppress(OSError):  # it may not exist: whatever stopped the writing is reported already
        temporary.unlink()


def _replace(path: Path, temporary: Path, undo: ExitStack) -> None:
    old = path.read_bytes() if path.exists() else None
    temporary.replace(path)
    undo.callback(_restore, path, old)


def _restore(path: Path, old: bytes | None) -> None:
    if old is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(old)


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):  # someone else has put a file into it meanwhile
        folder.rmdir()


def unwritable(path: Path, error: OSError) -> BadInput:
    """The error to raise if a file or folder that a user has named can't be written."""
    reason = error.strerror or str(error)
    return BadInput(
        f"can't be written: {reason}",
        where=path,
        remedy="nothing was written; make the folder writable, or choose another one",
    )
