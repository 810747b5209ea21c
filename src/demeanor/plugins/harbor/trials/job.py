"""One attempt as a Harbor job: the configuration of one task, one agent, one trial, and no retries.

Demeanor handles attempts, retries, concurrency and budgets. So Harbor runs exactly one trial at a time, and every
attempt has its own gateway session, HOME and outcome.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.core.values.trial import Trial
from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
from demeanor.plugins.harbor.format.task import HarborTask

JOB = "attempt"
"""The name of the job and of its folder."""

_SETUP_SECONDS = 1200.0
_EXTRA_SECONDS = 300.0


def job_config(
    trial: Trial,
    task: HarborTask,
    *,
    environment: EnvironmentChoice,
    agent: Mapping[str, Any],
    jobs: str,
    options: Mapping[str, Any],
) -> bytes:
    """The job's configuration file. `jobs` is the folder for results; `options` are passed to the environment's class.

    The agent's timeout is the task's, multiplied if the run asks for another; all steps share it.
    """
    own = task.agent_timeout
    return json.dumps(
        {
            "job_name": JOB,
            "jobs_dir": jobs,
            "n_attempts": 1,
            "n_concurrent_trials": 1,
            "quiet": True,
            "retry": {"max_retries": 0},
            "agent_timeout_multiplier": trial.timeout / own if own else 1.0,
            "environment": environment.config(**options),
            "agents": [agent if own else {**agent, "override_timeout_sec": trial.timeout / len(task.steps)}],
            "tasks": [{"path": str(task.folder)}],
        }
    ).encode()


def agent_config(name: str, *, model: str, env: Mapping[str, str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The agent's part of the job."""
    which = {"import_path": name} if ":" in name and not name.startswith("acp:") else {"name": name}
    return {**which, "model_name": model or None, "env": dict(env), "kwargs": dict(kwargs)}


def max_seconds(trial: Trial, task: HarborTask) -> float:
    """The time after which Harbor itself must be stuck: the sum of all its timeouts, and some more."""
    machines = 1 + sum(step.verifier_mode == "separate" for step in task.steps)
    building = task.environment.build_timeout * machines
    return (
        building + _SETUP_SECONDS + trial.timeout + sum(step.verifier_timeout for step in task.steps) + _EXTRA_SECONDS
    )
