"""The toy agent with a broken prompt, and a fixer: a script in place of a coding agent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.helpers.project import Project
from tests.helpers.toy_agent import ToyAgent

HELP = """\
import pathlib, sys
prompt = pathlib.Path("prompts/system.md")
evals = pathlib.Path("evals/eval_toy.py")
brief = pathlib.Path(".demeanor-fix/brief.md").read_text()
HASTY = "Change files at once, without looking at them for long, and keep\\nyour answers short.\\n"

def replace(path, old, new):
    text = path.read_text()
    assert old in text, (path, old)
    path.write_text(text.replace(old, new))

def cause(text):
    pathlib.Path(".demeanor-fix/ROOT-CAUSE.md").write_text(text)
"""
GOOD_FIX = """
replace(prompt, HASTY, "Read every file before you change it, and keep\\nyour answers short.\\n")
cause("The prompt no longer said to read a file first.")
pathlib.Path("dist").mkdir()
pathlib.Path("dist/agent.py").write_text("git ignores build output, and so does the fix")
"""
CONFIG = """
[agents.fixer]
adapter = "command"
command = ["{python}", "-IS", "{world}/fixer.py", "{{prompt}}"]

[models.doctor]
script = "{world}/doctor.py"
price = {{ input = 1.0, output = 1.0 }}

[fix]
fixer = "fixer"
"""
DOCTOR = """\
def play(turn):
    if turn.done == 0:
        return turn.call("read", path="prompts/system.md")
    if turn.done == 1:
        old = "Change files at once, without looking at them for long,"
        fixed = turn.result.replace(old, "Read before you change,")
        return turn.call("edit", path="prompts/system.md", content=fixed)
    return "The cause: the prompt does not say to read files first."
"""
PRICE = "[models.brain.price]\ninput = 1000.0\noutput = 1000.0\n"
VARIANTS = {
    "quick.toml": "trials = 1\nwire_trials = 1\n",
    "evals.toml": "trials = 1\nwire_trials = 0\nevals = true\n",
    "unguarded.toml": 'trials = 1\nwire_trials = 0\nguard = "none"\n',
    "priced.toml": f"trials = 1\nwire_trials = 0\n{PRICE}",
    "wire.toml": f"trials = 1\n{PRICE}",
    "twice.toml": f'trials = 2\nguard = "none"\nwire_trials = 0\n{PRICE}',
}
"""Other configurations of the same project, for --config. They use no sandbox, since `fix` does many small runs."""


def in_rounds(*scripts: str) -> str:
    """A fixer that runs another script in each round."""
    return f"exec({list(scripts)!r}[brief.count('### Round ')])"


class BrokenToyAgent(ToyAgent):
    """A toy agent whose `reads_before_editing` broke between two nights, and a fixer."""

    def __init__(self, project: Project, *, rules: str = "") -> None:
        super().__init__(project)
        usual = (self.folder / "demeanor.toml").read_text() + CONFIG.format(python=sys.executable, world=self.world)
        (self.folder / "demeanor.toml").write_text(usual + rules)
        for name, more in VARIANTS.items():
            (self.folder / name).write_text(f'sandbox = "none"\n{usual}{more}')
        slow = f"grep -q 'Read every' prompts/system.md && exec sleep 61.25; exec {sys.executable} -IS build.py"
        build = f'build = ["sh", "-c", "{slow}"]\n'
        (self.folder / "slow.toml").write_text(re.sub(r"build = .*\n", build, usual) + "trials = 1\nwire_trials = 0\n")
        (self.world / "doctor.py").write_text(DOCTOR)
        self.commit("A fixer")
        self.night()
        self.broken = self.break_reading()
        self.night()

    def night(self) -> None:
        """Make a nightly run of the eval that breaks."""
        done = self.project.demeanor("nightly", "--json", "--trials", "1", "-k", "reads")
        assert done.returncode in {0, 1}, done.stderr

    def fix_with(self, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `demeanor fix` with a fixer that runs the script."""
        (self.world / "fixer.py").write_text(HELP + script)
        return self.project.demeanor("fix", *words, COLUMNS="110")

    def last_folder(self) -> Path:
        """The folder of the last fix."""
        return max((self.folder / "results" / "fixes").iterdir(), key=lambda path: path.stat().st_ctime_ns)

    def report(self) -> dict[str, Any]:
        """The report of the last fix."""
        return dict(json.loads((self.last_folder() / "report.json").read_text()))

    def reset(self) -> None:
        """Reset the repository to the broken commit."""
        self.git("reset", "--quiet", "--hard", self.broken)
        self.rates(instructed=1.0, uninstructed=0.0)

    def untouched(self) -> bool:
        """Whether the user's tree is clean and no worktree is left."""
        return (self.git("status", "--porcelain"), self.head, self.worktrees()) == ("", self.broken, [])
