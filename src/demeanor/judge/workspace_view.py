"""`rig.workspace`: the folder as the agent left it and as it was at the start, read-only.

Access to a missing file fails the check with a list of the existing files; it is not a crash.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterator
from typing import Any, TypeAlias

from demeanor.core.text.globs import matches
from demeanor.core.text.wording import one_line, printable
from demeanor.core.trees.tree import Change, Entry, Tree, changes, parent_folders, unified_diff
from demeanor.core.values.errors import nearest
from demeanor.core.values.ports import CommandResult, RunCommand
from demeanor.judge.command_input import command_words, not_kept, run_on
from demeanor.judge.git_view import GitView
from demeanor.judge.unknowable import MissingFile, insufficient, unknowable

Paths: TypeAlias = list[str]

_MOST_LISTED = 20
_MOST_HOPS = 10


class FileView:
    """One path of the workspace; its content is read on access."""

    def __init__(self, path: str, workspace: WorkspaceView) -> None:
        self.path = path
        """Relative to the workspace."""
        self._workspace = workspace

    @property
    def exists(self) -> bool:
        """Whether a file, or a link to one, exists."""
        return self._workspace.is_file(self.path)

    @property
    def bytes(self) -> bytes:
        """The content."""
        entry = self._workspace.entry(self.path)
        if entry.kind != "file":
            raise MissingFile(f"{self.path!r} is not a regular file: it is a device, a socket or a pipe")
        content = entry.read()
        if content is None:
            raise self._workspace._unreadable(f"the content of {self.path!r}", entry)
        return content

    @property
    def text(self) -> str:
        """The content, which must be UTF-8."""
        content = self.bytes
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise MissingFile(f"{self.path!r} is not UTF-8 text: byte {error.start} is invalid") from None

    @property
    def lines(self) -> list[str]:
        """The text's lines, without their ends."""
        return self.text.splitlines()

    @property
    def json(self) -> Any:
        """The content, which must be JSON."""
        text = self.text
        try:
            return json.loads(text)
        except ValueError as error:
            raise MissingFile(f"{self.path!r} is not valid JSON: {error}; it begins with {one_line(text)!r}") from None
        except RecursionError:
            raise MissingFile(f"{self.path!r} is JSON that is nested too deeply to be read") from None

    def __bool__(self) -> bool:
        """Whether the file exists, so that `assert rig.workspace["notes.txt"]` checks what it says."""
        return self.exists

    def __repr__(self) -> str:
        return f"<file {self.path!r}>" if self.exists else f"<no file {self.path!r}>"


