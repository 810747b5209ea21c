"""`demeanor validate` refuses what it can't do, before it tests anything."""

from __future__ import annotations

from tests.helpers.project import Project
from tests.helpers.versions import Versions


def test_an_unknown_base_is_refused(project: Project) -> None:
    """A typo in CI must not turn off the check for new ALWAYS_PASSES evals; without --base, it is a note."""
    versions = Versions(project)
    wrong = project.demeanor("validate", "--base", "nosuch")
    assert (wrong.returncode, wrong.stdout) == (2, ""), wrong.stdout
    assert "--base nosuch: there is no commit 'nosuch' to compare with" in wrong.stderr
    assert "→ use a branch or a commit, such as --base main" in wrong.stderr
    assert "git fetch" in wrong.stderr
    assert project.demeanor("validate", "--base", "HEAD").returncode == 0
    (versions.folder / ".git").rename(versions.folder / "elsewhere")
    for command in ("validate", "gate"):
        outside = project.demeanor(command, "--base", "HEAD")
        assert outside.returncode == 2
        assert "is not in a git repository" in outside.stderr
        assert "→ leave out --base, or run it in a clone of the repository" in outside.stderr
    assert project.demeanor("validate").returncode == 0
