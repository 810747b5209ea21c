"""The commits between two revisions, as a line: along first parents, so that each has one before it and one after it.

A merge stands for all that it brought in. Where the good revision does not lie on the line (it is on a branch that was
merged, or on one that never was), the commit of the line at which the search begins is tried in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from demeanor.core.errors import UsageError
from demeanor.core.git import GitError, git
from demeanor.vcs.checkout import resolve

_FORMAT = "%H%x00%P%x00%an%x00%aI%x00%s"


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """A commit of the project."""

    hash: str
    """The whole hash."""

    subject: str
    """The first line of its message."""

    author: str
    """Who wrote it."""

    date: str
    """When: ISO 8601."""

    merge: bool = False
    """Whether it has more than one parent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitLine:
    """Commits from a good end to a bad one."""

    commits: tuple[Commit, ...]
    """The good end first, the bad one last."""

    notes: tuple[str, ...] = ()
    """What a person should know of it."""


def commit_line(root: Path, good: str, bad: str) -> CommitLine:
    """The line from `good` to `bad`."""
    first, last = resolve(root, good), resolve(root, bad)
    try:
        told = git(root, "log", "--first-parent", "--reverse", f"--format={_FORMAT}", f"{first}..{last}", "--")
        rows = [line.split("\0") for line in told.split("\n") if line]
        if not rows:
            raise UsageError(_nothing_between(root, good, bad, first, last))
        parents = rows[0][1].split()
        if not parents:
            raise UsageError(f"--good {good} --bad {bad}: they have no history in common")
        rows.insert(0, git(root, "log", "-1", f"--format={_FORMAT}", parents[0], "--").rstrip("\n").split("\0"))
    except GitError as error:
        raise UsageError(f"--good {good} --bad {bad}: {error}") from None
    begins = rows[0][0]
    notes = (
        (
            f"{good} ({first[:12]}) does not lie on the first-parent line of {bad}; {begins[:12]}, at which that"
            f" leaves the history of {good}, is tried as the good end",
        )
        if begins != first
        else ()
    )
    return CommitLine(commits=tuple(_commit(row) for row in rows), notes=notes)


def _nothing_between(root: Path, good: str, bad: str, first: str, last: str) -> str:
    if first == last:
        return f"--good {good} --bad {bad}: both are {first[:12]}"
    try:
        git(root, "merge-base", "--is-ancestor", last, first)
    except GitError:
        return f"--good {good} --bad {bad}: no commit lies between them"
    return f"--good {good} --bad {bad}: the bad one is older than the good one\n  → --bad names the newer of the two"


def _commit(row: list[str]) -> Commit:
    hash_, parents, author, date, subject = row
    return Commit(hash=hash_, subject=subject, author=author, date=date, merge=len(parents.split()) > 1)
