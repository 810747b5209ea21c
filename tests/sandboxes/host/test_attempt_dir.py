"""The folders of an attempt are provably as new when they are reused."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from demeanor.core.trees.tree_io import stamp
from demeanor.sandboxes.host.attempt_dir import AttemptDir
from demeanor.sandboxes.host.copytree import read_template

RESET = {
    "nothing": "true",
    "file added": "echo x > new",
    "file added in a folder": "echo x > docs/new",
    "folder added": "mkdir -p a/b/c; echo x > a/b/c/x",
    "link added": "ln -s /etc/passwd evil; ln -s / docs/root",
    "fifo added": "mkfifo fifo",
    "home used": "mkdir -p ../home/.config/x; echo x > ../home/.config/x/y",
    "temp used": "echo x > ../tmp/x",
    "beside the workspace": "echo x > ../x; mkdir ../y",
    "file changed": "echo x >> README.md",
    "file changed and disguised": "touch -r README.md ../t; printf '# Votes\\n' > README.md; touch -r ../t README.md",
    "file deleted": "rm docs/guide.txt",
    "file made executable": "chmod 755 README.md",
    "file replaced by a link": "ln -sf /etc/passwd README.md",
    "file replaced by a folder": "rm README.md; mkdir README.md; echo x > README.md/x",
    "file linked elsewhere": "ln README.md ../../hard",
    "file touched": "touch README.md",
    "file moved": "mv README.md docs/",
    "files swapped": "mv README.md x; mv docs/guide.txt README.md; mv x docs/guide.txt",
    "link deleted": "rm link",
    "link turned": "ln -sfn /etc link",
}
NOT_RESET = {
    "folder deleted": "rm -r docs",
    "folder replaced": "mv docs ../gone; mkdir docs; cp -a ../gone/. docs",
    "folder replaced by a link": "mv docs ../../docs; ln -s ../../docs docs",
    "folder closed": "chmod 500 docs",
    "home replaced by a link": "rm -r ../home; ln -s / ../home",
    "workspace moved": "mv ../workspace ../../workspace",
    "very many files": "seq 1000 | xargs touch",
    "very deep folders": "i=0; while [ $i -lt 150 ]; do mkdir d; cd d; i=$((i+1)); done; touch x",
}


@pytest.fixture
def attempt_dir(tmp_path: Path) -> AttemptDir:
    """A place with two files, a folder, an empty folder and a link."""
    source = tmp_path / "source"
    (source / "docs").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "README.md").write_text("# Notes\n")
    (source / "docs/guide.txt").write_text("step by step\n")
    (source / "link").symlink_to("docs")
    for file in ("README.md", "docs/guide.txt"):
        os.utime(source / file, (1_000_000_000, 1_000_000_000))
    created = AttemptDir(str(tmp_path / "1"), read_template(source))
    created.create()
    return created


def listing(path: str) -> dict[str, object]:
    """Everything about a folder that an agent could see: names, kinds, permissions, dates, contents."""
    found: dict[str, object] = {}
    for item in sorted(Path(path).rglob("*")):
        state = item.lstat()
        kind = stat.S_IFMT(state.st_mode)
        content = item.readlink() if item.is_symlink() else item.read_bytes() if item.is_file() else None
        date = state.st_mtime_ns if stat.S_ISREG(kind) else 0
        found[str(item.relative_to(path))] = (state.st_mode, state.st_nlink if date else 0, date, content)
    return found


def use(attempt_dir: AttemptDir, script: str) -> None:
    """Run a script in the workspace."""
    subprocess.run(["sh", "-c", script], cwd=f"{attempt_dir.path}/workspace", check=True)


@pytest.mark.parametrize("script", RESET.values(), ids=RESET)
def test_folders_are_as_new_after_a_reset(attempt_dir: AttemptDir, script: str, tmp_path: Path) -> None:
    """Whatever was done, one can't tell any more; and not the second time either."""
    new = listing(attempt_dir.path)
    for _ in range(2):
        use(attempt_dir, script)
        assert attempt_dir.reset()
        assert listing(attempt_dir.path) == new
        attempt_dir.rename(f"{attempt_dir.path}1")
        use(attempt_dir, "rm -f ../../hard")


@pytest.mark.parametrize("script", NOT_RESET.values(), ids=NOT_RESET)
def test_folders_that_can_not_be_proven_unchanged_are_not_reused(attempt_dir: AttemptDir, script: str) -> None:
    """What can't be proven to be as it was is to be removed."""
    use(attempt_dir, script)
    assert not attempt_dir.reset()


def test_folders_with_an_extended_attribute_are_not_reused(attempt_dir: AttemptDir) -> None:
    """An access list set there would be handed on to every file made in it."""
    try:
        os.setxattr(f"{attempt_dir.path}/workspace", "user.x", b"y")
    except OSError:
        pytest.skip("no attributes on this file system")
    assert not attempt_dir.reset()


def test_file_that_is_known_elsewhere_is_written_anew_even_if_its_stamp_is_as_it_was(attempt_dir: AttemptDir) -> None:
    """A second name given in the same tick of the clock could be written through later."""
    file, elsewhere = Path(attempt_dir.path, "workspace/README.md"), Path(attempt_dir.path).with_name("elsewhere")
    elsewhere.hardlink_to(file)
    attempt_dir.stamps["README.md"] = stamp(file.stat())
    assert attempt_dir.reset()
    assert not file.samefile(elsewhere)


def test_untouched_files_are_not_written_anew(attempt_dir: AttemptDir) -> None:
    """That is what makes it quick."""
    files = [Path(attempt_dir.path, "workspace", name) for name in ("README.md", "docs/guide.txt")]
    before = [stamp(file.stat()) for file in files]
    use(attempt_dir, "touch new ../new ../home/new; mkdir folder")
    assert attempt_dir.reset()
    assert [stamp(file.stat()) for file in files] == before
