"""A fixer's change: written into a worktree, told as a patch by git itself, and laid onto the user's own tree.

The user's tree is touched by one command only, `git apply --index`, which does all of it or nothing; and only where the
files that it is about are exactly as they were committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from demeanor.core.errors import UsageError
from demeanor.core.git import GitError, git
from demeanor.core.tree import Change

_PLAIN = (
    "--binary",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
"""Whatever the user's own configuration of git says."""


def without_ignored(changes: Sequence[Change], tree: Path) -> tuple[Change, ...]:
    """The changes that git would speak of: what is added and ignored, such as what a build leaves, is none."""
    added = [change.path for change in changes if change.how == "added"]
    try:
        ignored = git(tree, "check-ignore", "-z", "--no-index", "--stdin", stdin="\0".join(added)).split("\0")
    except GitError as error:
        if str(error) != "git exited with 1":
            raise UsageError(f"git can't tell which files are ignored: {error}") from None
        return tuple(changes)  # it is how git says: none of them
    return tuple(change for change in changes if change.path not in ignored)


def write_changes(changes: Sequence[Change], tree: Path) -> None:
    """Make changes of plain files in a worktree that was just checked out; they were found to be in bounds."""
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
    """Delete a file, and the folders that are empty then: git knows none, and a file may take the place of one."""
    place.unlink(missing_ok=True)
    for folder in place.parents:
        if folder == tree or any(folder.iterdir()):
            return
        folder.rmdir()


def write_patch(changes: Sequence[Change], tree: Path, file: Path) -> str:
    """The changes of a worktree as a patch in `file`, whatever bytes they are of; and as text, for people."""
    paths = [change.path for change in changes]
    try:
        git(tree, "--literal-pathspecs", "add", "--all", "--force", "--", *paths)
        git(tree, "--literal-pathspecs", "diff", "--cached", *_PLAIN, f"--output={file}", "HEAD", "--", *paths)
    except GitError as error:
        raise UsageError(f"git can't make a patch of the change: {error}") from None
    return file.read_text("utf-8", "replace")


def apply_patch(file: Path, top: Path, paths: Sequence[str]) -> None:
    """Lay a patch onto the user's tree and index; an error, and nothing changed, where that is not safe."""
    try:
        dirty = git(top, "--literal-pathspecs", "status", "--porcelain", "--ignored", "--", *paths).splitlines()
        if dirty:
            told = ", ".join(line[3:] for line in dirty)
            raise UsageError(
                f"the patch was not applied: there are uncommitted changes in {told}\n"
                f"  → commit or stash them, then: git apply --index {file}"
            )
        git(top, "apply", "--index", str(file))
    except GitError as error:
        raise UsageError(
            f"the patch was not applied, and nothing was changed: {error}\n  → it is kept: {file}"
        ) from None
