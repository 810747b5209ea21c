"""Write a Tree to a folder, and remove what was copied for that."""

# pathlib costs more than the many system calls made here.
# ruff: noqa: PTH103, PTH123, PTH211

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import tree_path_problem


def restore(tree: Tree, into: Path) -> None:
    """Write `tree` into the empty folder `into`. Links are created last, so that nothing is written through one."""
    made = {""}
    links = []
    for path, entry in sorted(tree.entries.items()):
        _check_place(path, tree)
        if entry.kind == "other":
            continue
        parent = path.rpartition("/")[0]
        if parent not in made:
            os.makedirs(into / parent, exist_ok=True)
            made.add(parent)
        if entry.kind == "link":
            links.append((path, entry.target or ""))
            continue
        if entry.kind == "folder":
            os.makedirs(into / path, exist_ok=True)
            made.add(path)
            continue
        handle = os.open(into / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if entry.executable else 0o644)
        with open(handle, "wb") as file:
            if entry.spooled is not None:
                with open(entry.spooled, "rb") as large:
                    shutil.copyfileobj(large, file, 2**20)
            else:
                file.write(entry.read() or b"")
    if ".git/HEAD" in tree.entries:
        # A tree has no empty folders of `.git`, but git only recognises a repository that has these two.
        (into / ".git/objects").mkdir(exist_ok=True)
        (into / ".git/refs").mkdir(exist_ok=True)
    for path, target in links:
        os.symlink(target, into / path)


def _check_place(path: str, tree: Tree) -> None:
    problem = tree_path_problem(path)
    if problem:
        raise ValueError(f"path {path!r} {problem}")
    parent = path.rpartition("/")[0]
    while parent:
        if parent in tree.entries and tree.entries[parent].kind != "folder":
            raise ValueError(f"path {path!r} is below {parent!r}, which is not a folder")
        parent = parent.rpartition("/")[0]


def discard_spooled(tree: Tree) -> Tree:
    """Remove the copies of files that are too large to keep; returns the tree without them."""
    large = {path: entry for path, entry in tree.entries.items() if entry.spooled is not None}
    for entry in large.values():
        Path(entry.spooled or "").unlink(missing_ok=True)
    without = {path: replace(entry, spooled=None) for path, entry in large.items()}
    return replace(tree, entries={**tree.entries, **without}) if large else tree
