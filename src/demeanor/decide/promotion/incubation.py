"""The nights that count for an eval: those since the eval, its policy or a model last changed.

An edited eval is a different eval, and a demoted one must qualify again. Another prompt or agent restarts nothing: an
eval that stays at 100 % through changes is what a promotion means. Another model has to show that it does as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_diff import RunDiff
from demeanor.decide.nights.night_cells import ByRun, RunId, changes, count
from demeanor.decide.promotion.candidate import CandidateNight, NightState


@dataclass(frozen=True, kw_only=True, slots=True)
class Incubation:
    """The nights of one eval that count."""

    nights: tuple[CandidateNight, ...]
    """The nights that were considered, oldest first; those before the last change have the state `before`."""

    counting: tuple[RunId, ...]
    """The runs that count, oldest first."""

    cells: Mapping[str, ByRun]
    """Enabled subject → night → cells."""

    @property
    def complete(self) -> int:
        """How many of these nights judged every enabled subject."""
        return sum(night.complete for night in self.nights)

    @property
    def streak(self) -> int:
        """The number of perfect nights in a row, up to the latest."""
        length = 0
        for night in reversed(self.nights):
            if not night.perfect:
                break
            length += 1
        return length

    def counts(self, subject: str, runs: Sequence[RunId]) -> tuple[int, int]:
        """Passed and failed trials of a subject in these nights."""
        by_run = self.cells[subject]
        return count(cell for run in runs for cell in by_run.get(run[1], ()))

    def trials(self, runs: Sequence[RunId]) -> int | None:
        """The smallest number of judged trials that a subject has in a night; None if there is none."""
        judged = [sum(cell.judged for cell in by_run.get(run[1], ())) for by_run in self.cells.values() for run in runs]
        return min((number for number in judged if number), default=None)

    def changes(self, runs: Sequence[RunId]) -> tuple[RunDiff, ...]:
        """What changed between these nights."""
        diffs: list[RunDiff] = []
        for by_run in self.cells.values():
            diffs += changes([cell for run in runs for cell in by_run.get(run[1], ()) if cell.judged])
        return tuple(sorted(diffs, key=lambda change: (change.started, change.subject)))


def incubation(
    cells: Mapping[str, ByRun],
    nights: Sequence[RunId],
    subjects: Sequence[str],
    policy: Policy,
    *,
    least: int | None = None,
    complete: int = 0,
) -> Incubation:
    """The nights that count for an eval with this `policy` on the enabled subjects.

    With `least`, it considers only as many nights as needed: at least `least`, and until `complete` of them are
    complete.
    """
    by_subject = {subject: cells.get(subject, {}) for subject in subjects}
    version = _Version(policy)
    considered: list[CandidateNight] = []
    counting: list[RunId] = []
    unchanged = True
    for run in reversed(nights):
        if least is not None and len(considered) >= least and (complete <= 0 or not unchanged):
            break
        runs_of = {subject: by_subject[subject].get(run[1], ()) for subject in subjects}
        unchanged = unchanged and version.matches([cell for those in runs_of.values() for cell in those])
        states = {subject: _state(those) if unchanged else "before" for subject, those in runs_of.items()}
        night = CandidateNight(run=run[1], started=run[0], states=states)
        if unchanged:
            counting.append(run)
            complete -= night.complete
        elif least is None:
            break
        considered.append(night)
    return Incubation(nights=tuple(reversed(considered)), counting=tuple(reversed(counting)), cells=by_subject)


class _Version:
    """The policy, eval hash and models of the latest nights; compares older nights with it. An eval that must always
    pass keeps its failures with any model."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.eval_hash = ""
        self.models: dict[str, str] = {}

    def matches(self, cells: Sequence[RunCell]) -> bool:
        """Whether a night is of the same version. What is unknown matches."""
        for cell in cells:
            if cell.policy is not self.policy:
                return False
            self.eval_hash = self.eval_hash or cell.eval_hash
            if cell.eval_hash and cell.eval_hash != self.eval_hash:
                return False
            if self.policy is Policy.ALWAYS_PASSES or not cell.model_hash:
                continue
            if self.models.setdefault(cell.subject, cell.model_hash) != cell.model_hash:
                return False
        return True


def _state(cells: Sequence[RunCell]) -> NightState:
    """A night with void trials has no failure to show, but is not perfect: they may be the agent's failures."""
    passed = voided = 0
    for cell in cells:
        if cell.failed:
            return "fail"
        passed, voided = passed + cell.passed, voided + cell.voided
    return "pass" if passed and not voided else "no data"
