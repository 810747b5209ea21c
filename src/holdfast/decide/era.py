"""The nights that count for an eval: those since the eval itself or its policy last changed.

An edited eval is another eval, and a demoted one has to earn its promise anew, so both restart the count. A change of
agent, prompt or model does not: nightly runs follow a product that changes every day, and an eval that holds through
that is what a promotion is about. Such changes are shown, and a strict rule may restart on them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.core.change import Change
from holdfast.core.history import RunCell
from holdfast.core.policy import Policy
from holdfast.core.promotion import Night, NightState
from holdfast.decide.nights import ByRun, RunId, changes, count


@dataclass(frozen=True, kw_only=True, slots=True)
class Era:
    """One eval's nights, as far as they count."""

    nights: tuple[Night, ...]
    """All nights that were looked at, oldest first; those before the era say so."""

    counting: tuple[RunId, ...]
    """The nights that count, oldest first."""

    cells: Mapping[str, ByRun]
    """Enabled subject → night → cells."""

    @property
    def complete(self) -> int:
        """How many nights judged every enabled subject."""
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
        return count(cell for run in runs for cell in self.cells.get(subject, {}).get(run, ()))

    def changes(self, runs: Sequence[RunId]) -> tuple[Change, ...]:
        """What changed from one of these nights to the next."""
        found: list[Change] = []
        for subject, by_run in self.cells.items():
            judged = [cell for run in runs for cell in by_run.get(run, ()) if cell.judged]
            found += [change for change in changes(judged) if change.subject == subject]
        return tuple(sorted(found, key=lambda change: (change.started, change.subject)))


def era_of(
    cells: Mapping[str, ByRun],
    nights: Sequence[RunId],
    subjects: Sequence[str],
    policy: Policy,
    *,
    restart_on_subject_change: bool = False,
) -> Era:
    """The era of an eval that has `policy` now, on the enabled subjects."""
    ours = {subject: cells.get(subject, {}) for subject in subjects}
    first = _first_counting(ours, nights, policy, restart_on_subject_change=restart_on_subject_change)
    told = tuple(
        Night(
            run=run[1],
            started=run[0],
            states={s: _state(ours[s].get(run, ())) if index >= first else "before" for s in subjects},
        )
        for index, run in enumerate(nights)
    )
    return Era(nights=told, counting=tuple(nights[first:]), cells=ours)


def _first_counting(
    ours: Mapping[str, ByRun], nights: Sequence[RunId], policy: Policy, *, restart_on_subject_change: bool
) -> int:
    """The index of the first night of the era: walk back until something else is met."""
    eval_hash = ""
    prints: dict[str, str] = {}
    for index in range(len(nights) - 1, -1, -1):
        for subject, by_run in ours.items():
            for cell in by_run.get(nights[index], ()):
                eval_hash = eval_hash or cell.eval_hash
                known = prints.setdefault(subject, cell.fingerprint) or cell.fingerprint
                other_eval = cell.policy is not policy or (cell.eval_hash and cell.eval_hash != eval_hash)
                other_subject = cell.fingerprint and cell.fingerprint != known
                if other_eval or (restart_on_subject_change and other_subject):
                    return index + 1
                prints[subject] = known
    return 0


def _state(cells: Sequence[RunCell]) -> NightState:
    passed, failed = count(cells)
    if failed:
        return "fail"
    return "pass" if passed else "no data"
