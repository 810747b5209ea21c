"""Reads a trial's `result.json` of Harbor: the rewards, and the cause of an error.

Harbor's own statistics count a trial without a reward as 0, whatever went wrong. Here a reward counts only if nothing
outside of the agent failed; all else is void, with its cause. The file is untrusted: an agent may have written it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from demeanor.core.text.json_values import as_dict, as_text
from demeanor.core.text.wording import one_line, shortened
from demeanor.core.values.evidence import Spent
from demeanor.core.values.verdict import VoidCause

UNSUPPORTED = "SandboxUnsupportedError"
"""The exception of the bubblewrap environment for a task that it does not support, in this attempt and in any other."""

_PERMANENT = frozenset({UNSUPPORTED, "SandboxStepFailedError"})
"""The exceptions of the bubblewrap environment that every further attempt would end with: also that of a step of the
Dockerfile that failed."""

_MAX_MESSAGE = 2000

_AGENT_ERRORS = re.compile(
    r"AgentTimeout|ContextLength|ContextWindow|OutputL|OutputToken|TokenLimit|Budget|Refus|NonZeroAgentExit|MaxTurns"
)
"""Names of exceptions that the agent itself caused; a reward that was given nevertheless counts."""

_CAUSES = (
    (re.compile(r"RewardFile|^Verifier|AddTestsDir|DownloadVerifier"), VoidCause.VERIFIER),
    (re.compile(r"UsageLimit|QuotaExceeded"), VoidCause.BUDGET),
    (re.compile(r"RateLimit|TooManyRequests"), VoidCause.RATE_LIMIT),
    (re.compile(r"Auth|ApiKey|Credential|PermissionDenied|ModelNotFound"), VoidCause.AUTH),
    (re.compile(r"Stalled"), VoidCause.STALLED),
    (
        re.compile(r"^Api|^API|UnknownApi|Provider|Overloaded|ServiceUnavailable|InternalServer|Connection|Network"),
        VoidCause.PROVIDER,
    ),
    (re.compile(r"MissingExtra"), VoidCause.MISSING),
    (
        re.compile(
            r"Environment|Sandbox|Docker|Build|Healthcheck|Container|AgentSetup|ServiceOperations|SSHAccess|Pod|Scope"
            r"|StreamClosed|MemoryLimit"
        ),
        VoidCause.SANDBOX,
    ),
    (re.compile(r"Cancel|KeyboardInterrupt"), VoidCause.CANCELLED),
)
"""The causes of other exceptions, by name; the first match counts."""

PROVIDER_CAUSES = frozenset({VoidCause.PROVIDER, VoidCause.RATE_LIMIT, VoidCause.AUTH, VoidCause.STALLED})
"""Causes that Harbor guesses from an agent's output; the gateway knows them exactly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborException:
    """An exception that Harbor recorded."""

    kind: str
    """Its name."""

    message: str = ""
    """Its message."""

    step: str = ""
    """The step of the task in which it happened; empty for a task without steps."""

    @property
    def caused_by_agent(self) -> bool:
        """Whether the agent itself caused it."""
        return bool(_AGENT_ERRORS.search(self.kind))

    @property
    def cause(self) -> VoidCause:
        """What failed, if it was not the agent."""
        return next((cause for pattern, cause in _CAUSES if pattern.search(self.kind)), VoidCause.HARNESS)

    def __str__(self) -> str:
        where = f"step {one_line(self.step)}: " if self.step else ""
        return f"{where}{self.kind}: {self.message}".removesuffix(": ")


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborOutcome:
    """The outcome of a Harbor trial."""

    rewards: Mapping[str, float] | None = None
    """The verifier's rewards by key; None without valid rewards."""

    step_rewards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The verifier's rewards for each step of a task; a step without rewards is left out."""

    agent_error: HarborException | None = None
    """The first exception that the agent itself caused."""

    failure: tuple[VoidCause, str] | None = None
    """What failed outside of the agent, so that the trial is void; None if the rewards count."""

    permanent: bool = False
    """Whether every further attempt would fail in the same way."""


