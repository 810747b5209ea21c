"""What must be readable of the host for a program to start: itself, what it was installed with, and its interpreter."""

from __future__ import annotations

import shutil
from pathlib import Path

_LONGEST_LINE = 512
_SHARED = (".local", "opt", "usr", "local", "home")


def installation(word: str) -> tuple[str, ...]:
    """The files and folders that the program named `word` needs; nothing where it is not there.

    What was found once is not looked for again: each trial asks, and PATH is long.
    """
    if word not in _FOUND:
        found = shutil.which(word)
        if found is None:
            return ()
        _FOUND[word] = _needed(Path(found).absolute())
    return _FOUND[word]


_FOUND: dict[str, tuple[str, ...]] = {}


def _needed(program: Path) -> tuple[str, ...]:
    places = {str(program): None, _folder_of(program.resolve()): None}
    if interpreter := _interpreter(program):
        places |= dict.fromkeys((str(interpreter), _folder_of(interpreter), _folder_of(interpreter.resolve())))
    return tuple(places)


def _folder_of(program: Path) -> str:
    """The folder that a program was installed to as a whole; where that can't be told from other things, itself."""
    for parent in program.parents:
        if parent.name == "node_modules":
            return str(parent)
    folder = program.parent.parent
    shared = folder.name in _SHARED or Path.home().is_relative_to(folder)
    return str(program if program.parent.name != "bin" or shared else folder)


def _interpreter(program: Path) -> Path | None:
    """What the first line of a script says it is run by."""
    try:
        with program.open("rb") as file:
            line = file.readline(_LONGEST_LINE)
    except OSError:
        return None
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    found = shutil.which(words[0]) if words else None
    return Path(found).absolute() if found else None
