"""The lines of the working tree that differ from a commit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from demeanor.core.trees.git import GitError, git
from demeanor.core.values.errors import UsageError
from demeanor.vcs.checkout import resolve

_PLAIN = (
    "--relative",
    "--unified=0",
    "--no-color",
    "--no-ext-diff",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
_HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def changed_lines(root: Path, revision: str) -> Mapping[str, frozenset[int]]:
    """File, relative to `root` → the numbers of its lines that are new or edited since a revision.

    Where lines were only deleted, the lines before and after count. All lines of an untracked file are new.
    """
    commit = resolve(root, revision)
    try:
        text = git(root, "-c", "core.quotePath=false", "diff", *_PLAIN, commit, "--", ".")
        unknown = git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    except GitError as error:
        raise UsageError(f"{revision}: the changes since then can't be read: {error}") from None
    diff = parse_diff(text)
    for path in filter(None, unknown):
        lines = (root / path).read_bytes().count(b"\n") + 1
        diff[path] = frozenset(range(1, lines + 1))
    return diff


def parse_diff(text: str) -> dict[str, frozenset[int]]:
    """The changed lines of each file in a diff without context."""
    lines_by_path: dict[str, set[int]] = {}
    path = ""
    for line in text.splitlines():
        if line.startswith("+++ "):
            path = line[4:].removeprefix("b/").rstrip("\t") if line != "+++ /dev/null" else ""
        elif path and (hunk := _HUNK.match(line)):
            first, number = int(hunk[1]), int(hunk[2] or 1)
            lines = range(first, first + number) if number else range(first, first + 2)
            lines_by_path.setdefault(path, set()).update(lines)
    return {path: frozenset(lines) for path, lines in lines_by_path.items()}
