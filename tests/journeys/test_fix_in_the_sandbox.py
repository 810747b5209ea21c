"""`demeanor fix` in the default sandbox, with an agent that is a Python function with prompt files."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.helpers.project import Project

CONFIG = """\
subjects = ["mine"]
attempts = 1
[agents.mine]
adapter = "python"
function = "agent/main.py:agent"
{reads}
[agents.fixer]
adapter = "command"
command = ["{python}", "{fixer}", "{{prompt}}"]
[fix]
fixer = "fixer"
allowed = ["{prompts}/**"]
trials = 1
guard = "none"
"""
AGENT = """\
from pathlib import Path

def agent(session):
    prompt = (Path(__file__).parent.parent / "{prompts}" / "system.md").read_text()
    session.call("write_file", kind="edit", path="note.txt", content=prompt)
    (session.workspace / "note.txt").write_text(prompt)
"""
EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Write the note.")
def is_polite(rig, result):
    assert "please" in rig.workspace["note.txt"].text
"""
FIXER = """\
import pathlib
pathlib.Path("{prompts}/system.md").write_text("Always say please.\\n")
"""


def set_up(project: Project, prompts: str, reads: str) -> None:
    """A repository with the agent, its prompt files and an eval that it fails."""
    fixer = project.folder.parent / "fixer.py"
    fixer.write_text(FIXER.format(prompts=prompts))
    project.write(
        demeanor_toml=CONFIG.format(python=sys.executable, fixer=fixer, prompts=prompts, reads=reads),
        agent__main_py=AGENT.format(prompts=prompts),
        evals__eval_polite_py=EVAL,
    )
    (project.folder / prompts).mkdir()
    (project.folder / prompts / "system.md").write_text("Be brief.\n")
    (project.folder / ".gitignore").write_text("results\n")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "Start")):
        subprocess.run(["git", *words], cwd=project.folder, env=project.env, check=True)


@pytest.mark.parametrize(
    ("prompts", "reads"), [("agent/prompts", ""), ("prompts", 'reads = ["prompts"]')], ids=["own-folder", "reads"]
)
def test_an_agent_reads_its_prompt_files_from_the_checkout(project: Project, prompts: str, reads: str):
    """Before the fix those of the commit, afterwards those of the fixer; the sandbox is the default one."""
    set_up(project, prompts, reads)
    ran = project.demeanor("run", "evals", "--trials", "1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    done = project.demeanor("fix", "is_polite", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (cell,) = json.loads(done.stdout)["rounds"][0]["cells"]
    assert (cell["before"]["passed"], cell["after"]["passed"]) == (0, 1)
    assert (project.folder / prompts / "system.md").read_text() == "Be brief.\n"


def test_a_prompt_file_that_the_sandbox_hides_is_named_with_the_remedy(project: Project):
    """Neither a folder beside the agent's nor one with evals is the agent's own."""
    set_up(project, "prompts", "")
    hidden = project.folder / "prompts/system.md"
    remedy = f"the agent did not find {hidden}, which exists on this machine but not in the sandbox"
    assert remedy in " ".join(project.demeanor("run", "evals", "--trials", "1", COLUMNS="400").stdout.split())
    own = project.folder / "agent/prompts"
    own.mkdir()
    (own / "system.md").write_text("Be brief.\n")
    (project.folder / "agent/eval_more.py").write_text("")
    (project.folder / "agent/main.py").write_text(AGENT.format(prompts="agent/prompts"))
    remedy = remedy.replace(str(hidden), str(own / "system.md"))
    assert remedy in " ".join(project.demeanor("run", "evals", "--trials", "1", COLUMNS="400").stdout.split())
