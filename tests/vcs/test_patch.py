"""Git makes a patch of any change, and a patch is applied completely or not at all."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from demeanor.core.trees.tree import Change, changes
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.errors import UsageError
from demeanor.vcs.patch import apply_patch, without_ignored, write_changes, write_patch

FILES = {
    "prompts/a.md": b"one\ntwo\nthree\n" + b"more\n" * 20,
    "prompts/gone.md": b"x\n",
    "folder/inside.md": b"y\n",
    "latin.txt": b"caf\xe9\n",
    "blob.bin": b"\0\1\2",
    ".gitignore": b"dist/\n",
}


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "top"
    for path, content in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "x")
    return folder


@pytest.fixture
def changed(top: Path, tmp_path: Path) -> tuple[Change, ...]:
    """Text, non-UTF-8 bytes, deletions, a new executable without a final newline, and ignored build output."""
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", str(top), str(copy))
    before = scan(copy)
    (copy / "prompts/a.md").write_bytes(FILES["prompts/a.md"].replace(b"two", b"2"))
    (copy / "prompts/gone.md").unlink()
    (copy / "folder/inside.md").unlink()
    (copy / "folder").rmdir()
    (copy / "folder").write_bytes(b"a file now\n")
    (copy / "latin.txt").write_bytes(b"caf\xe9 noir\n")
    (copy / "blob.bin").write_bytes(b"\0\1\3")
    (copy / "prompts/[new] name.sh").write_bytes(b"echo hi")
    (copy / "prompts/[new] name.sh").chmod(0o755)
    (copy / "dist").mkdir()
    (copy / "dist" / "out").write_bytes(b"built")
    return changes(before, scan(copy))


def make_patch(top: Path, changed: tuple[Change, ...], file: Path) -> tuple[Change, ...]:
    """Make a patch of the changes in a worktree."""
    tree = file.parent / "tree"
    git(top, "worktree", "add", "--detach", "--quiet", str(tree), "HEAD")
    wanted = without_ignored(changed, tree)
    write_changes(wanted, tree)
    write_patch(wanted, tree, file)
    git(top, "worktree", "remove", "--force", str(tree))
    return wanted


def test_a_patch_is_exact(top: Path, changed: tuple[Change, ...], tmp_path: Path):
    """Ignored files are left out."""
    file = tmp_path / "patch.diff"
    wanted = make_patch(top, changed, file)
    paths = [change.path for change in wanted]
    assert "dist/out" not in paths
    assert len(paths) == 7
    apply_patch(file, top, paths)
    for change in wanted:
        place = top / change.path
        assert place.exists() == (change.after is not None)
        if change.after is not None:
            assert place.read_bytes() == change.after.read()
            assert bool(place.stat().st_mode & 0o100) == change.after.executable
    assert {line[0] for line in git(top, "status", "--porcelain").splitlines()} == {"M", "D", "A"}


@pytest.mark.parametrize("what", ["changed", "staged", "staged far away", "in the way"])
def test_a_tree_with_other_changes_is_not_touched(top: Path, changed: tuple[Change, ...], tmp_path: Path, what: str):
    """Not one file of the patch is applied."""
    file = tmp_path / "patch.diff"
    paths = [change.path for change in make_patch(top, changed, file)]
    name = {"in the way": "prompts/[new] name.sh", "staged far away": "prompts/a.md"}.get(what, "latin.txt")
    mine = FILES[name] + b"mine\n" if what == "staged far away" else b"mine\n"
    (top / name).write_bytes(mine)
    if what.startswith("staged"):
        git(top, "add", name)
    before = git(top, "status", "--porcelain")
    with pytest.raises(UsageError, match="was not applied"):
        apply_patch(file, top, paths)
    assert git(top, "status", "--porcelain") == before
    assert (top / name).read_bytes() == mine
    assert (top / "blob.bin").read_bytes() == FILES["blob.bin"]


def test_a_commit_made_meanwhile_is_a_conflict(top: Path, changed: tuple[Change, ...], tmp_path: Path):
    """Git reports it, and nothing is changed."""
    file = tmp_path / "patch.diff"
    paths = [change.path for change in make_patch(top, changed, file)]
    (top / "prompts/a.md").write_bytes(b"quite another text\n")
    git(top, "commit", "--quiet", "-a", "-m", "y")
    with pytest.raises(UsageError, match="nothing was changed"):
        apply_patch(file, top, paths)
    assert git(top, "status", "--porcelain") == ""
