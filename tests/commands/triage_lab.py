"""Trials that went wrong, as values."""

from __future__ import annotations

from demeanor.commands.trace.trial_steps import TrialSteps
from demeanor.core.policy import Policy
from demeanor.core.record import Record
from demeanor.core.trajectory import Called, Event, Kind, Said
from demeanor.core.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause

PASS = Pass()


def failed(*reasons: str, check: str = "saves") -> Fail:
    """A fail with its reasons."""
    return Fail(findings=tuple(Finding(check=check, answer="no", reason=reason) for reason in reasons))


def void(detail: str, cause: VoidCause = VoidCause.PROVIDER) -> Void:
    """A void."""
    return Void(cause=cause, detail=detail)


def call(tool: str, **arguments: str) -> Called:
    """A call."""
    return Called(turn=1, id="", tool=tool, kind=Kind.OTHER, arguments=arguments)


def said(text: str = "Done.") -> Said:
    """Last words."""
    return Said(turn=2, text=text)


def story(
    verdict: Verdict,
    *events: Event,
    name: str = "saves",
    subject: str = "a:m",
    number: int = 1,
    run: str = "r",
    policy: Policy = Policy.USUALLY_PASSES,
    told: bool = True,
) -> TrialSteps:
    """A trial with its steps."""
    record = Record(
        eval=name, subject=subject, number=number, attempt=1, verdict=verdict, policy=policy, chain="1. read_file()"
    )
    return TrialSteps(run=run, record=record, events=events if told else None)
