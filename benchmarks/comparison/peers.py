"""The other tools: how each is installed, in an environment of its own, and how it does the same work.

The work of one trial: start a program in a new folder, wait for it, and check the file that it wrote. Eight trials run
at a time, where the tool allows it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.comparison.measure import environment

ROOT = Path(__file__).resolve().parents[2]
JOBS = 8
CACHE = Path(os.environ.get("DEMEANOR_BENCH_CACHE") or Path.home() / ".cache/demeanor-bench")
"""Where the environments of the other tools are."""

_PYDANTIC = """
import asyncio, json, subprocess, sys, tempfile
from pathlib import Path
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext

class Wrote(Evaluator):
    def evaluate(self, ctx: EvaluatorContext) -> bool:
        return ctx.output == "hi"

async def trial(folder):
    Path(folder).mkdir()
    process = await asyncio.create_subprocess_exec(
        *COMMAND, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    await process.communicate()
    return Path(folder, "out.txt").read_text()

TRIALS, COMMAND = int(sys.argv[1]), json.loads(sys.argv[2])
with tempfile.TemporaryDirectory() as top:
    cases = [Case(name=str(n), inputs=f"{top}/{n}") for n in range(TRIALS)]
    data = Dataset(name="bench", cases=cases, evaluators=[Wrote()])
    report = data.evaluate_sync(trial, max_concurrency=JOBS, progress=False)
assert len(report.cases) == TRIALS and all(a.value for c in report.cases for a in c.assertions.values())
"""
_XDIST = """
import json, os, subprocess
import pytest

@pytest.mark.parametrize("number", range(int(os.environ["TRIALS"])))
def test_writes(number, tmp_path):
    subprocess.run(json.loads(os.environ["COMMAND"]), cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "out.txt").read_text() == "hi"
"""
_INSPECT = """
import json, os
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer
from inspect_ai.solver import solver
from inspect_ai.util import sandbox

@solver
def runs():
    async def solve(state, generate):
        await sandbox().exec(json.loads(os.environ["COMMAND"]))
        return state
    return solve

@scorer(metrics=[accuracy()])
def wrote():
    async def score(state, target):
        return Score(value=CORRECT if await sandbox().read_file("out.txt") == "hi" else INCORRECT)
    return score

@task
def bench():
    samples = [Sample(input="Write.", id=str(n)) for n in range(int(os.environ["TRIALS"]))]
    return Task(dataset=samples, solver=runs(), scorer=wrote(), sandbox="local")
"""
_VITEST = """
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
const run = promisify(execFile);
const [program, ...words] = JSON.parse(process.env.COMMAND);
for (let n = 0; n < Number(process.env.TRIALS); n++)
  test.concurrent(`writes ${n}`, async () => {
    const folder = mkdtempSync(`${process.env.WORK}/t-`);
    await run(program, words, { cwd: folder });
    expect(readFileSync(`${folder}/out.txt`, "utf8")).toBe("hi");
  }, 600000);
"""
_PROMPTFOO = """
const { execFile } = require("node:child_process");
const { mkdtempSync, readFileSync } = require("node:fs");
const [program, ...words] = JSON.parse(process.env.COMMAND);
module.exports = class {
  id() { return "writer"; }
  callApi() {
    const folder = mkdtempSync(`${process.env.WORK}/t-`);
    return new Promise((done) => execFile(program, words, { cwd: folder },
      (error) => done(error ? { error: String(error) } : { output: readFileSync(`${folder}/out.txt`, "utf8") })));
  }
};
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """Another tool."""

    name: str
    """Its name."""

    package: str
    """Its package."""

    npm: bool = False
    """Whether it comes from npm; otherwise from PyPI."""

    more: tuple[str, ...] = ()
    """Further packages that it needs."""

    prepare: Callable[[Path, int], None]
    """Writes its files for so many trials to a folder."""

    command: Callable[[Path, int, str], Sequence[str]]
    """The command for so many trials, in its environment; the program of a trial is a JSON list."""

    version_command: tuple[str, ...] = ()
    """A command that only starts it, relative to its environment."""

    slow: bool = False
    """Whether it needs several times as long, so that it gets fewer rounds of many trials."""

    keeps: str = ""
    """What it keeps and isolates."""

    passed: Callable[[Path], int] | None = None
    """The number of trials that passed, from what it left; None if its exit code says whether all did."""

    most: int | None = None
    """The most trials that it is given, if it needs very long for one."""

    own: Path | None = None
    """Its environment, if it is not one of the bench."""

    asks: bool = True
    """Whether the program of a trial can reach a server on this machine."""

    @property
    def home(self) -> Path:
        """Its environment."""
        return self.own or CACHE / self.name.lower().replace(" ", "-")

    def install(self) -> str | None:
        """Install it if it is not; returns the problem."""
        if self.own is not None:
            return None if (self.own / ".ready").exists() else f"{self.own.name} is not installed; run: make harbor"
        marker = self.home / ".ready"
        if marker.exists():
            return None
        if self.npm and shutil.which("npm") is None:
            return "npm is not installed"
        self.home.mkdir(parents=True, exist_ok=True)
        if self.npm:
            (self.home / "package.json").write_text('{"private": true}')
            steps = [["npm", "install", "--silent", "--no-fund", "--no-audit", self.package, *self.more]]
        else:
            pip = [str(self.home / "bin/python"), "-m", "pip", "install", "--quiet", self.package, *self.more]
            steps = [[sys.executable, "-m", "venv", str(self.home)], pip]
        for step in steps:
            done = subprocess.run(step, cwd=self.home, env=environment(), capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return f"{' '.join(step[:4])} … failed: {done.stderr.strip()[-300:]}"
        marker.touch()
        return None

    def version(self) -> str:
        """The version of its package."""
        if self.npm:
            found = json.loads((self.home / f"node_modules/{self.package}/package.json").read_text())["version"]
            return str(found)
        code = f"import importlib.metadata as m; print(m.version({self.package!r}))"
        return subprocess.run(
            [self.home / "bin/python", "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()


def _file(name: str, text: str) -> Callable[[Path, int], None]:
    def write(folder: Path, trials: int) -> None:
        (folder / name).write_text(text.replace("JOBS", str(JOBS)))

    return write


def _prepare_promptfoo(folder: Path, trials: int) -> None:
    (folder / "writer.cjs").write_text(_PROMPTFOO)
    tests = [{"vars": {"n": str(n)}, "assert": [{"type": "equals", "value": "hi"}]} for n in range(trials)]
    config = {"prompts": ["Write {{n}}."], "providers": ["file://writer.cjs"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config))


def _prepare_harbor(folder: Path, trials: int) -> None:
    task = folder / "task"
    files = {
        "task.toml": 'version = "1.0"\n[environment]\nnetwork_mode = "no-network"\n',
        "instruction.md": "Write hi to out.txt.\n",
        "environment/Dockerfile": "FROM debian:12\nWORKDIR /app\n",
        "tests/test.sh": '#!/bin/sh\n[ "$(cat out.txt)" = hi ] && echo 1 > /logs/verifier/reward.txt\n',
        "solution/solve.sh": "#!/bin/sh\nprintf hi > out.txt\n",
    }
    for name, text in files.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)


PEERS = (
    Peer(
        name="pydantic-evals",
        package="pydantic-evals",
        keeps="keeps nothing, isolates nothing",
        prepare=_file("run.py", _PYDANTIC),
        command=lambda home, trials, program: [f"{home}/bin/python", "run.py", str(trials), program],
        version_command=("bin/python", "-c", "import pydantic_evals"),
    ),
    Peer(
        name="pytest-xdist",
        package="pytest-xdist",
        more=("pytest",),
        keeps="keeps nothing, isolates nothing; 2 workers",
        prepare=_file("test_bench.py", _XDIST),
        command=lambda home, trials, program: [
            *(f"{home}/bin/python", "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "test_bench.py")
        ],
        version_command=("bin/python", "-m", "pytest", "--version"),
    ),
    Peer(
        name="vitest",
        package="vitest",
        npm=True,
        keeps="keeps nothing, isolates nothing",
        prepare=_file("bench.test.mjs", _VITEST),
        command=lambda home, trials, program: [
            f"{home}/node_modules/.bin/vitest",
            *("run", "--maxConcurrency", str(JOBS), "--reporter", "dot", "--root", "."),
        ],
        version_command=("node_modules/.bin/vitest", "--version"),
    ),
    Peer(
        name="promptfoo",
        package="promptfoo",
        npm=True,
        slow=True,
        keeps="keeps outputs in SQLite, isolates nothing",
        prepare=_prepare_promptfoo,
        command=lambda home, trials, program: [
            f"{home}/node_modules/.bin/promptfoo",
            *("eval", "-c", "promptfooconfig.json", "-j", str(JOBS), "--no-cache", "--no-table", "--no-progress-bar"),
        ],
        version_command=("node_modules/.bin/promptfoo", "--version"),
    ),
    Peer(
        name="Inspect AI",
        package="inspect-ai",
        slow=True,
        keeps="keeps a log of every sample; a new folder, no isolation (sandbox `local`)",
        prepare=_file("bench.py", _INSPECT),
        command=lambda home, trials, program: [
            f"{home}/bin/inspect",
            *("eval", "bench.py", "--model", "mockllm/model", "--display", "none"),
            *("--max-samples", str(JOBS), "--max-sandboxes", str(JOBS), "--max-subprocesses", str(JOBS)),
        ],
        version_command=("bin/inspect", "--version"),
    ),
    Peer(
        name="Harbor",
        package="harbor",
        own=ROOT / ".venv-harbor",
        most=20,
        slow=True,
        asks=False,
        keeps="keeps everything; isolated by our bubblewrap environment",
        prepare=_prepare_harbor,
        passed=lambda work: sum(path.read_text().strip() == "1" for path in work.glob("jobs/*/*/verifier/reward.txt")),
        command=lambda home, trials, program: [
            f"{home}/bin/harbor",
            *("run", "-p", "task", "-a", "oracle", "-k", str(trials), "-n", str(JOBS), "-y"),
            *("--env", "demeanor.plugins.harbor.inside:BubblewrapEnvironment", "--jobs-dir", "jobs"),
        ],
        version_command=("bin/harbor", "--version"),
    ),
)


def peer_environment(work: Path, trials: int, program: str) -> dict[str, str]:
    """The environment of a peer's command: its work, a HOME of its own, and no telemetry or update checks."""
    home = work / "home"
    home.mkdir(exist_ok=True)
    switches = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "DO_NOT_TRACK": "1",
        "CI": "1",
        "PROMPTFOO_CONFIG_DIR": str(home / "promptfoo"),
        "HARBOR_TELEMETRY": "off",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    return environment(TRIALS=str(trials), COMMAND=program, WORK=str(work), HOME=str(home), **switches)
