"""The hash of a workspace's starting state, by which the state is stored."""

from __future__ import annotations

import hashlib
import json

from demeanor.core.trees.tree import Tree, is_git

KEPT_BYTES = 64 * 2**20
"""Of a larger starting state, only the hash is kept."""

SECRETS = "the starting files contain a secret, so they are not kept"
"""The gap of a starting state that must not be stored."""


def start_hash(tree: Tree) -> str:
    """SHA-256 of the files and of what git's branches point to.

    Other git files differ every time a state is created (the index has inode numbers), so they are not included.
    """
    digest = hashlib.sha256()
    for path, entry in sorted(tree.entries.items()):
        if not is_git(path) or _is_ref(path):
            fields = [path, entry.kind, entry.sha256, entry.size, entry.target, entry.executable]
            digest.update(json.dumps(fields).encode() + b"\n")
    return digest.hexdigest()


def fit_to_keep(tree: Tree) -> bool:
    """Whether a starting state is complete and small enough to be stored."""
    return not tree.gaps and sum(entry.size for entry in tree.entries.values()) <= KEPT_BYTES


def _is_ref(path: str) -> bool:
    return path in {".git/HEAD", ".git/packed-refs"} or path.startswith(".git/refs/")
