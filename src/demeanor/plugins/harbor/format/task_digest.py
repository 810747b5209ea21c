"""The digest of a task's folder, which identifies the task.

The algorithm is Harbor's, so the digest equals the one in Harbor's locks and datasets.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.format.file_names import TASK

_FILES = (TASK, "instruction.md", "README.md", "trajectory.json")
_FOLDERS = ("environment", "tests", "solution", "steps")
_LITTER = (".pyc", ".swp", ".swo", "~")


def content_of(folder: Path, task: Mapping[str, Any]) -> tuple[str, str]:
    """Harbor's digest of a task, and one that ignores `[metadata]`."""
    whole, asked = hashlib.sha256(), hashlib.sha256()
    for path, file in sorted(_files(folder)):
        line = f"{path}\0{_hash(file)}\n".encode("utf-8", "surrogateescape")
        whole.update(line)
        if path != TASK:
            asked.update(line)
    settings = {key: value for key, value in task.items() if key != "metadata"}
    asked.update(json.dumps(settings, sort_keys=True, default=str).encode())
    return f"sha256:{whole.hexdigest()}", asked.hexdigest()


def reject_unsafe_links(folder: Path) -> None:
    """Reject links that leave the task or form a cycle, and special files."""
    home = folder.resolve()
    for name in (*_FILES, *_FOLDERS):
        _look(folder / name, home, ())


def _look(path: Path, home: Path, above: tuple[Path, ...]) -> None:
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        real = home.parent
    if path.is_symlink() and (not real.is_relative_to(home) or real in above):
        problem = f"the link leaves the task or forms a cycle: {str(path.readlink())!r}"
        raise BadInput(problem, where=path, remedy="copy its target into the task")
    if path.is_dir():
        for name in sorted(os.listdir(path)):  # noqa: PTH208 - only the names are wanted
            _look(path / name, home, (*above, real))
    elif path.exists() and not path.is_file():
        raise BadInput("is not a file, a folder or a link", where=path, remedy="remove it from the task")


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for name in _FILES:
        if (folder / name).is_file():
            yield name, folder / name
    for name in _FOLDERS:
        for parent, folders, files in os.walk(folder / name):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for file_name in files:
                file = Path(parent) / file_name
                if file.is_file() and not file_name.endswith(_LITTER) and file_name != ".DS_Store":
                    yield file.relative_to(folder).as_posix(), file


def _hash(file: Path) -> str:
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=file) from None