def read_outcome(data: Mapping[str, Any]) -> HarborOutcome:
    """The outcome of a trial, from its `result.json`."""
    rewards = numbers_in(as_dict(data.get("verifier_result")).get("rewards"))
    steps = tuple(_steps(data))
    exceptions = tuple(_exceptions(data, steps))
    started = any(as_dict(table.get("agent_execution")) for table in (data, *(step for _, step in steps)))
    return HarborOutcome(
        rewards=rewards,
        step_rewards={
            name: numbers
            for name, step in steps
            if (numbers := numbers_in(as_dict(step.get("verifier_result")).get("rewards"))) is not None
        },
        agent_error=next((exception for exception in exceptions if exception.caused_by_agent), None),
        failure=_failure(rewards, steps, exceptions, started=started),
        permanent=any(exception.kind in _PERMANENT for exception in exceptions),
    )


def read_spent(data: Mapping[str, Any]) -> Spent | None:
    """The agent's usage as reported by Harbor, all steps together; None without a report."""
    used = [as_dict(table.get("agent_result")) for table in (data, *(step for _, step in _steps(data)))]
    sums = [_sum(table.get(key) for table in used) for key in ("n_input_tokens", "n_output_tokens", "cost_usd")]
    read, written, cost = sums
    if read is None and written is None and cost is None:
        return None
    return Spent(
        input_tokens=None if read is None else int(read),
        output_tokens=None if written is None else int(written),
        cost_usd=cost,
    )


def _sum(values: Iterable[Any]) -> float | None:
    numbers = [value for value in values if isinstance(value, int | float) and math.isfinite(value)]
    return math.fsum(numbers) if numbers else None


def _failure(
    rewards: Mapping[str, float] | None,
    steps: tuple[tuple[str, Mapping[str, Any]], ...],
    exceptions: tuple[HarborException, ...],
    *,
    started: bool,
) -> tuple[VoidCause, str] | None:
    """What failed outside of the agent. If the agent never started, its environment failed, and not its provider."""
    outer = next((exception for exception in exceptions if not exception.caused_by_agent or not started), None)
    if outer is not None:
        early = not started and (outer.caused_by_agent or outer.cause in PROVIDER_CAUSES)
        return VoidCause.SANDBOX if early else outer.cause, str(outer)
    detail = f" ({exceptions[0]})" if exceptions else ""
    if rewards is None:
        return VoidCause.VERIFIER, f"the verifier gave no reward{detail}"
    for name, step in steps:  # Harbor's mean ignores such a step
        if numbers_in(as_dict(step.get("verifier_result")).get("rewards")) is None:
            return VoidCause.VERIFIER, f"the verifier gave no reward for step {one_line(name)}{detail}"
    return None


def _exceptions(data: Mapping[str, Any], steps: tuple[tuple[str, Mapping[str, Any]], ...]) -> Iterator[HarborException]:
    for name, table in (("", data), *steps):
        info = as_dict(table.get("exception_info"))
        if kind := as_text(info.get("exception_type")):
            message = as_text(info.get("exception_message") or info.get("message"))
            yield HarborException(
                kind=one_line(kind, width=120), message=shortened(message.strip(), _MAX_MESSAGE), step=name
            )


def _steps(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    steps = data.get("step_results")
    for number, step in enumerate(steps if isinstance(steps, list) else (), 1):
        if isinstance(step, dict):
            yield as_text(step.get("step_name")) or str(number), step


def numbers_in(value: Any) -> dict[str, float] | None:
    """Rewards by key; None without rewards, or if one of them is not a number."""
    if not isinstance(value, dict) or not value:
        return None
    numbers = {}
    for key, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            return None
        numbers[str(key)] = float(number)
    return numbers
