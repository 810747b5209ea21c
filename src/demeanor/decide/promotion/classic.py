"""The rule `classic`: ten nights of incubation, then seven nights in a row without a failure on any subject.

A night without data (missing, skipped, with void trials, which may be failures) counts neither as a pass nor as a
failure. Nothing is promoted while such a night is among the last seven. Demotion is the reverse: one failure in the
last seven nights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from demeanor.core.text.percent import rate as percent, share
from demeanor.core.text.wording import all_of, count
from demeanor.core.values.error_rates import RATES, ErrorRates, Operating
from demeanor.core.values.policy import Policy
from demeanor.decide.nights.night_cells import ByRun, RunId
from demeanor.decide.promotion.candidate import Answer, Candidate, CandidateNight
from demeanor.decide.promotion.incubation import Incubation, incubation
from demeanor.decide.promotion.waiting import waiting_time
from demeanor.statistics import chance_of_streak

NAME = "classic"
TRIALS = 3
"""Trials per night, for the error rates."""

INCUBATION = 10
"""Nights in which every enabled subject must have been judged before a promotion."""

WINDOW = 7
"""The latest nights, all of which must be perfect."""

_STATES = {
    "fail": "failed on",
    "no data": "no data, or void trials, for",
    "before": "before the eval or the model changed, on",
}


def judge_promotion(
    name: str, cells: Mapping[str, ByRun], nights: Sequence[RunId], subjects: Sequence[str]
) -> Candidate:
    """Promote a USUALLY_PASSES eval whose last seven nights were perfect, after ten nights of incubation."""
    state = incubation(cells, nights, subjects, Policy.USUALLY_PASSES, least=WINDOW, complete=INCUBATION)
    window, latest = state.nights[-WINDOW:], tuple(nights[-WINDOW:])
    missing = _missing(state, window)
    perfect = sum(night.perfect for night in window)
    return Candidate(
        eval=name,
        rule=NAME,
        answer="wait" if missing else "promote",
        reason=(
            f"{perfect} of the last {WINDOW} nights perfect on {all_of(len(subjects), 'subject')}, "
            f"{min(state.complete, INCUBATION)} of {INCUBATION} nights of incubation"
        ),
        missing=missing,
        distance=max(0, INCUBATION - state.complete, WINDOW - state.streak) if missing else 0,
        nights=window,
        counts={s: (p, p + f) for s in subjects for p, f in [state.counts(s, latest)]},
        trials=state.trials(latest),
        changes=state.changes(latest),
    )


def _missing(progress: Incubation, window: Sequence[CandidateNight]) -> tuple[str, ...]:
    missing = []
    if progress.complete < INCUBATION:
        missing.append(f"{progress.complete} of {INCUBATION} nights in which every enabled subject was judged")
    if len(window) < WINDOW:
        missing.append(f"{len(window)} of {WINDOW} nights were run")
    if not all(night.states for night in window):
        missing.append("no subject is enabled for it")
    for night in window:
        for state, words in _STATES.items():
            subjects = [subject for subject, found_state in night.states.items() if found_state == state]
            if subjects:
                missing.append(f"{night.run}: {words} {', '.join(subjects)}")
    return tuple(missing)


def promotion_error_rates(rates: Sequence[float] = RATES, *, subjects: int = 1, trials: int = TRIALS) -> ErrorRates:
    """How often an eval is promoted, given its true rate, if the rule is applied every night."""

    def within(rate: float, nights: int) -> float:
        return chance_of_streak(rate ** (trials * subjects), length=WINDOW, rounds=nights, earliest=INCUBATION)

    later = ", ".join(f"{share(within(rate, 60))} at {percent(rate)}" for rate in (0.99, 0.95, 0.9, 0.8))
    return ErrorRates(
        rule=NAME,
        action="promote",
        about=f"at least {INCUBATION} nights, and no failure in the last {WINDOW} on any enabled subject",
        setting=f"{count(trials, 'trial')} a night, {count(subjects, 'subject')}, applied every night for 30 nights",
        rows=tuple(Operating(rate=rate, chance=within(rate, 30)) for rate in rates),
        notes=(
            f"promoted within 60 nights: {later}",
            "given enough nights, nearly every eval is promoted; a promoted 95 % eval blocks one change in seven",
        ),
    )


def nights_until_promotion(rate: float, trials: int) -> float:
    """The mean number of nights until an eval with one subject is promoted."""
    return waiting_time((0, 0), _after_night, lambda state: state == (INCUBATION, WINDOW), rate, trials=trials).mean


def _after_night(state: tuple[int, int], passed: int, failed: int) -> tuple[int, int]:
    nights, streak = state
    return min(nights + 1, INCUBATION), 0 if failed else min(streak + 1, WINDOW)


def nights_until_demotion(rate: float, trials: int) -> float:
    """The mean number of nights until an eval with one subject is demoted."""
    return 1 / (1 - rate**trials)


def judge_demotion(
    name: str, cells: Mapping[str, ByRun], nights: Sequence[RunId], subjects: Sequence[str]
) -> Candidate:
    """Demote an ALWAYS_PASSES eval that failed in the last seven nights."""
    state = incubation(cells, nights, subjects, Policy.ALWAYS_PASSES, least=WINDOW)
    window, latest = state.nights[-WINDOW:], tuple(nights[-WINDOW:])
    failures = []
    for night in window:
        failed = [subject for subject, outcome in night.states.items() if outcome == "fail"]
        if failed:
            failures.append(f"{night.run}: failed on {', '.join(failed)}")
    complete = sum(night.complete for night in window)
    answer: Answer = "keep" if complete else "wait"
    return Candidate(
        eval=name,
        rule=NAME,
        answer="demote" if failures else answer,
        reason=f"{len(failures)} of the last {WINDOW} nights with a failure, {complete} with all subjects judged",
        missing=tuple(failures),
        nights=window,
        counts={s: (p, p + f) for s in subjects for p, f in [state.counts(s, latest)]},
        trials=state.trials(latest),
        changes=state.changes(latest),
    )


def demotion_error_rates(rates: Sequence[float] = RATES, *, subjects: int = 1, trials: int = TRIALS) -> ErrorRates:
    """How often an eval is demoted in one week, given its true rate."""
    return ErrorRates(
        rule=NAME,
        action="demote",
        about=f"one failure on any enabled subject within the last {WINDOW} nights",
        setting=f"{count(trials, 'trial')} a night, {count(subjects, 'subject')}, one week",
        rows=tuple(Operating(rate=rate, chance=1 - rate ** (trials * WINDOW * subjects)) for rate in rates),
        notes=(f"a 99 % eval is demoted in {share(1 - 0.99 ** (trials * WINDOW * subjects))} of all weeks",),
    )
