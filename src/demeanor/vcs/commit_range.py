"""The commits between two revisions along first parents, so that each has one predecessor and one successor.

A merge commit represents everything that it merged. If the good revision is not on this line (it is on a branch that
was merged, or on one that was not), the commit where the line leaves its history is used as the good end instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from demeanor.core.trees.git import GitError, git
from demeanor.core.values.errors import UsageError
from demeanor.vcs.checkout import resolve

_FORMAT = "%H%x00%P%x00%an%x00%aI%x00%s"


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """A commit of the project."""

    hash: str
    """The full hash."""

    subject: str
    """The first line of its message."""

    author: str
    """The author's name."""

    date: str
    """The author date, in ISO 8601."""

    merge: bool = False
    """Whether it has more than one parent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitLine:
    """The commits from a good one to a bad one."""

    commits: tuple[Commit, ...]
    """The good one first, the bad one last."""

    notes: tuple[str, ...] = ()
    """Notes for the reader."""


def commit_line(root: Path, good: str, bad: str) -> CommitLine:
    """Return the commits from `good` to `bad`."""
    first, last = resolve(root, good), resolve(root, bad)
    try:
        log = git(root, "log", "--first-parent", "--reverse", f"--format={_FORMAT}", f"{first}..{last}", "--")
        rows = [line.split("\0") for line in log.split("\n") if line]
        if not rows:
            raise UsageError(_nothing_between(root, good, bad, first, last))
        parents = rows[0][1].split()
        if not parents:
            raise UsageError(f"--good {good} --bad {bad}: they have no common history")
        rows.insert(0, git(root, "log", "-1", f"--format={_FORMAT}", parents[0], "--").rstrip("\n").split("\0"))
    except GitError as error:
        raise UsageError(f"--good {good} --bad {bad}: {error}") from None
    begins = rows[0][0]
    notes = (
        (
            f"{good} ({first[:12]}) is not on the first-parent line of {bad}; {begins[:12]}, where that line"
            f" leaves the history of {good}, is used as the good end",
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
        return f"--good {good} --bad {bad}: there is no commit between them"
    return f"--good {good} --bad {bad}: the bad one is older than the good one\n  → name the newer one with --bad"


def _commit(row: list[str]) -> Commit:
    hash_, parents, author, date, subject = row
    return Commit(hash=hash_, subject=subject, author=author, date=date, merge=len(parents.split()) > 1)
