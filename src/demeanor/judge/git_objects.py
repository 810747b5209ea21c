"""Reads the objects and refs of a git repository from a harvested workspace, without git.

The agent may have written every file of the repository. So nothing is used except objects and refs: no configuration,
index, hooks, attributes, grafts, replacements, alternates or caches. An object counts only if its content has the hash
that it was asked for by.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from demeanor.core.text.wording import shortened
from demeanor.judge.command_input import left_too_much, not_kept
from demeanor.judge.git_storage import DamagedObject, file_content, open_pack, unpack_loose
from demeanor.judge.unknowable import insufficient, unknowable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demeanor.core.trees.tree import Entry, Tree
    from demeanor.judge.git_storage import Pack, StoredObject

_MAX_REF_BYTES = 16 * 2**20
_MAX_SYMREFS = 5
_MAX_FILES = 500_000
_ID = re.compile(r"[0-9a-f]{40}")
_ELSEWHERE = ("objects/info/alternates", "objects/info/http-alternates", "commondir", "reftable/tables.list")
_FOLDER_MODE, _KIND_OF_MODE = 0o040000, 0o170000


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitObject:
    """What is used of a commit."""

    tree: str
    """The id of its tree."""

    parents: tuple[str, ...]
    """The ids of its parents."""

    subject: str
    """The first paragraph of its message, on one line."""


class ObjectDatabase:
    """The objects and refs below a `.git` folder."""

    def __init__(self, tree: Tree, git_dir: str = ".git", *, initial: ObjectDatabase | None = None) -> None:
        self._tree = tree
        self._git_dir = git_dir
        self._initial = initial

    def head(self) -> tuple[str, str | None]:
        """The current branch (empty if HEAD is detached) and the id of its commit (None if it has none yet)."""
        text = self._text("HEAD")
        if text is None:
            raise AssertionError(f"the workspace is no longer a git repository: {self._git_dir}/HEAD is missing")
        branch = text.removeprefix("ref:").strip().removeprefix("refs/heads/") if text.startswith("ref:") else ""
        for _ in range(_MAX_SYMREFS):
            if text.startswith("ref:"):
                text = self._ref(text.removeprefix("ref:").strip()) or ""
        if text and not _ID.fullmatch(text):
            raise AssertionError(
                f"the git repository is damaged: HEAD is {shortened(text, 60)!r}, which is not the id of a commit"
            )
        return branch, text or None

    def has(self, name: str) -> bool:
        """Whether the object exists, with the right content."""
        return self._find(name) is not None

    def read(self, name: str, kind: str) -> bytes:
        """The content of an object; an object that is missing from a complete repository fails the check."""
        item = self._find(name)
        if item is not None and item[0] == kind:
            return item[1]
        if unclear := self._unclear(f"the content of the {kind} {name[:12]}", self._not_kept(name)):
            raise unclear
        raise AssertionError(f"the git repository is damaged: the {kind} {name[:12]} is missing or altered")

    def commit(self, name: str) -> CommitObject:
        """One commit."""
        head, _, message = self.read(name, "commit").decode("utf-8", "backslashreplace").partition("\n\n")
        fields = [line.partition(" ")[::2] for line in head.split("\n")]
        tree = next((value for key, value in fields if key == "tree"), "")
        parents = tuple(value for key, value in fields if key == "parent")
        paragraph = message.lstrip("\n").partition("\n\n")[0]
        return CommitObject(tree=tree, parents=parents, subject=" ".join(paragraph.splitlines()))

    def files(self, commit: str) -> dict[str, tuple[int, str]]:
        """Mode and object id of every file of a commit, by path."""
        files: dict[str, tuple[int, str]] = {}
        trees: dict[str, list[tuple[str, int, str]]] = {}
        folders = [("", self.commit(commit).tree)]
        while folders:
            prefix, name = folders.pop()
            if name not in trees:
                trees[name] = self._tree_entries(name)
            for path, mode, child in trees[name]:
                if mode & _KIND_OF_MODE == _FOLDER_MODE:
                    folders.append((f"{prefix}{path}/", child))
                else:
                    files[prefix + path] = (mode, child)
            if len(files) + len(folders) > _MAX_FILES:  # a few trees that contain one another can have any number
                raise AssertionError(f"the commit {commit[:12]} has more than {_MAX_FILES} files")
        return files

    def _tree_entries(self, name: str) -> list[tuple[str, int, str]]:
        """Name, mode and object id of each entry of a tree."""
        from dulwich.errors import ObjectFormatException
        from dulwich.objects import parse_tree

        try:
            entries = list(parse_tree(self.read(name, "tree"), 20))
        except (ObjectFormatException, ValueError, IndexError) as error:
            raise AssertionError(f"the git repository is damaged: the tree {name[:12]}: {error}") from None
        return [(raw.decode("utf-8", "surrogateescape"), mode, child.decode()) for raw, mode, child in entries]

    def _not_kept(self, name: str) -> tuple[str, ...]:
        """Why the file of an object is here without its content: it was too large, or contained a secret."""
        entry = self._entry(f"objects/{name[:2]}/{name[2:]}")
        lost = entry is not None and entry.kind == "file" and file_content(entry) is None
        return (f"{self._git_dir}/objects/{name[:2]}/{name[2:]}: {not_kept(entry)}",) if entry and lost else ()

    def _unclear(self, question: str, not_kept: tuple[str, ...] = ()) -> Exception | None:
        """The exception for an object or a ref that is not here, but may exist all the same; None if it does not. It is
        the agent's failure if the repository began without the reason."""
        lost, gaps = (*not_kept, *self._packs[1]), self._gaps()
        if not lost and not gaps:
            return None
        if self._initial is None or (lost and not left_too_much(self._initial._tree, self._tree)):
            return unknowable(question, (*lost, *gaps))
        return insufficient(question, (*lost, *gaps), self._initial._gaps())

    def _gaps(self) -> tuple[str, ...]:
        """What an object or a ref may be hidden by."""
        elsewhere = [name for name in _ELSEWHERE if self._entry(name) is not None]
        redirected = [
            f"{self._git_dir}/{name} refers to objects or refs that are stored elsewhere" for name in elsewhere
        ]
        return (*redirected, *self._tree.gaps)

    def _ref(self, name: str) -> str | None:
        text = self._text(name)
        if text is not None:
            return text
        for line in (self._text("packed-refs") or "").splitlines():
            value, _, packed = line.partition(" ")
            if packed == name:
                return value
        if unclear := self._unclear(f"the commit of {name!r}"):
            raise unclear
        return None

    def _entry(self, name: str) -> Entry | None:
        return self._tree.entries.get(f"{self._git_dir}/{name}")

    def _text(self, name: str) -> str | None:
        entry = self._entry(name)
        if entry is None or entry.kind == "folder":
            return None
        content = file_content(entry) if entry.kind == "file" else None
        if content is None:
            raise self._no_text(name, entry)
        return content[:_MAX_REF_BYTES].decode("utf-8", "backslashreplace").strip()

    def _no_text(self, name: str, entry: Entry) -> Exception:
        """The exception for a file of the repository that has no text: the agent's failure if it made it so."""
        question, why = f"the content of '{self._git_dir}/{name}'", "it is not a regular file"
        if entry.kind == "file":
            return self._unclear(question, (not_kept(entry),)) or unknowable(question, (why,))
        was = self._initial._entry(name) if self._initial else entry
        return insufficient(question, (why,), (why,) if entry.same(was) else ())

    def _find(self, name: str) -> StoredObject | None:
        """An object from the first place that has it with the right hash, else from the repository at the start."""
        if not _ID.fullmatch(name):
            return None
        for kind, content in self._candidates(name):
            if object_id(kind, content) == name:
                return kind, content
        return self._initial._find(name) if self._initial else None

    def _candidates(self, name: str) -> Iterator[StoredObject]:
        entry = self._entry(f"objects/{name[:2]}/{name[2:]}")
        stored = file_content(entry) if entry else None
        if stored is not None:
            with contextlib.suppress(DamagedObject):  # the same object may be in a pack
                yield unpack_loose(stored)
        for pack in self._packs[0]:
            try:
                item = pack.find(name)
            except DamagedObject:
                continue  # the same object may be in another pack
            if item is not None:
                yield item

    @cached_property
    def _packs(self) -> tuple[list[Pack], list[str]]:
        """The packs that can be read, and why others can't."""
        packs, lost = [], []
        folder = f"{self._git_dir}/objects/pack/"
        for path in sorted(path for path in self._tree.entries if path.startswith(folder) and path.endswith(".idx")):
            pack_path = f"{path.removesuffix('.idx')}.pack"
            if (pack_entry := self._tree.entries.get(pack_path)) is None:
                continue
            index, content = file_content(self._tree.entries[path]), file_content(pack_entry)
            if index is None or content is None:
                lost.append(f"{pack_path}: {not_kept(pack_entry)}")
            elif pack := open_pack(path, index, content):
                packs.append(pack)
        return packs, lost


def object_id(kind: str, content: bytes) -> str:
    """The id of a git object."""
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content, usedforsecurity=False).hexdigest()