class WorkspaceView:
    """The workspace at the end, and how it differs from the start."""

    def __init__(self, before: Tree, after: Tree, run_command: RunCommand, *, place: str = "the workspace") -> None:
        self._place = place
        self._before = before
        self._after = after
        visible = after.visible()
        self._files = {path: entry for path, entry in visible.items() if entry.kind != "folder"}
        self._folders = parent_folders(visible)
        self._run_command = run_command

    def __getitem__(self, path: str) -> FileView:
        """The file at `path`; access to its content fails the check if it does not exist."""
        return FileView(_tidy(path), self)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.exists(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self.list())

    def exists(self, path: str) -> bool:
        """Whether a file, a link or a folder exists."""
        tidy = _tidy(path)
        there = tidy in self._files or tidy in self._folders
        if not there and self._after.gaps:
            raise self._insufficient(f"that there is no {tidy!r}", ())
        return there

    def is_file(self, path: str) -> bool:
        """Whether a file, or a link to one, exists."""
        return self.exists(path) and self._follow(_tidy(path)) is not None

    def is_folder(self, path: str) -> bool:
        """Whether a folder exists, with or without files."""
        return self.exists(path) and _tidy(path) in self._folders

    def list(self, pattern: str = "**") -> Paths:
        """The paths of all files that match a glob pattern, sorted; `*` stays within a folder, `**` crosses folders."""
        self._need_all("which files there are")
        return [path for path in self._files if matches(path, pattern)]

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the agent added, changed and deleted, sorted by path, without `.git`."""
        self._need_all("what changed")
        return changes(self._before, self._after)

    @property
    def changed_paths(self) -> Paths:
        """The paths of all changes."""
        return [change.path for change in self.changes]

    @property
    def added(self) -> Paths:
        """The paths of the files that did not exist at the start."""
        return [change.path for change in self.changes if change.how == "added"]

    @property
    def modified(self) -> Paths:
        """The paths of the files whose content or type changed."""
        return [change.path for change in self.changes if change.how == "changed"]

    @property
    def deleted(self) -> Paths:
        """The paths of the files that no longer exist."""
        return [change.path for change in self.changes if change.how == "deleted"]

    @property
    def diff(self) -> str:
        """All changes as a unified diff."""
        return unified_diff(self.changes)

    def unchanged_except(self, *patterns: str) -> bool:
        """True if only paths that match one of the glob patterns have changed; otherwise the check fails."""
        all_changes = changes(self._before, self._after)
        strays = [change for change in all_changes if not any(matches(change.path, pattern) for pattern in patterns)]
        if strays:
            allowed = f" (only {', '.join(patterns)} may change)" if patterns else ""
            raise AssertionError(f"changed: {_listed([f'{stray.path} ({stray.how})' for stray in strays])}{allowed}")
        self._need_all("that nothing else changed")
        return True

    @property
    def git(self) -> GitView:
        """The state of the workspace's git repository."""
        return GitView(self._before, self._after)

    def run(self, *argv: str | os.PathLike[str], timeout: float = 60.0) -> CommandResult:
        """Run a command in a temporary copy of the workspace, without a shell."""
        words = command_words(argv, is_file=lambda name: self.exists(posixpath.normpath(name)))
        return run_on(self._run_command, self._before, self._after, words, timeout=timeout)

    def entry(self, path: str) -> Entry:
        """The entry at `path`, following links; fails the check if there is none."""
        if not self.exists(path):
            close = nearest(path, self._files)
            hint = f" (nearest: {printable(close)!r})" if close and len(self._files) > 1 else ""
            files = f"it contains: {_listed(self._files)}" if self._files else "it is empty"
            raise MissingFile(f"there is no {path!r} in {self._place}{hint}; {files}")
        entry = self._follow(path)
        if entry is None:
            what = (
                "a folder" if path in self._folders else f"a link to {self._files[path].target!r}, which is not a file"
            )
            raise MissingFile(f"{path!r} is {what}")
        return entry

    def __repr__(self) -> str:
        return f"<workspace: {_listed(self._files)}>"

    def _follow(self, path: str) -> Entry | None:
        """The file at the end of a chain of links inside the workspace."""
        for _ in range(_MOST_HOPS):
            entry = self._files.get(path)
            if entry is None or entry.kind != "link":
                return entry
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target or ""))
        return None

    def _unreadable(self, question: str, entry: Entry) -> Exception:
        """The exception for a file whose content was not kept: the agent's failure, unless the file is as it was."""
        if any(entry.same(old) for old in self._before.entries.values()):
            return unknowable(question, (not_kept(entry),))
        return MissingFile(f"can't read {question}: {not_kept(entry)}, because the file is too large")

    def _need_all(self, question: str) -> None:
        if self._before.gaps or self._after.gaps:
            raise self._insufficient(question, self._before.gaps)

    def _insufficient(self, question: str, at_start: tuple[str, ...]) -> Exception:
        """The exception for a workspace that could not be read completely: the agent's failure if it made it so."""
        own = tuple(gap for gap in self._after.gaps if gap not in self._before.gaps)
        return insufficient(question, own, at_start) if own else unknowable(question, self._before.gaps)


def _tidy(path: str) -> str:
    return posixpath.normpath(path)


def _listed(paths: Any) -> str:
    shown = [printable(path) for path in list(paths)[:_MOST_LISTED]]
    more = len(paths) - len(shown)
    return (", ".join(shown) or "nothing") + (f" and {more} more" if more else "")
