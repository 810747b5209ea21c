"""`rig.workspace.git`: what the agent did to the repository.

git runs in a temporary copy. The agent may have changed the repository's configuration, hooks and attributes, and git
would start the programs they name. So the copy gets the initial configuration instead.
"""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.ports import RunCommand
from demeanor.core.text import excerpt
from demeanor.core.tree import Tree
from demeanor.judge.command_input import run_on
from demeanor.judge.unknowable import Unknowable

_GIT = ("git", "--no-pager", "--no-optional-locks")
_HEAD = ".git/HEAD"
_CONFIG = ".git/config"
_STARTS_PROGRAMS = (_CONFIG, ".git/config.worktree", ".git/hooks/", ".git/info/attributes", ".git/modules/")
_TIMEOUT = 30.0


class GitView:
    """The repository's state at the end."""

    def __init__(self, before: Tree, after: Tree, run_command: RunCommand) -> None:
        self._before = before
        self._after = after
        self._run_command = run_command

    @property
    def branch(self) -> str:
        """The current branch; empty if HEAD is detached."""
        return self._git(self._after, "branch", "--show-current").strip()

    @property
    def commits(self) -> tuple[str, ...]:
        """The subjects of the commits made since the start, oldest first."""
        start = self._git(self._before, "rev-parse", "HEAD").strip()
        return tuple(self._git(self._after, "log", "--reverse", "--format=%s", f"{start}..HEAD").splitlines())

    @property
    def status(self) -> tuple[str, ...]:
        """The uncommitted changes, as in `git status --porcelain`: ` M app.py`, `?? notes.txt`."""
        return tuple(self._git(self._after, "status", "--porcelain", "--no-renames").splitlines())

    @property
    def is_clean(self) -> bool:
        """Whether everything is committed."""
        return not self.status

    def __repr__(self) -> str:
        return f"<git: branch {self.branch!r}, {len(self.commits)} new commits, {len(self.status)} paths not committed>"

    def _git(self, tree: Tree, *arguments: str) -> str:
        if _HEAD not in self._before.entries:
            raise Unknowable("the workspace was not a git repository at the start")
        if _HEAD not in tree.entries:
            raise AssertionError("the workspace is no longer a git repository: .git/HEAD is missing")
        end = run_on(self._run_command, self._with_initial_config(tree), (*_GIT, *arguments), timeout=_TIMEOUT)
        if end.timed_out or end.exit_code != 0:
            why = "took too long" if end.timed_out else excerpt(end.stderr, lines=3)
            raise AssertionError(f"git {' '.join(arguments)}: {why}")
        return end.stdout

    def _with_initial_config(self, tree: Tree) -> Tree:
        """The same tree with the repository's initial configuration."""
        kept = {path: entry for path, entry in tree.entries.items() if not path.startswith(_STARTS_PROGRAMS)}
        if _CONFIG in self._before.entries:
            kept[_CONFIG] = self._before.entries[_CONFIG]
        return replace(tree, entries=kept)
