"""The plan of a run: cells (eval x subject), each with trials."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject

DEFAULT_TRIALS = 3
"""The number of trials of a cell, if neither the eval nor the configuration says otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One run of one subject on one eval."""

    eval: Eval
    """The behaviour under test."""

    subject: Subject
    """The subject under test."""

    number: int
    """1, 2, 3 … within its cell."""

    timeout: float
    """The time limit in seconds."""

    @property
    def id(self) -> str:
        """`eval/subject/number`: unique within a run, the same on a resume."""
        return f"{self.eval.name}/{self.subject}/{self.number}"

    @property
    def cell(self) -> str:
        """The id of its cell."""
        return f"{self.eval.name}/{self.subject}"

    def seed(self, run_seed: int) -> int:
        """A 32-bit seed that depends only on the trial, not on the order of execution."""
        return trial_seed(run_seed, self.id)


def trial_seed(run_seed: int, trial: str) -> int:
    """The seed of a trial by its id."""
    return int.from_bytes(hashlib.sha256(f"{run_seed}/{trial}".encode()).digest()[:4], "big")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One eval on one subject, with its trials."""

    eval: Eval
    """The behaviour under test."""

    subject: Subject
    """The subject under test."""

    trials: tuple[Trial, ...]
    """The trials to run; empty if the cell is skipped."""

    skipped: str | None = None
    """Why the cell is skipped; None if it isn't."""

    needed: int | None = None
    """The number of trials that must be judged, if it is configured; None means the policy's own rule."""

    whole: int | None = None
    """In a shard: the number of trials of all shards together."""

    stored_layer: int | None = None
    """The layer of an eval that was rebuilt from its name; None if the eval itself tells it."""

    @property
    def layer(self) -> int:
        """The layer of the test pyramid: 3 for a whole task, otherwise 2."""
        return self.eval.layer if self.stored_layer is None else self.stored_layer

    @property
    def id(self) -> str:
        """`eval/subject`: unique within a run."""
        return f"{self.eval.name}/{self.subject}"


def named_cell(
    name: str, subject: str, *, policy: Policy, trials: int, skipped: str | None = None, layer: int = 2
) -> Cell:
    """A cell rebuilt from names and numbers, for an eval whose file may be gone or on another machine."""
    agent, _, model = subject.partition(":")
    who = Subject(agent=agent, model=model)
    eval_ = Eval(name=name, policy=policy, scenario=Scenario(prompts=()), checks=(), source=Source(path=Path(name)))
    numbered = tuple(Trial(eval=eval_, subject=who, number=n + 1, timeout=0) for n in range(trials))
    return Cell(eval=eval_, subject=who, trials=numbered, skipped=skipped, stored_layer=layer)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """All cells of a run, in the order in which they are reported."""

    cells: tuple[Cell, ...]
    """One per eval and subject."""

    def __post_init__(self) -> None:
        """Refuse what would run and be counted twice: two cells, or two trials of a cell, with the same id."""
        ids: set[str] = set()
        for cell in self.cells:
            if cell.id in ids or len({trial.id for trial in cell.trials}) < len(cell.trials):
                raise ValueError(f"a plan has trials with the same id: cell={cell.id}")
            ids.add(cell.id)

    def trials(self) -> Iterator[Trial]:
        """Every trial: the first of each cell, then the second of each, and so on, for broad early results."""
        most = max((len(cell.trials) for cell in self.cells), default=0)
        for index in range(most):
            for cell in self.cells:
                if index < len(cell.trials):
                    yield cell.trials[index]

    @property
    def size(self) -> int:
        """The number of trials."""
        return sum(len(cell.trials) for cell in self.cells)
