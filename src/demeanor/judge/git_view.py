"""`rig.workspace.git`: what the agent did to the repository, read from its objects and files without git.

The agent may have changed the repository's configuration, index, hooks and attributes. git would start the programs
they name and believe them; see git_objects.py and git_status.py for what is read instead.
"""

from __future__ import annotations

from functools import cached_property

from demeanor.core.trees.tree import Tree
from demeanor.judge.git_objects import ObjectDatabase
from demeanor.judge.git_status import status
from demeanor.judge.unknowable import Unknowable, insufficient

_HEAD = ".git/HEAD"
_OTHER_FORMATS = ("sha256", "reftable")


class GitView:
    """The repository's state at the end."""

    def __init__(self, before: Tree, after: Tree) -> None:
        self._before = before
        self._after = after

    @property
    def branch(self) -> str:
        """The current branch; empty if HEAD is detached."""
        return self._database.head()[0]

    @property
    def commits(self) -> tuple[str, ...]:
        """The subjects of the commits made since the start that HEAD reaches, oldest first."""
        _, head = self._database.head()
        return tuple(self._new_commits(head)) if head else ()

    @property
    def status(self) -> tuple[str, ...]:
        """The uncommitted changes, as in `git status --porcelain`: ` M app.py`, `?? notes.txt`."""
        if self._before.gaps or self._after.gaps:
            raise insufficient("what is committed", self._after.gaps, self._before.gaps)
        _, start = self._initial.head()
        _, head = self._database.head()
        return tuple(status(self._before, self._after, self._database, start=start, head=head))

    @property
    def is_clean(self) -> bool:
        """Whether everything is committed."""
        return not self.status

    def __repr__(self) -> str:
        return f"<git: branch {self.branch!r}, {len(self.commits)} new commits, {len(self.status)} paths not committed>"

    def _new_commits(self, head: str) -> list[str]:
        """The subjects of the commits that did not exist at the start, parents before children."""
        subjects: list[str] = []
        seen: set[str] = set()
        pending: list[tuple[str, str | None]] = [(head, None)]
        while pending:
            name, subject = pending.pop()
            if subject is not None:
                subjects.append(subject)
            elif name not in seen and not self._initial.has(name):
                seen.add(name)
                commit = self._database.commit(name)
                pending.append((name, commit.subject))
                pending.extend((parent, None) for parent in reversed(commit.parents))
        return subjects

    @cached_property
    def _initial(self) -> ObjectDatabase:
        if _HEAD not in self._before.entries:
            raise Unknowable("the workspace was not a git repository at the start")
        config = self._before.entries.get(".git/config")
        text = (config.read() or b"").decode("utf-8", "backslashreplace").lower() if config else ""
        for name in _OTHER_FORMATS:
            if name in text:
                raise Unknowable(f"the repository uses {name}, which `rig.workspace.git` does not support")
        return ObjectDatabase(self._before)

    @cached_property
    def _database(self) -> ObjectDatabase:
        return ObjectDatabase(self._after, initial=self._initial)
