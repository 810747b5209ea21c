"""Changes as patches: write them into a worktree, let git make a patch, and apply it to the user's tree.

Only one command touches the user's tree: `git apply --index`, which applies all of a patch or nothing, and only if the
files concerned have no uncommitted changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from demeanor.core.trees.git import GitError, git
from demeanor.core.trees.tree import Change
from demeanor.core.values.errors import UsageError

_PLAIN = (
    "--binary",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
"""Options that override the user's git configuration."""


def without_ignored(changes: Sequence[Change], tree: Path) -> tuple[Change, ...]:
    """Return the changes without added files that git ignores, such as build output."""
    added = [change.path for change in changes if change.how == "added"]
    try:
        ignored = git(tree, "check-ignore", "-z", "--no-index", "--stdin", stdin="\0".join(added)).split("\0")
    except GitError as error:
        if str(error) != "git exited with 1":
            raise UsageError(f"git can't list the ignored files: {error}") from None
        return tuple(changes)  # exit code 1 means that none is ignored
    return tuple(change for change in changes if change.path not in ignored)


def write_changes(changes: Sequence[Change], tree: Path) -> None:
    """Write changes of regular files into a fresh worktree; the caller has checked the paths."""
    for change in changes:
        if change.after is None:
            _delete(tree / change.path, tree)
    for change in changes:
        if change.after is None:
            continue
        place = tree / change.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(change.after.read() or b"")
        place.chmod(0o755 if change.after.executable else 0o644)


def _delete(place: Path, tree: Path) -> None:
    """Delete a file and the folders that are empty afterwards: git has no empty folders, and a file may replace one."""
    place.unlink(missing_ok=True)
    for folder in place.parents:
        if folder == tree or any(folder.iterdir()):
            return
        folder.rmdir()


def write_patch(changes: Sequence[Change], tree: Path, file: Path) -> str:
    """Write the changes of a worktree to `file` as a binary-safe patch; return the patch as text."""
    paths = [change.path for change in changes]
    try:
        git(tree, "--literal-pathspecs", "add", "--all", "--force", "--", *paths)
        git(tree, "--literal-pathspecs", "diff", "--cached", *_PLAIN, f"--output={file}", "HEAD", "--", *paths)
    except GitError as error:
        raise UsageError(f"git can't create a patch: {error}") from None
    return file.read_text("utf-8", "replace")


def apply_patch(file: Path, top: Path, paths: Sequence[str]) -> None:
    """Apply a patch to the user's tree and index; if that is not safe, change nothing and raise UsageError."""
    try:
        dirty = git(top, "--literal-pathspecs", "status", "--porcelain", "--ignored", "--", *paths).splitlines()
        if dirty:
            files = ", ".join(line[3:] for line in dirty)
            raise UsageError(
                f"the patch was not applied: there are uncommitted changes in {files}\n"
                f"  → commit or stash them, then: git apply --index {file}"
            )
        git(top, "apply", "--index", str(file))
    except GitError as error:
        raise UsageError(
            f"the patch was not applied, and nothing was changed: {error}\n  → the patch is in {file}"
        ) from None
