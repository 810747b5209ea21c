"""Permission requests of the built-in agents: answered by a script, recorded, and available to checks."""

from __future__ import annotations

from tests.helpers.project import Project

EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(
    ALWAYS_PASSES,
    prompts=["Save the note 'one' in a.txt.", "Save the note 'two' in b.txt."],
    approval={"edit": ["deny", "allow"]},
)
def is_denied_once(rig, result):
    assert rig.workspace.changed_paths == ["b.txt"]
    assert [one.answer for one in rig.permissions] == ["deny", "allow"]
    assert not rig.calls.of_kind("edit").unasked()
    assert rig.calls.denied().where(path="a.txt")
"""
PYTHON_EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Clean up.", files={"old.txt": "x"}, approval=["deny", "allow"])
def asks_before_deleting(rig, result):
    assert rig.calls.of_kind("delete").denied().count() == 1
    assert rig.calls.of_kind("delete").unasked().count() == 1
    assert result == "no, yes"
"""
TOY = """\
def agent(session):
    first = session.ask("rm", kind="delete", path="old.txt")
    session.call("rm", kind="delete", path="old.txt", succeeded=False)
    session.call("rm", kind="delete", path="other.txt")
    second = session.ask("shell", kind="execute", command="ls")
    session.say(", ".join("yes" if answer else "no" for answer in (first, second)))
"""


def test_the_native_agent_asks_and_is_answered_by_a_script(project: Project):
    """First no, then yes; the wire and the log tell one story."""
    project.write(evals__eval_a_py=EVALS)
    ran = project.demeanor("run", "--subject", "native:scripted", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_python_function_can_ask(project: Project):
    """And is caught where it does not."""
    config = 'subjects = ["toy"]\n[agents.toy]\nadapter = "python"\nfunction = "toy.py:agent"\n'
    project.write(evals__eval_a_py=PYTHON_EVAL, toy_py=TOY, demeanor_toml=config)
    ran = project.demeanor("run", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
