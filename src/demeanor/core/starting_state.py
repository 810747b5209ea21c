"""The state that a workspace starts from, found again by its hash: what an agent changed means nothing without it."""

from __future__ import annotations

import hashlib
import json

from demeanor.core.tree import Tree, is_git

KEPT_BYTES = 64 * 2**20
"""A starting state with more content than this is kept by its hash alone."""

SECRETS = "a secret was found in the starting files, so they are not kept"
"""The gap of a starting state that must not be written down."""


def start_hash(tree: Tree) -> str:
    """SHA-256 of the files, and of what git's branches point to.

    How git stores that differs each time that a state is laid out (its index holds inodes), so it does not count: two
    states of one hash are the same for whoever works in them.
    """
    digest = hashlib.sha256()
    for path, entry in sorted(tree.entries.items()):
        if not is_git(path) or _points(path):
            told = [path, entry.kind, entry.sha256, entry.size, entry.target, entry.executable]
            digest.update(json.dumps(told).encode() + b"\n")
    return digest.hexdigest()


def fit_to_keep(tree: Tree) -> bool:
    """Whether the whole of a starting state is kept: it is not too large, and nothing is missing from it."""
    return not tree.gaps and sum(entry.size for entry in tree.entries.values()) <= KEPT_BYTES


def _points(path: str) -> bool:
    return path in {".git/HEAD", ".git/packed-refs"} or path.startswith(".git/refs/")
