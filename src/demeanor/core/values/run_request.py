"""The request for a run: enough to plan it and to resume it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from demeanor.core.values.fault import Fault
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.record import RunKind


@dataclass(frozen=True, kw_only=True, slots=True)
class Shard:
    """A part of the trials of a run, for machines that share nothing but the repository."""

    number: int
    """1, 2, 3 …"""

    of: int
    """How many parts there are."""

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    """The arguments of `demeanor run`, as values."""

    paths: tuple[str, ...] = ()
    """Files and folders with evals, with `::name` for a single one; empty means the configuration's."""

    subjects: tuple[str, ...] = ()
    """The subjects to test, as `agent:model`; empty means the eval's own or the configuration's."""

    model: str | None = None
    """Overrides the model of every subject."""

    names: tuple[str, ...] = ()
    """Exact names of evals; empty means all."""

    keyword: str = ""
    """An expression as in pytest's -k."""

    suites: tuple[str, ...] = ()
    """Suites; empty means all."""

    env: str | None = None
    """The environment of Harbor tasks; None means the configuration's, or one that works on this machine."""

    trials: int | None = None
    """Overrides the number of trials of every eval."""

    policy: Literal["always", "all"] | None = None
    """Which policies run; None means all if evals were named or it runs outside of CI, otherwise ALWAYS_PASSES."""

    jobs: int | None = None
    """The number of trials that run in parallel."""

    timeout: float | None = None
    """Overrides the time limit of every eval, in seconds."""

    budget_usd: float | None = None
    """The budget of the run, in US dollars."""

    budget_tokens: int | None = None
    """The budget of the run, in tokens of both directions."""

    kind: RunKind = "local"
    """Where it runs: `local`, `ci` or `nightly`."""

    sandbox: str | None = None
    """The sandbox level; None means the configuration's."""

    fail_fast: bool = False
    """Start no further trials after the first failed one."""

    update_snapshots: bool = False
    """Write prompt snapshots instead of comparing them."""

    faults: tuple[Fault, ...] = ()
    """Faults to inject into the model's answers; empty means the configuration's."""

    intervention: Intervention = field(default_factory=Intervention)
    """What is changed in every request of the agents."""

    seed: int | None = None
    """The random seed; None means a random one."""

    record: str | None = None
    """The folder to record cassettes in; None means no recording."""

    replay: str | None = None
    """The folder to replay cassettes from; None means to call the models."""

    agent_debug: bool = False
    """Whether agents write verbose logs, which are kept with the trials."""

    command: Literal["run", "gate", "compare", "bisect"] = "run"
    """The command that decides about the trials; `nightly` and pytest decide as `run` does."""

    build: bool = False
    """Whether the working tree is built first, by the command of the configuration."""

    shard: Shard | None = None
    """The part of the trials that runs; None means all of them."""

    lost: tuple[str, ...] = ()
    """Of a run that was joined from shards: what is missing of them, in a sentence each."""

    unread: tuple[str, ...] = ()
    """The definitions of evals that could not be read on the machine, a line each."""
