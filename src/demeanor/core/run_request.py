"""What a run was asked to do: enough to plan it, and to do the rest of it later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from demeanor.core.fault import Fault
from demeanor.core.record import RunKind


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    """The arguments of `demeanor run`, as values."""

    paths: tuple[str, ...] = ()
    """Files and folders with evals, with `::name` for one of them; none means the configuration's."""

    subjects: tuple[str, ...] = ()
    """Whom to try, as `agent:model`; none means the configuration's, or what an eval says itself."""

    model: str | None = None
    """Overrules the model of every subject."""

    names: tuple[str, ...] = ()
    """Exact names of evals; none means any."""

    keyword: str = ""
    """An expression as in pytest's -k."""

    suites: tuple[str, ...] = ()
    """Suites; none means any."""

    tags: tuple[str, ...] = ()
    """Tags; none means any."""

    tasks: tuple[str, ...] = ()
    """Parts of names: only Harbor tasks whose name holds one of them; none means any eval."""

    env: str | None = None
    """Where Harbor tasks are played; None means the configuration's, or what answers here."""

    trials: int | None = None
    """Overrules the number of trials of every eval."""

    policy: Literal["always", "all"] | None = None
    """Which policies run; None means all where evals were named, otherwise only ALWAYS_PASSES."""

    jobs: int | None = None
    """Trials that run at once."""

    timeout: float | None = None
    """Overrules the time limit of every eval, in seconds."""

    budget_usd: float | None = None
    """Money that the run may spend."""

    kind: RunKind = "local"
    """Why it is run."""

    sandbox: str | None = None
    """Where agents run; None means the configuration's."""

    fail_fast: bool = False
    """Start nothing more after the first failed trial."""

    update_snapshots: bool = False
    """Write prompt snapshots instead of comparing them."""

    faults: tuple[Fault, ...] = ()
    """How answers of the model are broken on purpose; none means the configuration's."""

    seed: int | None = None
    """Makes what Demeanor draws repeatable; None draws one."""

    record: str | None = None
    """The folder that cassettes are written to; None records nothing."""

    replay: str | None = None
    """The folder that cassettes are replayed from; None asks models."""
