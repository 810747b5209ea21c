"""Writes configuration files to HOME, where an agent may have left links and other things in their place.

A user's later message can add files after the agent's first program has ended. No process of the agent runs then, so
what is found does not change while it is looked at. Whatever is in the way is renamed and never followed or opened: a
link could lead out of the sandbox, and opening a pipe would wait forever.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH102, PTH104, PTH112, PTH114

from __future__ import annotations

import os
from collections.abc import Mapping

from demeanor.sandboxes.supervisor.process_tree import write_file

_REPLACED = ".replaced"


def write_home_files(files: Mapping[str, bytes], home: str) -> None:
    """Write files, whose paths are relative to HOME."""
    for path, content in files.items():
        *folders, name = path.split("/")
        folder = home
        for part in folders:
            folder = f"{folder}/{part}"
            if os.path.islink(folder) or not os.path.isdir(folder):
                _move_away(folder)
                os.mkdir(folder)
        target = f"{folder}/{name}"
        _move_away(target)
        write_file(target, content, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)


def _move_away(path: str) -> None:
    """Rename what is at a path, if there is anything."""
    if os.path.lexists(path):
        number = 1
        while os.path.lexists(f"{path}{_REPLACED}{number}"):
            number += 1
        os.rename(path, f"{path}{_REPLACED}{number}")
