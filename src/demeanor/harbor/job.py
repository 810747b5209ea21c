"""One attempt as a job of Harbor's: a configuration of one task, one agent, one trial, and no retries.

Attempts, retries, concurrency and budgets are Demeanor's. So Harbor is asked for exactly one trial at a time, and every
attempt has a gateway session, a HOME and a fate of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.core.harbor_task import HarborTask
from demeanor.core.trial import Trial
from demeanor.harbor.environments import TaskPlace

JOB = "attempt"
"""The job's name, which is also its folder's."""

_SETUP_TAKES = 1200.0
_SLACK = 300.0


def job_config(
    trial: Trial,
    task: HarborTask,
    *,
    place: TaskPlace,
    agent: Mapping[str, Any],
    jobs: str,
    options: Mapping[str, Any],
) -> bytes:
    """The job as Harbor reads it. `jobs` is the folder for its results, `options` goes to the environment's class.

    The agent's time is the task's own, stretched or cut where the run asks for another; all steps share it.
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
            "environment": place.config(**options),
            "agents": [agent if own else {**agent, "override_timeout_sec": trial.timeout / len(task.steps)}],
            "tasks": [{"path": str(task.folder)}],
        }
    ).encode()


def agent_config(name: str, *, model: str, env: Mapping[str, str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The agent's part of the job."""
    which = {"import_path": name} if ":" in name and not name.startswith("acp:") else {"name": name}
    return {**which, "model_name": model or None, "env": dict(env), "kwargs": dict(kwargs)}


def longest(trial: Trial, task: HarborTask) -> float:
    """Seconds after which Harbor itself must be stuck: everything it may wait for, and some more."""
    machines = 1 + sum(step.verifier_mode == "separate" for step in task.steps)
    building = task.environment.build_timeout * machines
    return building + _SETUP_TAKES + trial.timeout + sum(step.verifier_timeout for step in task.steps) + _SLACK
