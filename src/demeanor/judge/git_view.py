"""`rig.workspace.git`: what the agent did to the repository, read from its objects and files without git.

The agent may have changed the repository's configuration, index, hooks and attributes. git would start the programs
they name and believe them. What is read instead: git_objects.py, and for the status what is below the class.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree import Tree
from demeanor.judge.command_input import left_too_much, not_kept
from demeanor.judge.git_objects import ObjectDatabase, object_id
from demeanor.judge.git_storage import MAX_OBJECT_BYTES, file_content
from demeanor.judge.unknowable import Unknowable, insufficient, unknowable

if TYPE_CHECKING:
    from dulwich.attrs import GitAttributes
    from dulwich.ignore import IgnoreFilterManager

    from demeanor.core.trees.tree import Entry, Tree

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


# `git status`, computed from the last commit and the harvested files instead of the agent's index.
#
# The index can hide changes (`assume-unchanged`, `skip-worktree`), as can exclude files, attributes and filters. So
# files are compared with the commit byte by byte. Ignore rules count if they are committed or were there at the
# start.

CommittedFiles: TypeAlias = Mapping[str, tuple[int, str]]
"""Mode and object id of the files of a commit, by path."""

_REGULAR, _LINK, _EXECUTABLE, _SUBMODULE = 0o100000, 0o120000, 0o100755, 0o160000
_KIND_OF_MODE = 0o170000
_MAX_RULES_BYTES = 2**20


class _TooLarge(Exception):
    """A file is too large to be compared with its commit."""


def status(before: Tree, after: Tree, database: ObjectDatabase, *, start: str | None, head: str | None) -> list[str]:
    """The uncommitted changes in the notation of `git status --porcelain`, with paths as they are."""
    committed = database.files(head) if head else {}
    attributes = _attributes(database, start)
    files = {path: entry for path, entry in after.visible().items() if entry.kind in {"file", "link"}}
    changed = []
    for path, (mode, name) in sorted(committed.items()):
        if mode & _KIND_OF_MODE == _SUBMODULE:
            letter = _submodule(before, after, path, name)
        else:
            try:
                letter = _letter(database, path, files.get(path), mode, name, attributes)
            except _TooLarge:
                raise _too_large(before, after, path) from None
        changed += [f" {letter} {path}"] if letter else []
    return changed + [f"?? {path}" for path in _untracked(before, files, committed, database)]


def _letter(
    database: ObjectDatabase, path: str, entry: Entry | None, mode: int, name: str, attributes: GitAttributes
) -> str:
    """How a file differs from its commit: D, T (its type), M, or an empty string if it does not."""
    if entry is None:
        return "D"
    if (entry.kind == "link") != (mode & _KIND_OF_MODE == _LINK):
        return "T"
    if entry.kind == "link":
        return "" if object_id("blob", (entry.target or "").encode("utf-8", "surrogateescape")) == name else "M"
    if entry.executable != (mode == _EXECUTABLE):
        return "M"
    content = file_content(entry)
    if content is None or len(content) > MAX_OBJECT_BYTES:
        raise _TooLarge
    if object_id("blob", bytes(content)) == name:
        return ""
    return "" if _converted(database, path, bytes(content), name, attributes) else "M"


def _too_large(before: Tree, after: Tree, path: str) -> Exception:
    """The exception for a file that is too large to be compared: the agent's failure if it made it so."""
    entry, question = after.entries[path], f"whether {path!r} is committed"
    own = not entry.same(before.entries.get(path))
    if own and (entry.size > MAX_OBJECT_BYTES or left_too_much(before, after)):
        return insufficient(question, (f"its {entry.size} bytes are too large to be compared",))
    return unknowable(question, (not_kept(entry),))


def _converted(database: ObjectDatabase, path: str, content: bytes, name: str, attributes: GitAttributes) -> bool:
    """Whether a file differs from its blob only by the line ends that the initial attributes ask for."""
    path_attributes = attributes.match_path(path.encode("utf-8", "surrogateescape"))
    for attribute in (b"filter", b"ident", b"working-tree-encoding"):
        if path_attributes.get(attribute):
            why = f".gitattributes sets {attribute.decode()} for it"
            raise unknowable(f"whether {path!r} is committed", (why,))
    if not path_attributes.get(b"text") and not path_attributes.get(b"eol"):
        return False
    return content.replace(b"\r\n", b"\n") == database.read(name, "blob").replace(b"\r\n", b"\n")


