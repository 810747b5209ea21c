"""A whole coding task in Harbor's format, as far as planning, running and validating need it.

Harbor reads the task from its folder; these values are what Demeanor reads beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path
from typing import Literal, TypeAlias

from demeanor.core.values.eval import Eval
from demeanor.core.values.whole_task import WholeTask

ENGINE = "harbor"
"""The name of the engine in Demeanor's entry points, and of its table in the configuration."""

VerifierMode: TypeAlias = Literal["shared", "separate"]
TaskNetworkMode: TypeAlias = Literal["public", "no-network", "allowlist"]

VERIFIER_TIMEOUT = 600.0
"""The default time limit of a verifier in seconds, as in Harbor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskNetwork:
    """The network access of one phase of a task."""

    mode: TaskNetworkMode = "public"
    """Everything, nothing, or some hosts."""

    declared: bool = True
    """Whether the task declares it; otherwise Harbor allows everything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskEnvironment:
    """The machine that a task needs."""

    folder: Path
    """The folder with the Dockerfile and its build context."""

    image: str | None = None
    """A prebuilt image, used instead of the Dockerfile."""

    dockerfile: bool = False
    """Whether the folder has a Dockerfile."""

    compose: bool = False
    """Whether the folder has a docker-compose.yaml, for several containers."""

    os: Literal["linux", "windows"] = "linux"
    """The operating system."""

    network: TaskNetwork = TaskNetwork(declared=False)
    """The network access of phases that declare none."""

    build_timeout: float = 600.0
    """The time limit of the build in seconds."""

    gpus: int | None = None
    """The number of GPUs; None if it needs none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStep:
    """One instruction with its verifier. A task without `[[steps]]` has one unnamed step."""

    instruction: str
    """What the agent is asked."""

    name: str = ""
    """The step's folder below `steps/`; empty if the task has no steps."""

    agent_timeout: float | None = None
    """The agent's time limit in seconds; None means no limit."""

    verifier_timeout: float = VERIFIER_TIMEOUT
    """The verifier's time limit in seconds, as Harbor applies it."""

    verifier_mode: VerifierMode = "shared"
    """Whether the verifier runs in the agent's environment or in its own."""

    verifier_network: TaskNetwork = TaskNetwork(declared=False)
    """The verifier's network access."""

    verifier_environment: TaskEnvironment | None = None
    """The environment of a separate verifier; None for a shared one."""

    min_reward: Mapping[str, float] = field(default_factory=dict)
    """The rewards that the step must reach before the next one starts, by key."""

    solution: Path | None = None
    """The reference solution's script; None if there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborTask(WholeTask):
    """A whole coding task: instruction, environment, verifier and perhaps a solution, in one folder.

    Its name is `org/name`, or the folder's name; its digest is `sha256:…` of its files, as in Harbor's locks and
    datasets (except for files that a .gitignore excludes); its content is a hash that ignores `[metadata]`.
    """

    engine: str = ENGINE
    """Harbor."""

    steps: tuple[TaskStep, ...]
    """The steps in order; at least one."""

    environment: TaskEnvironment
    """The agent's environment."""

    users: Mapping[str, str] = field(default_factory=dict)
    """The users that task.toml names for agents and verifiers, by key, such as `agent.user`."""

    @property
    def step_names(self) -> tuple[str, ...]:
        """The names of its steps; none for a task without `[[steps]]`."""
        return tuple(step.name for step in self.steps if step.name)

    @property
    def machines(self) -> tuple[TaskEnvironment, ...]:
        """The agent's environment, and those of separate verifiers."""
        verifiers = (step.verifier_environment for step in self.steps)
        return tuple(dict.fromkeys((self.environment, *(verifier for verifier in verifiers if verifier is not None))))

    @property
    def agent_timeout(self) -> float | None:
        """The agent's time limit for all steps together; None if a step has no limit."""
        times = [step.agent_timeout for step in self.steps]
        return None if None in times else fsum(time for time in times if time is not None)


def harbor_task(eval_: Eval) -> HarborTask:
    """The task of an eval that Harbor runs."""
    if not isinstance(eval_.task, HarborTask):
        raise TypeError(f"{eval_.name!r} is not a task in Harbor's format")
    return eval_.task
