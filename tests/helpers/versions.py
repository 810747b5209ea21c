"""A project in git whose agent follows a plan file, so that its behaviour can change from commit to commit."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from datetime import date, datetime, timedelta
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

[nightly]
min_trials = 1

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


def date_run(folder: Path, started: str) -> None:
    """Let a run have started at another time, in its folder and in the history."""
    file = folder / "run.json"
    noted = json.loads(file.read_text())
    noted["run"]["started"] = started
    file.write_text(json.dumps(noted))
    with closing(sqlite3.connect(folder.parent / "demeanor.db")) as database, database:
        database.execute("UPDATE runs SET started = ? WHERE uid = ?", (started, noted["run"]["uid"]))


def put_apart(results: Path) -> None:
    """Let the runs in a folder have started on days of their own, the last one today."""
    runs = sorted(path for path in results.glob("2*") if path.is_dir())
    for days, folder in enumerate(reversed(runs[:-1]), 1):
        started = datetime.fromisoformat(json.loads((folder / "run.json").read_text())["run"]["started"])
        date_run(folder, (started - timedelta(days=days)).isoformat(timespec="seconds"))


class Nights:
    """A project in git with nightly runs, each on a day of its own, long ago."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.folder = project.folder
        self.days = 0
        self.seconds = 0
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        """Run git; returns its output. No two commits are of the same second, so they are the same in every run."""
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        self.seconds += 1
        when = f"{946_684_800 + self.seconds} +0000"
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=self.folder,
            env={**self.project.env, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def commit(self, message: str = "x") -> None:
        """Commit all changes."""
        self.git("add", ".")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)

    def nights(self, number: int, *words: str, trials: int = 1) -> None:
        """Several nights with the same results, each on a day of its own, long ago: one is run and then copied."""
        results = self.folder / "results"
        first = results / self.night(*words, trials=trials)
        for _ in range(number - 1):
            self.days += 1
            copy = first.with_name(f"{first.name}-night-{self.days}")
            shutil.copytree(first, copy)
            noted = json.loads((copy / "run.json").read_text())
            noted["run"] |= {"id": copy.name, "uid": f"{self.days:016x}", "started": self.day(self.days)}
            (copy / "run.json").write_text(json.dumps(noted))
        if number > 1:
            done = self.project.demeanor("store", "import", "results")
            assert done.returncode == 0, done.stderr

    def night(self, *words: str, trials: int = 1, day: int | None = None) -> str:
        """Run one night on a day (default: the day after the last); returns the name of the run."""
        done = self.project.demeanor("nightly", "--json", "--trials", str(trials), *words)
        assert done.returncode in {0, 1}, done.stderr
        name = str(json.loads(done.stdout)["run"]["id"])
        self.days += day is None
        date_run(self.folder / "results" / name, self.day(day or self.days))
        return name

    def day(self, number: int) -> str:
        """The time of the night of a day."""
        return f"{date(2020, 1, 1) + timedelta(days=number)}T01:00:00+00:00"


class Versions(Nights):
    """The project whose agent follows a plan, with methods to change it."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self.count = self.folder.parent / "count"
        self._saved = self.folder.parent / "saved"
        self._saved_days = 0
        project.write(agent__agent_sh=AGENT, demeanor_toml=CONFIG % self.count, evals__eval_a_py=EVALS)
        (self.folder / "agent" / "agent.sh").chmod(0o755)
        (self.folder / "Makefile").write_text(MAKEFILE)
        (self.folder / ".gitignore").write_text("results/\nbin/\n__pycache__/\n")
        self.behave("p")
        self.commit()

    def save(self) -> None:
        """Save the project as it is now, for `restore`."""
        self._saved_days = self.days
        shutil.copytree(self.folder, self._saved, symlinks=True)

    def restore(self) -> None:
        """Undo whatever was done to the project since `save`. Its paths stay the same, as the history needs it."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._saved, self.folder, symlinks=True)
        shutil.rmtree(self.count)
        self.count.mkdir()
        self.days = self._saved_days

    def behave(self, plan: str) -> None:
        """Set the plan of the agent, one letter per trial, and build it."""
        (self.folder / "agent" / "plan").write_text(plan)
        for old in self.count.glob("*"):
            old.rmdir()
        self.count.mkdir(exist_ok=True)
        subprocess.run(["make", "--silent", "build"], cwd=self.folder, check=True)

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