def _attributes(database: ObjectDatabase, start: str | None) -> GitAttributes:
    """The attributes of the repository at the start; the agent's own don't count."""
    from dulwich.attrs import GitAttributes, Pattern, parse_git_attributes

    patterns = []
    committed = database.files(start) if start else {}
    for path, (_, name) in sorted(committed.items(), key=lambda item: item[0].count("/")):
        folder, _, file_name = path.rpartition("/")
        if file_name == ".gitattributes":
            text = database.read(name, "blob")[:_MAX_RULES_BYTES]
            base = folder.encode("utf-8", "surrogateescape")
            patterns += [(Pattern(glob, base), values) for glob, values in parse_git_attributes(io.BytesIO(text))]
    return GitAttributes(patterns)


def _submodule(before: Tree, after: Tree, path: str, name: str) -> str:
    """Whether a submodule differs (M): its commit or its files. A folder without files is not checked out."""
    inside = _nested(after, path)
    if not inside.visible():
        return ""
    database = ObjectDatabase(inside, initial=ObjectDatabase(_nested(before, path)))
    _, head = database.head()
    return "M" if head != name or status(_nested(before, path), inside, database, start=name, head=head) else ""


def _nested(tree: Tree, path: str) -> Tree:
    """A folder of a tree as a tree, with the repository that git keeps for a submodule as its `.git`."""
    entries = {other.removeprefix(f"{path}/"): entry for other, entry in tree.entries.items() if _is_in(other, path)}
    if ".git" in entries:
        del entries[".git"]
        module = f".git/modules/{path}"
        inner = tree.entries.items()
        entries |= {f".git{other.removeprefix(module)}": entry for other, entry in inner if _is_in(other, module)}
    return replace(tree, entries=entries)


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _untracked(
    before: Tree, files: Mapping[str, Entry], committed: CommittedFiles, database: ObjectDatabase
) -> list[str]:
    """The paths that are not committed, as git lists them: a folder without committed files once, with a slash."""
    tracked = {path[:at] for path in committed for at, letter in enumerate(path) if letter == "/"}
    submodules = {path for path, (mode, _) in committed.items() if mode & _KIND_OF_MODE == _SUBMODULE}
    paths: dict[str, None] = {}
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        rules = _ignore_rules(Path(folder), before, files, committed, database)
        for path in sorted(files.keys() - committed.keys()):
            parents = [path[:at] for at, letter in enumerate(path) if letter == "/"]
            top = next((f"{parent}/" for parent in parents if parent not in tracked), path)
            if submodules.isdisjoint(parents) and ".git" not in top.split("/") and not rules.is_ignored(path):
                paths[top] = None
    return list(paths)


def _ignore_rules(
    folder: Path, before: Tree, files: Mapping[str, Entry], committed: CommittedFiles, database: ObjectDatabase
) -> IgnoreFilterManager:
    """The rules of committed `.gitignore` files, and those that the workspace and `.git/info/exclude` began with."""
    from dulwich.ignore import IgnoreFilter, IgnoreFilterManager, read_ignore_patterns

    rules = {
        path: database.read(name, "blob")
        for path, (mode, name) in committed.items()
        if path.rpartition("/")[2] == ".gitignore" and mode & _KIND_OF_MODE == _REGULAR
    }
    for path, entry in files.items():
        if path.rpartition("/")[2] == ".gitignore" and entry.same(before.entries.get(path)):
            rules[path] = bytes(file_content(entry) or b"")
    for path, text in rules.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text[:_MAX_RULES_BYTES])
    exclude = before.entries.get(".git/info/exclude")
    lines = io.BytesIO(bytes((exclude and file_content(exclude)) or b""))
    return IgnoreFilterManager(str(folder), [IgnoreFilter(read_ignore_patterns(lines))], ignorecase=False)
