"""What the tests with the real Harbor share: where it is, tasks of a few lines, and jobs read from their folders."""

from __future__ import annotations

import json
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.values.capture import Capture
from demeanor.core.values.process import ProcessEnd
from demeanor.plugins.harbor.trials.result import TrialFolder
from demeanor.plugins.harbor.trials.to_capture import to_capture
from demeanor.runner.catalog import TaskAgent
from tests.helpers.harbor_engine import PROGRAM, WITHOUT
from tests.helpers.processes import command_line, others

REPOSITORY = Path(__file__).parents[2]
ENVIRONMENT = "demeanor.plugins.harbor.inside:BubblewrapEnvironment"
_TAKES = 300.0


def harbor() -> Path:
    """The real `harbor`, in an environment of its own; where there is none, the test is skipped and says so."""
    if not PROGRAM.exists():
        pytest.skip(WITHOUT)
    return PROGRAM


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborTrial:
    """One trial as Harbor has written it."""

    folder: Path
    """Its folder."""

    result: Mapping[str, Any]
    """Its result.json."""

    @property
    def reward(self) -> float | None:
        """Its reward; None where there is none."""
        rewards = (self.result["verifier_result"] or {}).get("rewards") or {}
        return rewards.get("reward")

    @property
    def exception(self) -> str | None:
        """The exception that ended it."""
        return (self.result["exception_info"] or {}).get("exception_type")

    @property
    def message(self) -> str:
        """What the exception says."""
        return str((self.result["exception_info"] or {}).get("exception_message", ""))

    @property
    def agent(self) -> str:
        """The name of its agent."""
        return str(self.result["agent_info"]["name"])

    def capture(self) -> Capture:
        """What Demeanor reads of it."""
        observed, folder = Capture(trial="t", attempt=1), TrialFolder(folder=self.folder, data=self.result)
        return to_capture(observed, ProcessEnd(exit_code=0), folder, TaskAgent(name=self.agent), "")

    def text(self, path: str) -> str:
        """A file of its folder."""
        return (self.folder / path).read_text()


class HarborProject:
    """A folder of tasks, and jobs run on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tasks = folder / "tasks"
        self.temp = folder / "tmp"
        self.temp.mkdir(mode=0o755)
        self.output = ""
        self.prefix: tuple[str, ...] = ()
        """The program that starts Harbor, with its arguments; for example `unshare`."""
        self.mark = f"mark-{uuid.uuid4().hex}"

    def task(
        self,
        name: str,
        *,
        files: Mapping[str, str] | None = None,
        dockerfile: str = "FROM debian:12\nWORKDIR /app\n",
        solve: str = "echo done > /app/done",
        test: str = "cd /app && if [ -f done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt",
        top: str = "",
        toml: str = "",
        under: Path | None = None,
    ) -> Path:
        """A task of a few lines; `top` and `toml` go into its task.toml, `files` are written last."""
        folder = (under or self.tasks) / name
        content = {
            "task.toml": f'schema_version = "1.4"\n{top}[task]\nname = "lab/{name}"\n{toml}',
            "instruction.md": "Make the file /app/done.\n",
            "environment/Dockerfile": dockerfile,
            "solution/solve.sh": f"#!/bin/bash\n{solve}\n",
            "tests/test.sh": f"#!/bin/bash\n{test}\n",
            **(files or {}),
        }
        for path, text in content.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder

    def run(
        self,
        *options: str,
        path: Path | None = None,
        agents: Sequence[str] = ("oracle",),
        code: int = 0,
        variables: Mapping[str, str] | None = None,
    ) -> list[HarborTrial]:
        """The trials of a job, by name; afterwards nothing of it is left but its folder."""
        words = ["run", "-p", str(path or self.tasks), *self._agents(agents), "--env", ENVIRONMENT, "-y", "-q"]
        jobs = self.folder / "jobs"
        before = set(jobs.glob("*")) if jobs.exists() else set()
        done = self.start(*words, "-o", str(jobs), *options, variables=variables)
        try:
            done.wait(_TAKES)
        finally:
            done.kill()
            done.wait()
        self.output = (self.folder / "out.txt").read_text()
        assert done.returncode == code, self.output
        assert list(self.temp.glob("demeanor-*")) == []
        assert self.processes() == []
        assert "demeanor" not in Path("/proc/self/mountinfo").read_text()
        (job,) = set(jobs.glob("*")) - before
        return read_job(job)

    def _agents(self, names: Sequence[str]) -> list[str]:
        """The option for one agent, or a configuration for several."""
        if len(names) == 1:
            return ["-a", names[0]]
        config = self.folder / "agents.json"
        config.write_text(json.dumps({"agents": [{"name": name} for name in names]}))
        return ["-c", str(config)]

    def start(self, *words: str, variables: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start Harbor. What it prints goes to a file: a pipe would be held open by what is left, and hide it."""
        with (self.folder / "out.txt").open("w") as file:
            return subprocess.Popen(
                [*self.prefix, harbor(), *words],
                env={**self.env, **(variables or {})},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    @property
    def env(self) -> dict[str, str]:
        """Nothing of ours but PATH; no telemetry, no look at prices."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(self.temp),
            "HARBOR_TELEMETRY": "off",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def processes(self) -> list[str]:
        """The command lines of processes that name this project, and of daemons that its tasks have started."""
        lines = [command_line(pid).replace("\0", " ") for pid in others()]
        return [line for line in lines if str(self.temp) in line or self.mark in line]

    @property
    def daemon(self) -> str:
        """A shell command that leaves a process behind, which can be found by its name."""
        return f"setsid bash -c 'exec -a {self.mark} sleep 4321' >/dev/null 2>&1 &"


def wait_until(condition: Callable[[], object]) -> None:
    """Ask again and again until it is so; a busy machine takes its time to start Harbor."""
    deadline = time.monotonic() + _TAKES
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def read_job(job: Path) -> list[HarborTrial]:
    """The trials of a job, by name."""
    results = sorted(job.glob("*/result.json"))
    return [HarborTrial(folder=one.parent, result=json.loads(one.read_text())) for one in results]


def by_task(trials: list[HarborTrial]) -> dict[str, HarborTrial]:
    """Trials by the name of their task."""
    return {one.result["task_name"].removeprefix("lab/"): one for one in trials}
