"""Texts that are compared with files: what users see and what tools read, frozen.

A difference is either a mistake or wanted. If it is wanted, `DEMEANOR_UPDATE_GOLDEN=1 pytest tests/golden` writes the
files anew, and the change of the files belongs to the commit.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

FILES = Path(__file__).with_name("files")
UPDATE = "DEMEANOR_UPDATE_GOLDEN"


def check_golden(name: str, text: str) -> None:
    """Fail with a diff if the file of that name below `files/` holds another text."""
    path = FILES / name
    if os.environ.get(UPDATE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return
    if not path.is_file():
        raise AssertionError(f"{name}: there is no golden file\n  → {UPDATE}=1 pytest tests/golden")
    wanted = path.read_text("utf-8")
    if wanted != text:
        lines = difflib.unified_diff(
            wanted.splitlines(), text.splitlines(), f"golden/{name}", f"now/{name}", lineterm=""
        )
        diff = "\n".join(lines) or "the texts differ in their line ends only"
        raise AssertionError(f"{diff}\n  → if this is wanted: {UPDATE}=1 pytest tests/golden")


def check_folder(folder: str, texts: Mapping[str, str]) -> None:
    """Check all texts of one folder below `files/`, and that the folder holds nothing else; tell all differences."""
    problems = []
    for name, text in texts.items():
        try:
            check_golden(f"{folder}/{name}", text)
        except AssertionError as error:
            problems.append(str(error))
    known = {FILES / folder / name for name in texts}
    for stale in sorted(path for path in (FILES / folder).rglob("*") if path.is_file() and path not in known):
        if os.environ.get(UPDATE):
            stale.unlink()
        else:
            problems.append(f"{stale.relative_to(FILES)}: nothing makes this file\n  → {UPDATE}=1 pytest tests/golden")
    if problems:
        raise AssertionError("\n\n".join(problems))
