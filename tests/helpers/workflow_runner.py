"""Runs the jobs of a GitHub workflow on this machine: each `run:` block in order, with GitHub's variables and rules.

Actions are played: checkout and setup-python do nothing, the cache and the artifacts are folders. `sudo` and `pip`
install nothing, because the programs are here already.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.helpers import preloaded


def write_programs(folder: Path, shell: str = "/bin/sh") -> None:
    """Programs that a workflow expects on PATH."""
    scripts = {"sudo": "exit 0", "pip": 'echo "pip $*"', "python": f'exec "{sys.executable}" "$@"'}
    programs = {name: f"#!{shell}\n{text}\n" for name, text in scripts.items()}
    for name, text in {**programs, "demeanor": preloaded.program()}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)


@dataclass(kw_only=True)
class JobResult:
    """A finished job."""

    success: bool
    """Whether no step failed."""

    summary: str
    """The job's summary."""

    log: str = ""
    """The output of all steps."""

    steps: dict[str, str] = field(default_factory=dict)
    """Step → success, failure or skipped."""


@dataclass(kw_only=True)
class WorkflowRunner:
    """A machine that runs workflows of a repository; caches and artifacts outlive the jobs."""

    repository: Path
    home: Path
    secrets: dict[str, str] = field(default_factory=dict)
    run_id: int = 0
    inputs: dict[str, str] = field(default_factory=dict)
    action_path: str = ""
    head: str = ""
    """The commit of the pull request."""
    variables: dict[str, str] = field(default_factory=dict)
    """The variables of the repository."""
    shard: tuple[int, str] = (0, "")
    """The index of a job in its matrix, and its value."""

    def run_action(self, action: Path, **inputs: str) -> JobResult:
        """Run a composite action as the only step of a job."""
        content = yaml.safe_load(action.read_text("utf-8"))
        self.inputs = {name: str(one["default"]) for name, one in content["inputs"].items()} | inputs
        self.action_path = str(action.parent)
        return self._run(content["runs"], {}, checkout=True)

    def run(self, workflow: str, job: str = "evals", *, checkout: bool = True, **env: str) -> JobResult:
        """Run one job in a new clone of the repository, which is removed afterwards."""
        path = self.repository / ".github/workflows" / workflow
        content = yaml.safe_load(path.read_text("utf-8"))
        return self._run(content["jobs"][job], {**content["env"], **env}, checkout=checkout)

    def _run(self, content: Any, env: dict[str, str], *, checkout: bool) -> JobResult:
        self.run_id += 1
        folder = self.home / "work"
        shutil.rmtree(folder, ignore_errors=True)
        if checkout:
            subprocess.run(["git", "clone", "--quiet", str(self.repository), str(folder)], check=True)
        result = JobResult(success=True, summary="")
        for step in content["steps"]:
            name = step.get("name") or step.get("uses") or step["run"]
            if not self._due(step.get("if"), result, folder):
                result.steps[name] = "skipped"
                continue
            done = self._step(step, {**content.get("env", {}), **step.get("env", {})}, folder, result, env)
            result.steps[name] = "success" if done else "failure"
            result.success = result.success and done
        return result

    def _due(self, condition: str | None, result: JobResult, folder: Path) -> bool:
        if condition is None:
            return result.success
        text = condition.removeprefix("${{").removesuffix("}}").strip()
        text = re.sub(r"inputs\.(\w+) == '(\w+)'", lambda one: str(self.inputs[one[1]] == one[2]), text)
        ran = bool(list(folder.glob("results/*/run.json")))
        known = {"True": True, "False": False, "always()": True, "!cancelled()": True}
        known["vars.EVALS_SHARDS"] = "EVALS_SHARDS" in self.variables
        known["hashFiles('results/*/run.json') != ''"] = ran
        return all(known[part] for part in text.split(" && "))

    def _step(self, step: Any, env: dict[str, str], folder: Path, result: JobResult, more: dict[str, str]) -> bool:
        if "run" in step:
            filled = {name: self._filled(str(value)) for name, value in env.items()}
            return self._shell(self._filled(step["run"]), {**filled, **more}, folder, result)
        action, inputs = step["uses"], {key: self._filled(str(value)) for key, value in step.get("with", {}).items()}
        if action.startswith("actions/cache/restore@"):
            saved = sorted(self.home.glob(f"cache/{inputs['restore-keys']}*"), key=lambda one: one.stat().st_mtime_ns)
            if saved:
                target = folder / inputs["path"]
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(saved[-1], target)
        elif action.startswith("actions/cache/save@"):
            (self.home / "cache").mkdir(exist_ok=True)
            target = self.home / "cache" / inputs["key"]
            assert not target.exists(), "GitHub refuses to save the same key again"
            shutil.copy(folder / inputs["path"], target)
        elif action.startswith("actions/upload-artifact@"):
            if (folder / inputs["path"]).exists():
                target = self.home / "artifacts" / inputs["name"]
                target.mkdir(parents=True, exist_ok=inputs.get("overwrite") == "True")
                shutil.copy(folder / inputs["path"], target)
        elif action.startswith("actions/download-artifact@"):
            for source in (self.home / "artifacts").glob(inputs.get("pattern", inputs.get("name", ""))):
                target = folder / inputs.get("path", "")
                shutil.copytree(source, target / source.name if "pattern" in inputs else target, dirs_exist_ok=True)
        elif action.startswith("actions/checkout@") and "ref" in inputs:
            subprocess.run(["git", "checkout", "--quiet", inputs["ref"]], cwd=folder, check=True)
        else:
            assert action.startswith(("actions/checkout@", "actions/setup-python@", "actions/cache@")), action
        return True

    def _filled(self, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            known = {"github.run_id": str(self.run_id), "github.run_attempt": "1", "runner.os": "Linux",
                     "github.token": "job-token", "hashFiles('demeanor.toml')": "0",
                     "github.event.pull_request.head.sha": self.head,
                     "github.action_path": self.action_path}  # fmt: skip
            scope, _, name = found[1].partition(".")
            if scope == "inputs":
                return self.inputs[name]
            if scope == "vars":
                return self.variables.get(name, "")
            known |= {"strategy.job-index": str(self.shard[0]), "matrix.shard": self.shard[1]}
            return self.secrets.get(name, "") if scope == "secrets" else known[found[1]]

        return re.sub(r"\$\{\{ (.*?) \}\}", value, text)

    def _shell(self, script: str, env: dict[str, str], folder: Path, result: JobResult) -> bool:
        shims = self.home / "bin"
        if not shims.exists():
            shims.mkdir()
            write_programs(shims)
        folder.mkdir(exist_ok=True)
        summary = self.home / "summary"
        summary.write_text("")
        end = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
            cwd=folder,
            env={
                "PATH": f"{shims}:{os.environ['PATH']}",
                "HOME": str(self.home),
                "CI": "true",
                "GITHUB_ACTIONS": "true",
                "GITHUB_RUN_ID": "7",
                "GITHUB_REPOSITORY": "acme/agent",
                "GITHUB_STEP_SUMMARY": str(summary),
                **env,
            },
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        result.log += end.stdout + end.stderr
        result.summary += summary.read_text()
        return end.returncode == 0
