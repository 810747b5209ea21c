"""The content of a folder as a value, and the difference between two such values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from demeanor.core.text.line_diff import DiffWork, diff_lines

EntryKind: TypeAlias = Literal["file", "link", "folder", "other"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One file, symbolic link, empty folder or special file in a folder."""

    kind: EntryKind
    """`folder` is an empty folder. `other` is a device, socket or FIFO; it is recorded but never opened."""

    size: int = 0
    """Bytes."""

    executable: bool = False
    """Whether its owner may execute it."""

    sha256: str = ""
    """The hash of the content; empty if it was not read."""

    content: bytes | Path | None = None
    """The bytes, the path of an unchanging file that has them, or None if the file was too large to keep."""

    target: str | None = None
    """The target of a symbolic link."""

    spooled: Path | None = None
    """The content of a file that is too large to keep, until its attempt is judged. Only commands of checks get it."""

    def read(self) -> bytes | None:
        """The content; None if it was not kept."""
        if isinstance(self.content, Path):
            return self.content.read_bytes()
        return self.content

    def same(self, other: Entry | None) -> bool:
        """Whether both have the same kind, mode and content."""
        return other is not None and (self.kind, self.sha256, self.size, self.target, self.executable) == (
            other.kind,
            other.sha256,
            other.size,
            other.target,
            other.executable,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """All entries of a folder, by relative path with forward slashes."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    """Of the folders, only empty ones are listed; the paths of files imply the others."""

    gaps: tuple[str, ...] = ()
    """What was left out and why, such as too many files or unreadable names."""

    attributes: Mapping[str, bytes] = field(default_factory=dict)
    """The extended attributes of the user, by path: of what changed, names and values together."""

    def visible(self) -> dict[str, Entry]:
        """The entries outside `.git`, sorted by path."""
        return {path: entry for path, entry in sorted(self.entries.items()) if not is_git(path)}


def is_git(path: str) -> bool:
    """Whether `path` is `.git` or inside it."""
    return path == ".git" or path.startswith(".git/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One path that differs between two trees."""

    path: str
    """Relative to the folder."""

    how: Literal["added", "changed", "deleted"]
    """What happened to it."""

    before: Entry | None
    """The old entry."""

    after: Entry | None
    """The new entry."""


def changes(before: Tree, after: Tree) -> tuple[Change, ...]:
    """The differences, sorted by path, without `.git`. A folder that was empty or became empty has not changed."""
    old, new = before.visible(), after.visible()
    differences = []
    folders = {path for tree in (old, new) for path, entry in tree.items() if entry.kind == "folder"}
    stayed = parent_folders(old) & parent_folders(new) if folders else set()
    for path in sorted(old.keys() | new.keys()):
        was, now = old.get(path), new.get(path)
        if path in stayed and path in folders:
            continue
        if now is None:
            differences.append(Change(path=path, how="deleted", before=was, after=None))
        elif was is None:
            differences.append(Change(path=path, how="added", before=None, after=now))
        elif not now.same(was):
            differences.append(Change(path=path, how="changed", before=was, after=now))
    return tuple(differences)


def parent_folders(entries: Mapping[str, Entry]) -> set[str]:
    """All folders in some entries: the empty ones, and those of which a path is below."""
    folders = {path for path, entry in entries.items() if entry.kind == "folder"}
    for path in entries:
        while (path := path.rpartition("/")[0]) and path not in folders:
            folders.add(path)
    return folders


def unified_diff(changed: tuple[Change, ...]) -> str:
    """The changes as a unified diff in the style of `git diff`."""
    work = DiffWork()
    return "".join(_one_diff(change, work) for change in changed)


def _one_diff(change: Change, work: DiffWork) -> str:
    names = f"--- {'/dev/null' if change.how == 'added' else 'a/' + change.path}\n"
    names += f"+++ {'/dev/null' if change.how == 'deleted' else 'b/' + change.path}\n"
    old, new = _lines(change.before), _lines(change.after)
    if old is None or new is None:
        return f"{names}Binary or special files differ\n"
    body = diff_lines(old, new, work)
    return names + "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body)


def _lines(entry: Entry | None) -> list[str] | None:
    if entry is None:
        return []
    if entry.kind == "link":
        return [f"-> {entry.target}\n"]
    if entry.kind == "folder":
        return ["(an empty folder)\n"]
    content = entry.read() if entry.kind == "file" else None
    if content is None or b"\0" in content:
        return None
    return content.decode("utf-8", "backslashreplace").splitlines(keepends=True)
