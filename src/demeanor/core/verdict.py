"""Findings and verdicts. A judged trial and a broken one are different types, so that a crash can't be averaged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias


class VoidCause(StrEnum):
    """Why a trial says nothing about the behaviour."""

    PROVIDER = "provider"
    """The model's provider failed, was overloaded or out of reach."""

    RATE_LIMIT = "rate_limit"
    """The provider answered 429 until the end."""

    AUTH = "auth"
    """The provider refused the key."""

    STALLED = "stalled"
    """The trial ran out of time while the provider was silent."""

    BUDGET = "budget"
    """The money or tokens allowed were spent."""

    MISSING = "missing"
    """A program that is needed is not there."""

    SANDBOX = "sandbox"
    """The bench could not be set up or taken down."""

    HARNESS = "harness"
    """Demeanor itself failed."""

    UNREADABLE = "unreadable"
    """The trajectory or the workspace could not be read well enough to judge."""

    CASSETTE = "cassette"
    """A replay found no recorded answer: the cassette is absent, unreadable, or holds no such request."""

    CHECK = "check"
    """A check crashed instead of answering."""

    VERIFIER = "verifier"
    """The verifier of a Harbor task gave no reward, or none that can be read."""

    CANCELLED = "cancelled"
    """The run was stopped before the trial ended."""

    @property
    def retryable(self) -> bool:
        """Whether another attempt may end differently."""
        return self in {
            VoidCause.PROVIDER,
            VoidCause.RATE_LIMIT,
            VoidCause.STALLED,
            VoidCause.SANDBOX,
            VoidCause.HARNESS,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A check's answer with its reason."""

    check: str
    """The check's name."""

    answer: Literal["yes", "no", "unknown"]
    """Whether the evidence satisfies it; unknown where the evidence is not complete enough to say."""

    reason: str = ""
    """Why: the compared values, the offending call, the missing file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """The agent did the right thing."""

    findings: tuple[Finding, ...] = ()
    """Every check's answer."""

    outcome: Literal["pass"] = "pass"
    """Tells the verdicts apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fail:
    """The agent did not do the right thing."""

    findings: tuple[Finding, ...] = ()
    """Every check's answer; at least one is no."""

    outcome: Literal["fail"] = "fail"
    """Tells the verdicts apart."""

    @property
    def reason(self) -> str:
        """The reasons of all checks that said no."""
        return "\n".join(f.reason or f.check for f in self.findings if f.answer == "no")


@dataclass(frozen=True, kw_only=True, slots=True)
class Void:
    """Nothing can be said: counted neither as a pass nor as a fail."""

    cause: VoidCause
    """What kind of thing broke."""

    detail: str
    """What exactly, for a person."""

    findings: tuple[Finding, ...] = ()
    """What the checks said nevertheless."""

    outcome: Literal["void"] = "void"
    """Tells the verdicts apart."""

    @property
    def reason(self) -> str:
        """Cause and detail."""
        return f"void({self.cause}): {self.detail}"


Verdict: TypeAlias = Pass | Fail | Void
