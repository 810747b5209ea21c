"""The toy agent with a fixer: a script that stands in for a coding agent, and does as it is told."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.journeys.conftest import Project
from tests.journeys.toy_agent import ToyAgent

HELP = """\
import pathlib, sys
prompt = pathlib.Path("prompts/system.md")
evals = pathlib.Path("evals/eval_toy.py")
brief = pathlib.Path(".holdfast-fix/brief.md").read_text()
HASTY = "Change files at once, without looking at them for long, and keep\\nyour answers short.\\n"

def replace(path, old, new):
    text = path.read_text()
    assert old in text, (path, old)
    path.write_text(text.replace(old, new))

def cause(text):
    pathlib.Path(".holdfast-fix/ROOT-CAUSE.md").write_text(text)
"""
MENDS = """
replace(prompt, HASTY, "Read every file before you change it, and keep\\nyour answers short.\\n")
cause("The prompt no longer said to read a file first.")
"""
CONFIG = """
[agents.mender]
adapter = "command"
command = ["{python}", "{world}/fixer.py", "{{prompt}}"]

[fix]
fixer = "mender"
"""
VARIANTS = {
    "quick.toml": "trials = 1\n",
    "evals.toml": "trials = 1\nevals = true\n",
}
"""Other configurations of the same project, to be named with --config."""


class Patient(ToyAgent):
    """A toy agent whose `reads_before_editing` was broken between two nights, and a fixer."""

    def __init__(self, project: Project, *, rules: str = "") -> None:
        super().__init__(project)
        usual = (self.folder / "holdfast.toml").read_text() + CONFIG.format(python=sys.executable, world=self.world)
        for name, more in {"holdfast.toml": rules, **VARIANTS}.items():
            (self.folder / name).write_text(usual + more)
        self.commit("A fixer")
        self.night()
        self.broken = self.break_reading()
        self.night()

    def night(self) -> None:
        """A nightly run."""
        done = self.project.holdfast("nightly", "--json", "--trials", "1")
        assert done.returncode in {0, 1}, done.stderr

    def mended_by(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        """`holdfast fix` with a fixer that does what the script says."""
        (self.world / "fixer.py").write_text(HELP + script)
        return self.project.holdfast("fix", *words, COLUMNS="110")

    def report(self) -> dict[str, Any]:
        """The report of the last fix."""
        last = max((self.folder / "results" / "fixes").iterdir())
        return dict(json.loads((last / "report.json").read_text()))

    def untouched(self) -> bool:
        """Whether the user's tree is as it was committed, and nothing is left of any worktree."""
        return (self.git("status", "--porcelain"), self.head, self.worktrees()) == ("", self.broken, [])
