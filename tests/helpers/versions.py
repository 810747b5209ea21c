"""A project in git whose agent follows a plan file, so that its behaviour can change from commit to commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.helpers.harbor_tasks import greet, rewarding, write
from tests.helpers.project import Project

AGENT = """\
#!/bin/sh
# Writes out.txt, or does not, by the next letter of the plan (p or f); the last one is repeated.
plan=$(cat "$(dirname "$0")/plan")
number=1
while [ "$number" -lt "${#plan}" ] && ! mkdir "$COUNT/$number" 2>/dev/null; do number=$((number + 1)); done
case "$(printf %s "$plan" | cut -c "$number")" in p) printf hi > out.txt ;; esac
echo done
"""
CONFIG = """\
subjects = ["writer"]
sandbox = "none"
jobs = 1
build = ["make", "build"]

[agents.writer]
adapter = "command"
command = ["./bin/agent", "{prompt}"]
env = { COUNT = "%s" }
"""
EVALS = """\
from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test


@eval_test( ALWAYS_PASSES,prompt = "Write out.txt, always." )  # odd, but its author's
def always(rig, result):
    assert rig.workspace["out.txt"].text == "hi"


@eval_test( USUALLY_PASSES,prompt = "Write out.txt, usually." )  # odd, but its author's
def usually(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""
MAKEFILE = "build:\n\tmkdir -p bin && cp agent/agent.sh bin/agent && cp agent/plan bin/plan\n"

PLAYED_IN_BUBBLEWRAP = "No container engine works with Harbor here, so tasks run in bubblewrap"
"""How the note of a run begins whose tasks are not played on their images."""


class Versions:
    """The project, with methods to change it."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.folder = project.folder
        self.count = self.folder.parent / "count"
        project.write(agent__agent_sh=AGENT, demeanor_toml=CONFIG % self.count, evals__eval_a_py=EVALS)
        (self.folder / "agent" / "agent.sh").chmod(0o755)
        (self.folder / "Makefile").write_text(MAKEFILE)
        (self.folder / ".gitignore").write_text("results/\nbin/\n__pycache__/\n")
        self.git("init", "--quiet", "--initial-branch=main")
        self.behave("p")
        self.commit()

    def behave(self, plan: str) -> None:
        """Set the plan of the agent, one letter per trial, and build it."""
        (self.folder / "agent" / "plan").write_text(plan)
        for old in self.count.glob("*"):
            old.rmdir()
        self.count.mkdir(exist_ok=True)
        subprocess.run(["make", "--silent", "build"], cwd=self.folder, check=True)

    def git(self, *words: str) -> str:
        """Run git; returns its output."""
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=self.folder,
            env=self.project.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def commit(self, message: str = "x") -> None:
        """Commit all changes."""
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)

    def nights(self, number: int, *, trials: int = 1) -> None:
        """Run several nights."""
        for _ in range(number):
            done = self.project.demeanor("nightly", "--json", "--trials", str(trials))
            assert done.returncode in {0, 1}, done.stderr

    def add_task(self, *, reward: int = 1) -> None:
        """Add a task for the oracle agent, with a program in place of Harbor and no container engine."""
        tools = self.folder.parent / "tools"
        program = rewarding(tools / "harbor")
        (program.parent / "reward").write_text(str(reward))
        write(tools, {"docker": "#!/bin/sh\nexit 1\n", "podman": "#!/bin/sh\nexit 1\n"})
        for engine in ("docker", "podman"):
            (tools / engine).chmod(0o755)
        self.project.env["PATH"] = f"{tools}:{self.project.env['PATH']}"
        toml = greet(self.folder / "tasks" / "greet") / "task.toml"
        toml.write_text(f'{toml.read_text()}\n[metadata.demeanor]\npolicy = "USUALLY_PASSES"\n')
        config = self.folder / "demeanor.toml"
        config.write_text(
            'paths = ["tasks"]\nattempts = 1\n'
            + config.read_text().replace('["writer"]', '["oracle"]')
            + f'\n[harbor]\nprogram = "{program}"\n'
        )
        self.commit("A task")

    def lose_harbor(self) -> None:
        """Remove the program that runs tasks."""
        (self.folder.parent / "tools/harbor/bin/harbor").unlink()
        (self.folder.parent / "tools/harbor/lib/python3.12/site-packages/harbor-0.24.0.dist-info").rmdir()

    def worktrees(self) -> list[str]:
        """The worktrees that git knows, except for the project, and the folders that are left."""
        known = self.git("worktree", "list", "--porcelain").split("worktree ")[2:]
        return known + [name for name in self.project.temporary() if "checkout" in name]

    @property
    def evals(self) -> Path:
        """The file of evals."""
        return self.folder / "evals" / "eval_a.py"
