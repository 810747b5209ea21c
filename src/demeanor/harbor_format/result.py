"""What Harbor wrote of one trial in its `result.json`: the rewards, and whose fault it was where something broke.

Harbor's own statistics count a trial without a reward as 0, whatever went wrong. Here a reward counts where nothing
outside of the agent broke; the rest is void, with its cause. The file is read as hostile as it may be: an agent that
got at it could have written anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from demeanor.core.evidence import Spent
from demeanor.core.text import one_line
from demeanor.core.verdict import VoidCause

VERIFIER_OUTPUT = "verifier/test-stdout.txt"
"""Where Harbor keeps what a verifier printed."""

_MOST_SAID = 2000

_AGENTS_OWN = re.compile(
    r"AgentTimeout|ContextLength|ContextWindow|OutputL|OutputToken|TokenLimit|Budget|Refus|NonZeroAgentExit|MaxTurns"
)
"""What the agent itself brought about: a reward that was given nevertheless counts. By the exception's name."""

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
"""What broke around the agent, by the exception's name; of several that fit, the first."""

OF_THE_PROVIDER = frozenset({VoidCause.PROVIDER, VoidCause.RATE_LIMIT, VoidCause.AUTH, VoidCause.STALLED})
"""Causes that Harbor guesses from what an agent printed; whoever saw the wire knows better."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborException:
    """An exception that Harbor noted."""

    kind: str
    """Its name."""

    message: str = ""
    """What it said."""

    step: str = ""
    """The step of the task in which it happened; empty where the task has none."""

    @property
    def own(self) -> bool:
        """Whether the agent itself brought it about."""
        return bool(_AGENTS_OWN.search(self.kind))

    @property
    def cause(self) -> VoidCause:
        """What broke, where it was not the agent."""
        return next((cause for pattern, cause in _CAUSES if pattern.search(self.kind)), VoidCause.HARNESS)

    def __str__(self) -> str:
        where = f"step {one_line(self.step)}: " if self.step else ""
        return f"{where}{self.kind}: {self.message}".removesuffix(": ")


@dataclass(frozen=True, kw_only=True, slots=True)
class HarborOutcome:
    """How a trial of Harbor ended."""

    rewards: Mapping[str, float] | None = None
    """What the verifier gave, by key; None where it gave nothing that can be read."""

    step_rewards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What the verifier gave for each step of a task with several; a step without any is left out."""

    own: HarborException | None = None
    """What went wrong by the agent's own doing, if anything."""

    trouble: tuple[VoidCause, str] | None = None
    """What broke around the agent, so that nothing can be said; None where the rewards count."""


def read_outcome(data: Mapping[str, Any]) -> HarborOutcome:
    """The outcome that a trial's `result.json` tells."""
    rewards = numbers_in(_table(data, "verifier_result").get("rewards"))
    steps = tuple(_steps(data))
    mishaps = tuple(_mishaps(data, steps))
    began = any(_table(table, "agent_execution") for table in (data, *(step for _, step in steps)))
    return HarborOutcome(
        rewards=rewards,
        step_rewards={
            name: found
            for name, step in steps
            if (found := numbers_in(_table(step, "verifier_result").get("rewards"))) is not None
        },
        own=next((one for one in mishaps if one.own), None),
        trouble=_trouble(rewards, steps, mishaps, began=began),
    )


def read_spent(data: Mapping[str, Any]) -> Spent | None:
    """What Harbor says that the agent used, all steps together; None where it says nothing."""
    used = [_table(table, "agent_result") for table in (data, *(step for _, step in _steps(data)))]
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
    known = [value for value in values if isinstance(value, int | float) and math.isfinite(value)]
    return sum(known) if known else None


def _trouble(
    rewards: Mapping[str, float] | None,
    steps: tuple[tuple[str, Mapping[str, Any]], ...],
    mishaps: tuple[HarborException, ...],
    *,
    began: bool,
) -> tuple[VoidCause, str] | None:
    """What broke around the agent. One that never began had no provider: its environment was not made ready."""
    outer = next((one for one in mishaps if not one.own or not began), None)
    if outer is not None:
        early = not began and (outer.own or outer.cause in OF_THE_PROVIDER)
        return VoidCause.SANDBOX if early else outer.cause, str(outer)
    told = f" ({mishaps[0]})" if mishaps else ""
    if rewards is None:
        return VoidCause.VERIFIER, f"the verifier gave no reward{told}"
    for name, step in steps:  # Harbor's mean leaves such a step out, as if it were not part of the task
        if numbers_in(_table(step, "verifier_result").get("rewards")) is None:
            return VoidCause.VERIFIER, f"the verifier gave no reward for step {one_line(name)}{told}"
    return None


def _mishaps(data: Mapping[str, Any], steps: tuple[tuple[str, Mapping[str, Any]], ...]) -> Iterator[HarborException]:
    for name, table in (("", data), *steps):
        info = _table(table, "exception_info")
        if kind := _text(info.get("exception_type")):
            said = _text(info.get("exception_message") or info.get("message"))
            yield HarborException(kind=one_line(kind, width=120), message=said[:_MOST_SAID].strip(), step=name)


def _steps(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    found = data.get("step_results")
    for number, step in enumerate(found if isinstance(found, list) else (), 1):
        if isinstance(step, dict):
            yield _text(step.get("step_name")) or str(number), step


def numbers_in(value: Any) -> dict[str, float] | None:
    """Rewards by key; None where there are none, or where one of them is no number."""
    if not isinstance(value, dict) or not value:
        return None
    found = {}
    for key, one in value.items():
        if isinstance(one, bool) or not isinstance(one, int | float) or not math.isfinite(one):
            return None
        found[str(key)] = float(one)
    return found


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
