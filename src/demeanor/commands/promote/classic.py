"""The rule that teams know: ten nights of incubation, then seven in a row without a single fail on any subject.

A night without data (missing, skipped, or nothing but voids) is not a pass: while it is among the last seven, nothing
is promoted. It is no fail either; it only has to grow old.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from demeanor.commands.gate.always import RATES
from demeanor.commands.promote.incubation import Incubation, era_of
from demeanor.commands.promote.values import Candidate, Night
from demeanor.core.error_rates import ErrorRates, Operating
from demeanor.core.percent import rate as percent
from demeanor.core.percent import share
from demeanor.core.policy import Policy
from demeanor.core.text import count
from demeanor.statistics.streak import chance_of_streak
from demeanor.store.history.nights import ByRun, RunId

TRIALS = 3
"""Trials per night, for the error rates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassicPromotion:
    """Its numbers."""

    incubation: int = 10
    """Nights in which every enabled subject must have been judged."""

    window: int = 7
    """The latest nights, all of which must be perfect."""

    restart_on_subject_change: bool = False
    """Whether a change of agent, prompt or model restarts the count, as a change of the eval does."""

    def judge(
        self, name: str, cells: Mapping[str, ByRun], nights: Sequence[RunId], subjects: Sequence[str]
    ) -> Candidate:
        """Hold the nights of one eval against the rule."""
        era = era_of(
            cells,
            nights,
            subjects,
            Policy.USUALLY_PASSES,
            least=self.window,
            complete=self.incubation,
            restart_on_subject_change=self.restart_on_subject_change,
        )
        window = era.nights[-self.window :]
        missing = self._missing(era, window)
        latest = tuple(nights[-self.window :])
        tally = {subject: era.counts(subject, latest) for subject in subjects}
        perfect = sum(night.perfect for night in window)
        return Candidate(
            eval=name,
            rule="seed",
            answer="wait" if missing else "promote",
            reason=(
                f"{perfect} of the last {self.window} nights perfect on all of {count(len(subjects), 'subject')}, "
                f"{min(era.complete, self.incubation)} of {self.incubation} nights of incubation"
            ),
            missing=missing,
            distance=max(0, self.incubation - era.complete, self.window - era.streak) if missing else 0,
            nights=window,
            counts={subject: (passed, passed + failed) for subject, (passed, failed) in tally.items()},
            changes=era.changes(latest),
        )

    def _missing(self, era: Incubation, window: Sequence[Night]) -> tuple[str, ...]:
        found = []
        if era.complete < self.incubation:
            found.append(f"{era.complete} of {self.incubation} nights in which every enabled subject was judged")
        if len(window) < self.window:
            found.append(f"{len(window)} of {self.window} nights were run at all")
        if not all(night.states for night in window):
            found.append("no subject is enabled for it")
        for night in window:
            for state, words in _WORDS.items():
                subjects = [subject for subject, found_state in night.states.items() if found_state == state]
                if subjects:
                    found.append(f"{night.run}: {words} {', '.join(subjects)}")
        return tuple(found)

    def characteristics(self, rates: Sequence[float] = RATES, *, subjects: int = 1) -> ErrorRates:
        """How often an eval of a given rate is promoted, if somebody asks every night."""

        def within(rate: float, nights: int) -> float:
            return chance_of_streak(
                rate ** (TRIALS * subjects), length=self.window, rounds=nights, earliest=self.incubation
            )

        later = ", ".join(f"{share(within(rate, 60))} at {percent(rate)}" for rate in (0.99, 0.95, 0.9, 0.8))
        return ErrorRates(
            rule="seed",
            action="promote",
            about=(
                f"at least {self.incubation} nights, and not one fail in the last {self.window} on any enabled subject"
            ),
            setting=f"{TRIALS} trials a night, {count(subjects, 'subject')}, asked every night for 30 nights",
            rows=tuple(Operating(rate=rate, chance=within(rate, 30)) for rate in rates),
            notes=(
                f"promoted within 60 nights: {later}",
                "a window that may be awaited lets nearly everything in: a 95 % eval then blocks one change in seven",
            ),
        )


_WORDS = {"fail": "failed on", "no data": "no data of", "before": "before the eval changed, on"}
