"""Diffs of an agent's files: right, and in bounded time whatever the agent wrote."""

from __future__ import annotations

import difflib
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from demeanor.core.text.line_diff import DiffWork, diff_lines


def edited(lines: Sequence[str], chance: random.Random) -> list[str]:
    """The lines after some edits."""
    found = list(lines)
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(found) + 1)
        found[at : at + chance.randrange(3)] = [f"new {chance.randrange(3)}\n"] * chance.randrange(3)
    return found


@pytest.mark.parametrize("steps", [0, 40, 10**6])
def test_a_diff_is_a_patch_however_much_work_may_be_done(tmp_path: Path, steps: int) -> None:
    """`git apply` makes the new file of the old one, also if the work was used up before or within the file."""
    chance = random.Random(steps)
    for number in range(30):
        old = [f"line {chance.randrange(6)}\n" for _ in range(chance.randrange(30))]
        new = edited(old, chance)
        patch = "".join(diff_lines(old, new, DiffWork(steps)))
        assert bool(patch) == (old != new)
        if not patch or not old or not new:
            continue
        (tmp_path / "file").write_text("".join(old))
        given = f"--- a/file\n+++ b/file\n{patch}"
        subprocess.run(["git", "apply"], cwd=tmp_path, input=given, text=True, check=True, capture_output=True)
        assert (tmp_path / "file").read_text() == "".join(new), number


def test_a_usual_edit_looks_like_difflibs() -> None:
    """Enough work may be done for what people and agents edit."""
    old = [f"line {number}\n" for number in range(5_000)]
    new = [line if number % 500 else "changed\n" for number, line in enumerate(old)]
    assert list(diff_lines(old, new, DiffWork())) == list(difflib.unified_diff(old, new))[2:]


@pytest.mark.parametrize("kind", ["a line after each", "few different lines"])
def test_the_work_is_bounded(kind: str) -> None:
    """Matches are looked for a bounded number of times: difflib would take the square of the number of lines."""
    old = [f"line {number}\n" for number in range(6_000)]
    if kind == "few different lines":
        old = [f"line {number % 130}\n" for number in range(6_000)]
        new = [f"line {number * 7 % 131}\n" for number in range(6_000)]
    else:
        new = [line for number, one in enumerate(old) for line in (one, f"more {number}\n")]
    work = DiffWork(20_000)
    found = list(diff_lines(old, new, work))
    assert sum(line.startswith("+") for line in found) - sum(line.startswith("-") for line in found) == len(new) - len(
        old
    )
    assert work.steps > -6_000 * 50  # the search that used up the work was the last one
