"""Findings and verdicts. A judged trial and a broken one are different types, so a crash can't enter an average."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias


class VoidCause(StrEnum):
    """Why a trial could not be judged."""

    PROVIDER = "provider"
    """The model's provider failed, was overloaded or could not be reached."""

    RATE_LIMIT = "rate_limit"
    """The provider kept answering 429."""

    AUTH = "auth"
    """The provider rejected the API key."""

    STALLED = "stalled"
    """The trial timed out, or the agent gave up, while it waited for the provider."""

    BUDGET = "budget"
    """The budget of the eval or of the run was spent, in money or tokens; that of the trial itself is a fail."""

    MISSING = "missing"
    """A required program is not installed."""

    AGENT_START = "agent_start"
    """The agent failed before its first model request: it crashed at start-up or rejected its arguments."""

    SANDBOX = "sandbox"
    """The sandbox could not be set up or torn down."""

    HARNESS = "harness"
    """Demeanor itself failed."""

    SETUP = "setup"
    """The starting workspace can't be built from the eval: its `setup` failed, or its template can't be used."""

    UNREADABLE = "unreadable"
    """The trajectory or the starting workspace could not be read well enough to judge."""

    CASSETTE = "cassette"
    """A replay has no recorded answer: the cassette is absent or unreadable, or has no matching request."""

    PREFIX = "prefix"
    """The agent did not reach the step at which the trial starts: a request differs from the recording, or it ended."""

    INTERVENTION = "intervention"
    """An instruction that was to be removed or replaced was in none of the agent's requests."""

    FIXTURE = "fixture"
    """An MCP server of the eval did not start, or had no reply to a call."""

    CHECK = "check"
    """A check crashed or did not end, on the eval's own rehearsals too; or there are no rehearsals to try it on; or
    a pytest fixture of it failed."""

    JUDGE = "judge"
    """A judge model failed, refused, gave no readable answer, or could not tell."""

    USER = "user"
    """The user of the eval broke: its function crashed, or the model that plays it failed or left its role."""

    VERIFIER = "verifier"
    """The verifier of a Harbor task gave no readable reward."""

    WORKER = "worker"
    """The worker of the cluster that made the attempt died, did not answer, or sent an invalid result."""

    CANCELLED = "cancelled"
    """The run was stopped before the trial ended."""

    @property
    def retryable(self) -> bool:
        """Whether the trial is tried again."""
        return self in {
            VoidCause.PROVIDER,
            VoidCause.RATE_LIMIT,
            VoidCause.STALLED,
            VoidCause.SANDBOX,
            VoidCause.HARNESS,
            VoidCause.WORKER,
        }

    @property
    def agent_reachable(self) -> bool:
        """Whether an agent could bring it about, so that no decision may rest on its not being a failure: it may ask
        for what no cassette has, remove its own program, take the memory of its worker, or find a bug of ours."""
        return self not in {VoidCause.SETUP, VoidCause.CANCELLED}

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _REMEDIES[self]


_REMEDIES: Mapping[VoidCause, str] = {
    VoidCause.PROVIDER: "check the provider's status, then continue the run: demeanor run --resume latest",
    VoidCause.RATE_LIMIT: "lower `requests_per_minute` or `concurrency` of the provider, or use fewer --jobs",
    VoidCause.AUTH: "check the variable that `key_env` names: demeanor doctor",
    VoidCause.STALLED: "raise the eval's `timeout`, or check the provider's status",
    VoidCause.BUDGET: "continue with a larger budget: demeanor run --resume latest --budget 5usd (or 200000tokens)",
    VoidCause.MISSING: "install the program that the message names: demeanor doctor",
    VoidCause.AGENT_START: "see why the agent does not start: demeanor doctor",
    VoidCause.SANDBOX: "see what the sandbox needs: demeanor doctor --sandboxes",
    VoidCause.HARNESS: "read the log of the trial; if it is a bug of Demeanor, report it",
    VoidCause.SETUP: "correct the eval's `setup` or template; try it without an agent: demeanor validate",
    VoidCause.UNREADABLE: "if no exchange was recorded, set the agent's `dialect` and `base_url_env`, or ask about"
    " files and text only: demeanor help test-your-agent",
    VoidCause.CASSETTE: "record the trial again: demeanor run --record",
    VoidCause.PREFIX: "the agent no longer does what was recorded: fork a newer trial, or demeanor validate --refresh",
    VoidCause.INTERVENTION: "list the instructions that the agent sends, with their ids: demeanor trace --prompt",
    VoidCause.FIXTURE: "add a reply to the fixture; the message names the call, or says why the server did not start",
    VoidCause.CHECK: "correct the check, then judge the stored trials again: demeanor rejudge latest",
    VoidCause.JUDGE: "ask the judge again about the stored trials: demeanor rejudge latest --ask-judge missing --keep",
    VoidCause.USER: "correct the eval's `user`, or the model that plays it; the message says what broke",
    VoidCause.VERIFIER: "correct the task's verifier so that it writes a reward, and try it: demeanor validate",
    VoidCause.WORKER: "see which workers can be used: demeanor cluster check",
    VoidCause.CANCELLED: "continue the run: demeanor run --resume latest",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A check's answer and its reason."""

    check: str
    """The check's name."""

    answer: Literal["yes", "no", "unknown"]
    """Whether the evidence satisfies it; `unknown` if the evidence is too incomplete to tell."""

    reason: str = ""
    """The compared values, the offending call, the missing file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pass:
    """The agent did the right thing."""

    findings: tuple[Finding, ...] = ()
    """Every check's answer."""

    outcome: Literal["pass"] = "pass"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fail:
    """The agent did not do the right thing."""

    findings: tuple[Finding, ...] = ()
    """Every check's answer; at least one is `no`."""

    outcome: Literal["fail"] = "fail"
    """The tag of this type."""

    @property
    def reason(self) -> str:
        """The reasons of all failed checks."""
        return "\n".join(f.reason or f.check for f in self.findings if f.answer == "no")


@dataclass(frozen=True, kw_only=True, slots=True)
class Void:
    """The trial could not be judged; it counts neither as a pass nor as a fail."""

    cause: VoidCause
    """The kind of problem."""

    detail: str
    """The problem in detail."""

    findings: tuple[Finding, ...] = ()
    """The answers of the checks that could be evaluated."""

    outcome: Literal["void"] = "void"
    """The tag of this type."""

    @property
    def refuted(self) -> bool:
        """Whether a check did not say yes when the trial broke off. It is not tried again: the agent may have brought
        that about after it saw that it would not pass."""
        return any(finding.answer != "yes" for finding in self.findings)

    @property
    def reason(self) -> str:
        """Cause and detail."""
        return f"void({self.cause}): {self.detail}"


Verdict: TypeAlias = Pass | Fail | Void
