"""Paths in the repository of an eval, which a stranger may have written, don't lead out of it."""

from __future__ import annotations

import os
from pathlib import Path

from demeanor.config import FILE
from demeanor.core.values.errors import BadInput


def refuse_outside(path: Path, *, where: Path | str, key: str = "") -> None:
    """Raise BadInput if a link in any part of a path leads out of the repository that the path is in."""
    named = Path(os.path.abspath(path))  # noqa: PTH100 - links are what this is about
    if not Path(os.path.realpath(named)).is_relative_to(os.path.realpath(_repository(named))):
        problem = f"{str(path)!r} is a link out of the repository, or in a folder that is one"
        raise BadInput(problem, where=where, key=key or None, remedy="copy what it leads to into the repository")


def _repository(path: Path) -> Path:
    """The repository that a path is in, by its name; without one, the project, or the folder."""
    for marker in (".git", FILE):
        for folder in path.parents:
            if (folder / marker).exists():
                return folder
    return path.parent
