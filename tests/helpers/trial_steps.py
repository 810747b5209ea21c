"""Trials with their steps, for the tests of triage and trace."""

from __future__ import annotations

from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.trajectory import Called, Event, Kind, Said
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.results.trial_steps import TrialSteps

PASS = Pass()


def failed(*reasons: str, check: str = "saves") -> Fail:
    """A failing verdict with its reasons."""
    return Fail(findings=tuple(Finding(check=check, answer="no", reason=reason) for reason in reasons))


def void(detail: str, cause: VoidCause = VoidCause.PROVIDER) -> Void:
    """A void verdict."""
    return Void(cause=cause, detail=detail)


def call(tool: str, **arguments: str) -> Called:
    """A tool call."""
    return Called(turn=1, id="", tool=tool, kind=Kind.OTHER, arguments=arguments)


def said(text: str = "Done.") -> Said:
    """A final message."""
    return Said(turn=2, text=text)


def trial_steps(
    verdict: Verdict,
    *events: Event,
    name: str = "saves",
    subject: str = "a:m",
    number: int = 1,
    run: str = "r",
    policy: Policy = Policy.USUALLY_PASSES,
    has_steps: bool = True,
) -> TrialSteps:
    """A trial with its steps."""
    record = Record(
        eval=name, subject=subject, number=number, attempt=1, verdict=verdict, policy=policy, chain="1. read_file()"
    )
    return TrialSteps(run=run, record=record, events=events if has_steps else None)
