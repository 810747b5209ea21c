"""Records → tally of a cell → summary of a subject."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, last_attempts
from demeanor.core.values.tally import CaseGroup, Estimate, Mean, Summary, Tally
from demeanor.core.values.usage import total
from demeanor.core.values.verdict import Void
from demeanor.statistics import clustered_mean, estimate, pass_at_k, pass_hat_k, wilson_of_mean

if TYPE_CHECKING:
    from demeanor.core.values.history import RunCell
    from demeanor.core.values.trial import Cell


def tally(cell: Cell, records: Iterable[Record]) -> Tally:
    """Count the verdicts of one cell and ignore those of other cells; k is 1, 3 and the number of trials."""
    own = [record for record in records if record.cell == cell.id]
    last = last_attempts(own)
    return tally_trials(
        cell.eval.name,
        str(cell.subject),
        cell.eval.policy,
        last,
        own,
        missing=max(0, len(cell.trials) - len(last)),
        needed=cell.needed,
        skipped=cell.skipped,
        ks={1, 3, len(cell.trials)} - {0},
    )


def despite_lost(tally: Tally, lost: Sequence[str]) -> Tally:
    """The tally of a run that has lost shards: where trials are missing, all of them are needed, as a shard that is
    lost may hide any failure."""
    return replace(tally, needed=tally.planned) if lost and tally.missing else tally


def tally_trials(
    name: str,
    subject: str,
    policy: Policy,
    trials: Sequence[Record],
    attempts: Sequence[Record],
    *,
    missing: int,
    needed: int | None = None,
    skipped: str | None,
    ks: Iterable[int],
) -> Tally:
    """Count the verdicts of `trials`, the attempts that count, and what all their attempts used."""
    outcomes = Counter(record.verdict.outcome for record in trials)
    passed, judged = outcomes["pass"], outcomes["pass"] + outcomes["fail"]
    spent, unpriced, uncounted = total(record.spent for record in attempts)
    return Tally(
        eval=name,
        subject=subject,
        policy=policy,
        passed=passed,
        failed=outcomes["fail"],
        voided=outcomes["void"],
        void_causes=dict(Counter(trial.verdict.cause for trial in trials if isinstance(trial.verdict, Void))),
        missing=missing,
        attempts=len(attempts),
        needed=needed,
        skipped=skipped,
        rate=estimate(passed, judged) if judged else None,
        pass_at={k: pass_at_k(judged, passed, k) for k in sorted(set(ks))},
        pass_hat={k: pass_hat_k(judged, passed, k) for k in sorted(set(ks))},
        spent=spent,
        unpriced=unpriced,
        uncounted=uncounted,
    )


def summary(tallies: Sequence[Tally]) -> tuple[Summary, ...]:
    """One summary per subject, in the order in which the subjects first appear."""
    by_subject: dict[str, list[Tally]] = {}
    for tally in tallies:
        by_subject.setdefault(tally.subject, []).append(tally)
    return tuple(_summary_of(subject, own) for subject, own in by_subject.items())


def _summary_of(subject: str, tallies: Sequence[Tally]) -> Summary:
    counted = [tally for tally in tallies if tally.policy is not Policy.USUALLY_FAILS]
    judged = [tally for tally in counted if tally.judged]
    known_bad = [tally for tally in tallies if tally.policy is Policy.USUALLY_FAILS and tally.judged]
    spent, _, _ = total(tally.spent for tally in tallies)
    return Summary(
        subject=subject,
        evals=len(tallies),
        judged=len(judged),
        known_bad=len(known_bad),
        known_bad_rate=mean_rate(known_bad) if known_bad else None,
        statuses=dict(Counter(tally.status for tally in tallies)),
        rate=mean_rate(judged) if judged else None,
        pass_at=_means([tally.pass_at for tally in counted]),
        pass_hat=_means([tally.pass_hat for tally in counted]),
        spent=spent,
        unpriced=sum(tally.unpriced for tally in tallies),
        uncounted=sum(tally.uncounted for tally in tallies),
    )


def case_groups(tallies: Iterable[tuple[str | None, Tally]]) -> tuple[CaseGroup, ...]:
    """One group per shared name and subject, from tallies with the name that each shares with other cases."""
    groups: dict[tuple[str, str], list[Tally]] = {}
    for name, tally in tallies:
        if name is not None:
            groups.setdefault((name, tally.subject), []).append(tally)
    return tuple(_case_group(name, subject, own) for (name, subject), own in groups.items())


def _case_group(name: str, subject: str, tallies: Sequence[Tally]) -> CaseGroup:
    counts = [(tally.passed, tally.judged) for tally in tallies if tally.judged]
    value, low, high = clustered_mean(counts) if counts else (0.0, 0.0, 0.0)
    rate = Estimate(value=value, low=low, high=high) if counts else None
    return CaseGroup(name=name, subject=subject, cases=len(tallies), judged=len(counts), rate=rate)


def mean_rate(judged: Sequence[Tally | RunCell]) -> Estimate:
    """The mean of the rates of some cells that have judged trials, with its interval."""
    rates = [tally.passed / tally.judged for tally in judged]
    low, high = wilson_of_mean(rates, [tally.judged for tally in judged])
    return Estimate(value=math.fsum(rates) / len(rates), low=low, high=high)


def _means(per_eval: Sequence[Mapping[int, float | None]]) -> dict[int, Mean | None]:
    means: dict[int, Mean | None] = {}
    for k in sorted({k for numbers in per_eval for k in numbers}):
        values = [value for numbers in per_eval if (value := numbers.get(k)) is not None]
        means[k] = Mean(value=math.fsum(values) / len(values), evals=len(values)) if values else None
    return means
