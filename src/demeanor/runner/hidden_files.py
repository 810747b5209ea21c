"""Files of this machine that an agent did not find, because the sandbox hides them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from demeanor.core.values.process import ProcessEnd

_COMPLAINT = re.compile(
    r"no such file|not found|can(?:not|'t) (?:find|open|read|load|stat|access)|enoent|eacces|permission denied"
    r"|does(?: not|n't) exist|no module named",
    re.IGNORECASE,
)
_PATH = re.compile(r"/[^\s'\"`:;,()\[\]{}<>|*?\0]+")
_MOST_CHARACTERS = 20_000
_MOST_PATHS = 3


def hidden_files(end: ProcessEnd, own: Sequence[str], readable: Callable[[str], bool]) -> tuple[str, ...]:
    """The paths that a program's last output says are missing, although they exist on this machine.

    `own` are the beginnings of paths that are the program's own, and thus not those of this machine; `readable` tells
    whether it can read a path.
    """
    paths: dict[str, None] = {}
    for text in (end.stderr.text, end.stdout.text):
        for line in text[-_MOST_CHARACTERS:].splitlines():
            if _COMPLAINT.search(line):
                paths |= dict.fromkeys(
                    path.rstrip(".") for path in _PATH.findall(line) if not path.startswith(tuple(own))
                )
    return tuple(path for path in paths if _exists(path) and not readable(path))[:_MOST_PATHS]


def _exists(path: str) -> bool:
    try:
        return Path(path).is_file() or (Path(path).is_dir() and path.count("/") > 1)
    except OSError:
        return False
