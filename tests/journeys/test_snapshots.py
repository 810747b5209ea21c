"""Prompt snapshots: a change of the prompt or a tool fails, is shown, and can be accepted."""

from __future__ import annotations

from tests.helpers.project import Project

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="What does a.txt say?", files={"a.txt": "x"}, trials=1,
           snapshot="snapshots/{subject}.md")
def prompt_is_known(rig, result):
    pass
"""


def test_missing_then_written_then_changed(project: Project):
    """A missing snapshot fails; --update-snapshots writes it; then it passes; a changed one fails with a diff."""
    project.write(evals__eval_prompt_py=EVAL)
    missing = project.demeanor("run")
    assert missing.returncode == 1
    assert "the snapshot native-scripted.md does not exist" in missing.stdout
    assert project.demeanor("run", "--update-snapshots").returncode == 0
    assert project.demeanor("run").returncode == 0
    snapshot = project.folder / "evals/snapshots/native-scripted.md"
    assert "## write_file" in snapshot.read_text()
    snapshot.write_text(snapshot.read_text().replace("Read a file before", "Never read a file before"))
    changed = project.demeanor("run")
    assert changed.returncode == 1
    assert "Never read a file before" in changed.stdout
