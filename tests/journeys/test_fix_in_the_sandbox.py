"""`demeanor fix` in the default sandbox, with an agent that is a Python function with prompt files."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.helpers.project import Project

CONFIG = """\
subjects = ["mine"]
attempts = 1
[agents.mine]
adapter = "python"
function = "agent/main.py:agent"
reads = ["prompts"]
[agents.fixer]
adapter = "command"
command = ["{python}", "{fixer}", "{{prompt}}"]
[fix]
fixer = "fixer"
allowed = ["prompts/**"]
trials = 1
guard = "none"
"""
AGENT = """\
from pathlib import Path

def agent(session):
    prompt = (Path(__file__).parent.parent / "prompts" / "system.md").read_text()
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
pathlib.Path("prompts/system.md").write_text("Always say please.\\n")
"""


def test_an_agent_reads_its_prompt_files_from_the_checkout(project: Project):
    """Before the fix those of the commit, afterwards those of the fixer; the sandbox is the default one."""
    fixer = project.folder.parent / "fixer.py"
    fixer.write_text(FIXER)
    project.write(
        demeanor_toml=CONFIG.format(python=sys.executable, fixer=fixer),
        agent__main_py=AGENT,
        prompts__system_md="Be brief.\n",
        evals__eval_polite_py=EVAL,
    )
    (project.folder / ".gitignore").write_text("results\n")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "Start")):
        subprocess.run(["git", *words], cwd=project.folder, env=project.env, check=True)
    ran = project.demeanor("run", "evals", "--trials", "1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    done = project.demeanor("fix", "is_polite", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (cell,) = json.loads(done.stdout)["rounds"][0]["cells"]
    assert (cell["before"]["passed"], cell["after"]["passed"]) == (0, 1)
    assert (project.folder / "prompts" / "system.md").read_text() == "Be brief.\n"
