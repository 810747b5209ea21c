"""The nights that count for an eval: those since the eval itself or its policy last changed.

An edited eval is another eval, and a demoted one has to earn its promise anew, so both restart the count. A change of
agent, prompt or model does not: nightly runs follow a product that changes every day, and an eval that holds through
that is what a promotion is about. Such changes are shown, and a strict rule may restart on them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from demeanor.commands.promote.values import Night, NightState
from demeanor.core.history import RunCell
from demeanor.core.policy import Policy
from demeanor.core.run_diff import RunDiff
from demeanor.store.history.nights import ByRun, RunId, changes, count


@dataclass(frozen=True, kw_only=True, slots=True)
class Incubation:
    """One eval's nights, as far as they count."""

    nights: tuple[Night, ...]
    """The nights that were looked at, oldest first; those before the era say so."""

    counting: tuple[RunId, ...]
    """Those that count, oldest first."""

    cells: Mapping[str, ByRun]
    """Enabled subject → night → cells."""

    @property
    def complete(self) -> int:
        """How many of these nights judged every enabled subject."""
        return sum(night.complete for night in self.nights)

    @property
    def streak(self) -> int:
        """How many of the latest nights, without a gap, are perfect."""
        length = 0
        for night in reversed(self.nights):
            if not night.perfect:
                break
            length += 1
        return length

    def counts(self, subject: str, runs: Sequence[RunId]) -> tuple[int, int]:
        """Passed and failed of a subject in these nights."""
        by_run = self.cells[subject]
        return count(cell for run in runs for cell in by_run.get(run[1], ()))

    def changes(self, runs: Sequence[RunId]) -> tuple[RunDiff, ...]:
        """What changed from one of these nights to the next."""
        found: list[RunDiff] = []
        for by_run in self.cells.values():
            found += changes([cell for run in runs for cell in by_run.get(run[1], ()) if cell.judged])
        return tuple(sorted(found, key=lambda change: (change.started, change.subject)))


def era_of(
    cells: Mapping[str, ByRun],
    nights: Sequence[RunId],
    subjects: Sequence[str],
    policy: Policy,
    *,
    least: int | None = None,
    complete: int = 0,
    restart_on_subject_change: bool = False,
) -> Incubation:
    """The era of an eval that has `policy` now, on the enabled subjects: from the latest night backwards.

    With `least`, it looks no further back than it must: at `least` nights, and until so many are complete.
    """
    ours = {subject: cells.get(subject, {}) for subject in subjects}
    same = _Same(policy, restart_on_subject_change=restart_on_subject_change)
    told: list[Night] = []
    counting: list[RunId] = []
    open_end = True
    for run in reversed(nights):
        if least is not None and len(told) >= least and (complete <= 0 or not open_end):
            break
        found = {subject: ours[subject].get(run[1], ()) for subject in subjects}
        open_end = open_end and same.as_later([cell for those in found.values() for cell in those])
        states = {subject: _state(those) if open_end else "before" for subject, those in found.items()}
        night = Night(run=run[1], started=run[0], states=states)
        if open_end:
            counting.append(run)
            complete -= night.complete
        elif least is None:
            break
        told.append(night)
    return Incubation(nights=tuple(reversed(told)), counting=tuple(reversed(counting)), cells=ours)


class _Same:
    """Whether an earlier night is of the same eval (and subject) as the later ones; asked from the latest backwards."""

    def __init__(self, policy: Policy, *, restart_on_subject_change: bool) -> None:
        self.policy = policy
        self.eval_hash = ""
        self.prints: dict[str, str] | None = {} if restart_on_subject_change else None

    def as_later(self, cells: Sequence[RunCell]) -> bool:
        """Whether nothing differs; what is unknown does not."""
        for cell in cells:
            if cell.policy is not self.policy:
                return False
            self.eval_hash = self.eval_hash or cell.eval_hash
            if cell.eval_hash and cell.eval_hash != self.eval_hash:
                return False
            if self.prints is None or not cell.fingerprint:
                continue
            if self.prints.setdefault(cell.subject, cell.fingerprint) != cell.fingerprint:
                return False
        return True


def _state(cells: Sequence[RunCell]) -> NightState:
    passed = 0
    for cell in cells:
        if cell.failed:
            return "fail"
        passed += cell.passed
    return "pass" if passed else "no data"
