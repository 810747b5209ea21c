"""Check the starting files of a scenario before anything runs, so that creating them can't fail later."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.config import path_problem
from demeanor.core.values.errors import BadInput
from demeanor.define.repository import refuse_outside


def checked_files(files: Mapping[Any, Any], *, where: Path | str, key: str = "files") -> dict[str, bytes]:
    """`files` by normalised path, as bytes; rejects paths that leave the workspace or conflict with each other."""
    contents: dict[str, bytes] = {}
    for path, content in files.items():
        if not isinstance(path, str):
            raise BadInput(f"a path must be a string, found {path!r}", where=where, key=key)
        problem = path_problem(path)
        if problem:
            raise BadInput(problem, where=where, key=key, remedy="write a path relative to the workspace")
        if not isinstance(content, str | bytes):
            problem = f"the content must be a string or bytes, found {type(content).__name__}"
            raise BadInput(problem, where=where, key=f"{key}[{path!r}]")
        normal = Path(path).as_posix()
        if normal in contents:
            raise BadInput(f"the file {normal!r} is given twice", where=where, key=key)
        contents[normal] = content.encode() if isinstance(content, str) else content
    for path in contents:
        for parent in Path(path).parents:
            if parent.as_posix() in contents:
                raise BadInput(f"{parent.as_posix()!r} is both a file and the folder of {path!r}", where=where, key=key)
    return contents


def checked_template(folder: Path, *, where: Path | str, key: str = "files") -> Path:
    """`folder` as an absolute path; rejects special files and links that leave it."""
    if not folder.is_dir():
        problem = f"there is no folder {str(folder)!r}" if not folder.exists() else f"{str(folder)!r} is not a folder"
        raise BadInput(problem, where=where, key=key, remedy="give a folder relative to the eval's own file")
    refuse_outside(folder, where=where, key=key)
    home = folder.resolve()
    for parent, folders, names in os.walk(home):
        for name in (*folders, *names):
            _check_entry(Path(parent) / name, home, key)
    return home


def _check_entry(path: Path, home: Path, key: str) -> None:
    if path.is_symlink():
        target = path.readlink()
        if target.is_absolute() or not path.resolve().is_relative_to(home):
            problem = f"the link points outside the template, to {str(target)!r}"
            raise BadInput(problem, where=path, key=key, remedy="copy the file into the template")
    elif not path.is_dir() and not path.is_file():
        raise BadInput("is not a file, a folder or a link", where=path, key=key)
