"""The measured error rates of judges, in the history: who may block a merge, and rates corrected for the errors."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from demeanor.config import Config
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import asks_judge, judge_identity
from demeanor.core.values.history import KeptDecision
from demeanor.core.values.ports import History
from demeanor.statistics import LabelledCounts, stratified_rate

CALIBRATED = "calibrated"
COUNTS = "counts"
"""The key of the labelled counts in the evidence of a stored calibration."""

TRIALS = "trials"
"""The key of the labelled trials (run, subject, number) there."""

DRIFTED = "drifted"
"""The answer of a stored recheck of a judge that has drifted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CorrectedRate:
    """The pass rate of a judged eval, corrected for the errors of its judge."""

    subject: str
    """The subject, as `agent:model`."""

    passed: int
    """Trials that the judge passed."""

    judged: int
    """Trials that it judged."""

    rate: float
    """The corrected rate."""

    low: float
    """The lower end of its interval, which includes the uncertainty of the labels."""

    high: float
    """The upper end."""


def corrected_rate(subject: str, passed: int, judged: int, labels: LabelledCounts) -> CorrectedRate:
    """The rate with its interval."""
    rate, interval = stratified_rate(passed, judged, labels)
    return CorrectedRate(subject=subject, passed=passed, judged=judged, rate=rate, low=interval.low, high=interval.high)


def held_out_labels(history: History, evals: Iterable[Eval]) -> dict[str, LabelledCounts]:
    """Eval → the held-out labels of its judge, if the judge is calibrated as it is now."""
    judged = [eval_ for eval_ in evals if asks_judge(eval_)]
    stored = history.last_decisions("calibrate") if judged else {}
    labels = {}
    for eval_ in judged:
        kept = stored.get(eval_.name)
        counts = _counts(kept, eval_) if kept is not None else None
        if counts is not None:
            labels[eval_.name] = counts
    return labels


def drifted_judges(history: History) -> tuple[str, ...]:
    """A sentence about each judge that has drifted since it was calibrated."""
    calibrated = history.last_decisions("calibrate")
    return tuple(
        kept.reason
        for name, kept in history.last_decisions("recheck").items()
        if kept.answer == DRIFTED and name in calibrated and calibrated[name].made < kept.made
    )


def uncalibrated(history: History, evals: Sequence[Eval], config: Config) -> Mapping[str, str]:
    """The evals whose judge is not calibrated and not trusted by name; each with what to do."""
    calibrated = held_out_labels(history, evals)
    return {
        eval_.name: "its judge is not calibrated, so it can't block; → demeanor validate --calibrate"
        f" {shlex.quote(eval_.name)}, or name it in `trusted` of [judge]"
        for eval_ in evals
        if asks_judge(eval_) and eval_.name not in calibrated and eval_.name not in config.judge.trusted
    }


def lost_calibrations(history: History, uncalibrated: Mapping[str, str]) -> Mapping[str, str]:
    """Of these evals, those whose judge was calibrated before it changed; each with what to do."""
    stored = history.last_decisions("calibrate") if uncalibrated else {}
    was = {name for name, kept in stored.items() if kept.answer == CALIBRATED}
    return {name: f"its judge has changed; {why}" for name, why in uncalibrated.items() if name in was}


def _counts(kept: KeptDecision, eval_: Eval) -> LabelledCounts | None:
    """The counts of a stored calibration; None if the judge has changed since, or tells nothing."""
    numbers = kept.evidence.get(COUNTS)
    if kept.answer != CALIBRATED or kept.eval_hash != judge_identity(eval_):
        return None
    if not isinstance(numbers, list) or len(numbers) != 4 or not all(isinstance(n, int) for n in numbers):
        return None
    counts = LabelledCounts(*numbers)
    return counts if counts.informative else None
