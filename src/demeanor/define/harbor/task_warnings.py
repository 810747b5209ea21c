"""Warnings about valid but probably unintended settings of a task, each with a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from demeanor.core.harbor_task import TaskStep
from demeanor.define.harbor.task_tables import VerifierTable

_WRONG_FILE = b"rewards.json"


def task_warnings(
    steps: Sequence[TaskStep], verifier: VerifierTable, *, folder: Path, reward: str, strategy: str | None
) -> Iterator[str]:
    """The warnings of one task."""
    shared = [step for step in steps if step.verifier_mode == "shared"]
    if shared:
        yield (
            f"the verifier{_of(shared, steps)} shares the agent's environment, so the agent could forge its reward; "
            'set environment_mode = "separate" under [verifier] and list what it needs in artifacts'
        )
    endless = [step for step in steps if step.agent_timeout is None]
    if endless:
        yield f"the agent{_of(endless, steps)} has no time limit; set timeout_sec under [agent]"
    unsolved = [step for step in steps if step.solution is None]
    if unsolved:
        yield f"there is no solution{_of(unsolved, steps)}, so it is unknown whether the task can be solved"
    several = bool(steps[0].name)
    if several and verifier.timeout is not None and any(step.verifier_timeout != verifier.timeout for step in steps):
        yield "Harbor ignores timeout_sec under [verifier] if there are steps; set it in each step's verifier"
    if strategy is not None and not several:
        yield "multi_step_reward_strategy has no effect without [[steps]]"
    gated = {key for step in steps for key in step.min_reward}
    if gated and reward not in gated:
        yield f"min_reward uses {', '.join(sorted(gated))}, but the reward that counts is {reward}"
    for script in sorted(folder.glob("tests/*.sh")) + sorted(folder.glob("steps/*/tests/*.sh")):
        if _WRONG_FILE in script.read_bytes():
            yield f"{script.relative_to(folder).as_posix()} mentions rewards.json, but Harbor reads reward.json"


def _of(some: Sequence[TaskStep], steps: Sequence[TaskStep]) -> str:
    """The names of the affected steps, unless all are."""
    return "" if len(some) == len(steps) else f" of {', '.join(step.name for step in some)}"
