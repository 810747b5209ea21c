"""A whole coding task in the format of Harbor: what planning, running and proving need to know of it.

The task itself stays where it lies, and Harbor reads it there. These values are what Demeanor reads of it beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

VerifierMode: TypeAlias = Literal["shared", "separate"]
TaskNetworkMode: TypeAlias = Literal["public", "no-network", "allowlist"]
RewardStrategy: TypeAlias = Literal["mean", "final"]

VERIFIER_TIMEOUT = 600.0
"""Seconds that a verifier may take where nobody says; Harbor's own default."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskNetwork:
    """What a phase of a task may reach."""

    mode: TaskNetworkMode = "public"
    """Everything, nothing, or what is listed."""

    hosts: tuple[str, ...] = ()
    """What is listed: names, `*.names`, addresses and ranges."""

    declared: bool = True
    """Whether the task says so; where it says nothing, Harbor lets it reach everything."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskEnvironment:
    """The machine that a task asks for."""

    folder: Path
    """Where its definition lies: the Dockerfile, and what is copied from."""

    image: str | None = None
    """A ready-made image, which is used instead of building one."""

    dockerfile: bool = False
    """Whether the folder holds a Dockerfile."""

    compose: bool = False
    """Whether the folder holds a docker-compose.yaml: several machines."""

    os: Literal["linux", "windows"] = "linux"
    """The operating system."""

    network: TaskNetwork = TaskNetwork(declared=False)
    """What can be reached where a phase says nothing else."""

    build_timeout: float = 600.0
    """Seconds that building may take."""

    cpus: float | None = None
    """Processors; None where it does not matter."""

    memory_mb: int | None = None
    """Memory; None where it does not matter."""

    storage_mb: int | None = None
    """Disk; None where it does not matter."""

    gpus: int | None = None
    """Graphics processors; None where there need be none."""

    workdir: str | None = None
    """Where commands are run, if not where the image says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStep:
    """One instruction with its verifier. A task without `[[steps]]` is one step without a name."""

    instruction: str
    """What the agent is asked."""

    name: str = ""
    """The step's folder below `steps/`; empty where the task has no steps."""

    agent_timeout: float | None = None
    """Seconds that the agent may take; None means no limit."""

    verifier_timeout: float = VERIFIER_TIMEOUT
    """Seconds that the verifier may take, as Harbor really counts them."""

    verifier_mode: VerifierMode = "shared"
    """Whether the verifier runs where the agent ran, or in an environment of its own."""

    agent_network: TaskNetwork = TaskNetwork(declared=False)
    """What the agent may reach."""

    verifier_network: TaskNetwork = TaskNetwork(declared=False)
    """What the verifier may reach."""

    verifier_environment: TaskEnvironment | None = None
    """Where a separate verifier runs; None for a shared one."""

    min_reward: Mapping[str, float] = field(default_factory=dict)
    """What the step must reach for the next one to be tried, by reward key."""

    solution: Path | None = None
    """The script of the oracle; None where there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborTask:
    """A whole coding task: instruction, environment, verifier and perhaps a solution, in one folder."""

    folder: Path
    """Where it lies; absolute."""

    name: str
    """What Harbor calls it in its results: `org/name`, or the folder's name where it gives none."""

    digest: str
    """`sha256:…` of its files, as Harbor's locks and datasets count it (but for what a .gitignore leaves out)."""

    content: str
    """Differs as soon as anything of the task does but its `[metadata]`, which only labels it."""

    steps: tuple[TaskStep, ...]
    """What is asked, one after the other; at least one."""

    environment: TaskEnvironment
    """Where the agent works."""

    version: str | None = None
    """Its version, if it gives one."""

    schema: str = "1.4"
    """The version of the format it is written in."""

    reward: str = "reward"
    """The key of the reward that counts."""

    at_least: float = 1.0
    """The reward with which a trial passes."""

    strategy: RewardStrategy = "mean"
    """How the rewards of several steps become one."""

    artifacts: tuple[str, ...] = ()
    """What a separate verifier gets to see of the agent's environment, besides /logs/artifacts."""

    warnings: tuple[str, ...] = ()
    """What is allowed and yet probably not meant, each with what to do."""

    @property
    def several_steps(self) -> bool:
        """Whether it is written with `[[steps]]`."""
        return bool(self.steps[0].name)

    @property
    def agent_timeout(self) -> float | None:
        """Seconds for all steps of the agent together; None where one of them has no limit."""
        times = [step.agent_timeout for step in self.steps]
        return None if None in times else sum(time for time in times if time is not None)
