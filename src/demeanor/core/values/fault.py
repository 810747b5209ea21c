"""Faults that are injected into the answers to an agent's requests, and their notation.

429@1:retry_after=1     the first exchange of a trial
cut@2-3                 the second and third exchange
500@30%                 each exchange with this probability, drawn with the trial's seed
hang                    every exchange
cut@1:else=fail         an agent that gives up because of it fails; without this, its trial is void
tool:github.search:500@1    the first call of the tool `search` of the MCP server `github`
judge:500@1             the first exchange of each question to a judge, instead of the agent's
user:500@1              the first exchange with the model that plays the user
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

from demeanor.core.values.errors import BadInput, did_you_mean

Role: TypeAlias = Literal["agent", "judge", "user"]
"""Who sends a request to a model: the agent, a judge, or the model that plays the user."""


class FaultKind(StrEnum):
    """The kinds of faults; docs/gateway.md describes them."""

    RATE_LIMIT = "429"
    SERVER = "500"
    UNAVAILABLE = "503"
    OVERLOADED = "529"
    REFUSED = "refused"
    HANG = "hang"
    DRIP = "drip"
    CUT = "cut"
    MALFORMED = "malformed-sse"
    TRUNCATED = "truncated-json"
    EMPTY = "empty"
    CONTENT_TYPE = "content-type"
    TOOL_ID = "tool-id"


DONE: Mapping[FaultKind, str] = {
    FaultKind.RATE_LIMIT: "HTTP 429 was answered instead of asking the model",
    FaultKind.SERVER: "HTTP 500 was answered instead of asking the model",
    FaultKind.UNAVAILABLE: "HTTP 503 was answered instead of asking the model",
    FaultKind.OVERLOADED: "HTTP 529 was answered instead of asking the model",
    FaultKind.REFUSED: "the connection was closed without an answer",
    FaultKind.HANG: "no answer was sent",
    FaultKind.DRIP: "the answer was sent slowly, piece by piece",
    FaultKind.CUT: "the connection was closed in the middle of the answer",
    FaultKind.MALFORMED: "invalid JSON was inserted into the answer",
    FaultKind.TRUNCATED: "the answer ended in the middle of its JSON",
    FaultKind.EMPTY: "the answer was replaced by an empty one",
    FaultKind.CONTENT_TYPE: "the answer was sent with a wrong content type",
    FaultKind.TOOL_ID: "the ids of the tool calls were changed",
}
"""The effect of each kind."""

_STATUSES = (FaultKind.RATE_LIMIT, FaultKind.SERVER, FaultKind.UNAVAILABLE, FaultKind.OVERLOADED)
OPTIONS: Mapping[FaultKind, str] = {
    **dict.fromkeys(_STATUSES, "retry_after"),
    FaultKind.DRIP: "delay",
    FaultKind.CONTENT_TYPE: "content_type",
}
"""The option of each kind, beside `else=fail`, which every fault of the agent's exchanges can have."""

_SURVIVE = "else=fail"

TOOL_KINDS = (*_STATUSES, FaultKind.REFUSED, FaultKind.HANG, FaultKind.EMPTY)
"""The kinds that a tool of an MCP server can have."""

_TOOL = re.compile(r"tool:([^.:@]+\.[^:@]+):((?!tool:|judge:|user:).*)", re.DOTALL)
_ROLE = re.compile(r"(judge|user):")
_LONGEST = 3600
_MOST = 10**6
_TEXT = re.compile(r"([^@:]*)(?:@([^:]*))?((?::[^:]*)*)")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,20})?", re.ASCII)
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?[\w.-]+=[\w.-]+)*", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One rule: the kind of fault and the exchanges it applies to. `str()` gives its notation."""

    kind: FaultKind
    """The kind of fault."""

    first: int | None = None
    """The first affected exchange, counted from 1; None means all, or those that `percent` draws."""

    last: int | None = None
    """The last affected exchange; equal to `first` for a single one."""

    percent: float | None = None
    """The probability for each exchange, in percent."""

    retry_after: int | None = None
    """The Retry-After header of an error, in seconds; None means 1 for a 429, and no header otherwise."""

    delay: float | None = None
    """Seconds between the pieces of a dripping answer; None means half a second."""

    content_type: str | None = None
    """The wrong content type; None means text/html."""

    must_survive: bool = field(default=False, repr=False)
    """Whether an agent that gives up because of it fails; otherwise its trial is void."""

    tool: str | None = None
    """The tool `server.tool` of an MCP server whose calls it affects; None for exchanges with the model."""

    judge: bool = field(default=False, repr=False)
    """Whether it applies to the answers to judges instead of those to the agent."""

    user: bool = field(default=False, repr=False)
    """Whether it applies to the answers to the model that plays the user."""

    def __str__(self) -> str:
        when = ""
        if self.percent is not None:
            when = f"@{_plain(self.percent)}%"
        elif self.first is not None:
            when = f"@{self.first}" if self.last in {None, self.first} else f"@{self.first}-{self.last}"
        name = OPTIONS.get(self.kind, "")
        value = getattr(self, name) if name else None
        shown = _plain(value) if isinstance(value, float) else value
        prefix = "" if self.role == "agent" else f"{self.role}:"
        if self.tool:
            prefix = f"tool:{self.tool}:"
        text = f"{prefix}{self.kind}{when}"
        if value is not None:
            text += f":{name}={shown}"
        if self.must_survive:
            text += f":{_SURVIVE}"
        return text

    @property
    def role(self) -> Role:
        """Whose exchanges with a model it affects."""
        if self.judge:
            return "judge"
        return "user" if self.user else "agent"

    def hits(self, number: int, seed: int) -> bool:
        """Whether it applies to exchange `number` of the trial with this seed; deterministic."""
        if self.percent is not None:
            draw = random.Random(f"{seed}/{self}/{number}").random()  # noqa: S311 - must be repeatable
            return 100 * draw < self.percent
        return self.first is None or self.first <= number <= (self.last or self.first)


def parse_fault(text: Any, *, where: Path | str, key: str | None = None) -> Fault:
    """The rule written at `key` of `where`; raises BadInput if it is invalid."""

    def fail(problem: str, remedy: str) -> NoReturn:
        raise BadInput(f"{text!r}: {problem}", where=where, key=key, remedy=remedy)

    if isinstance(text, str) and text.startswith("tool:"):
        if (of_tool := _TOOL.fullmatch(text)) is None:
            fail("does not name a tool", "write tool:SERVER.TOOL:KIND[@WHEN], such as 'tool:github.search:500@1'")
        rule = parse_fault(of_tool[2], where=where, key=key)
        if rule.kind not in TOOL_KINDS or rule.retry_after is not None or rule.must_survive:
            of_tools = ", ".join(TOOL_KINDS)
            fail(f"a tool can't have the fault {rule}", f"the faults of tools, without options: {of_tools}")
        return replace(rule, tool=of_tool[1])
    role = _ROLE.match(text) if isinstance(text, str) else None
    start = role.end() if role else 0
    parsed = _TEXT.fullmatch(text, start) if isinstance(text, str) else None
    if parsed is None:
        fail("is not a fault", "write KIND[@WHEN][:OPTION=VALUE], such as '429@1:retry_after=1' or 'cut@2'")
    name, when, rest = parsed.groups()
    kinds = [kind.value for kind in FaultKind]
    if name not in kinds:
        fail(f"unknown kind of fault {name!r}", did_you_mean(name, kinds, f"known: {', '.join(kinds)}"))
    kind = FaultKind(name)
    fields: dict[str, Any] = {} if when is None else _when(when)
    if when is not None and not fields:
        fail(
            f"{when!r} does not select an exchange",
            "write @2 for the second, @2-4 for several, @30% for a probability, or nothing",
        )
    plain = rest.removesuffix(f":{_SURVIVE}") if role is None else rest
    for option in plain.split(":")[1:]:
        key_, equals, value = option.partition("=")
        option_name = OPTIONS.get(kind)
        if option_name is None:
            fail(f"{kind} has no options, found {option!r}", "leave it out")
        if key_ != option_name or not equals or option_name in fields:
            fail(f"unknown option {option!r}", f"the option of {kind} is :{option_name}=VALUE")
        if (option_value := _value(option_name, value)) is None:
            fail(f"{value!r} can't be the {option_name}", _WANTED[option_name])
        fields[option_name] = option_value
    whose = role[1] if role else ""
    return Fault(kind=kind, judge=whose == "judge", user=whose == "user", must_survive=plain != rest, **fields)


def parse_faults(texts: Iterable[Any], *, where: Path | str, key: str | None = None) -> tuple[Fault, ...]:
    """Several rules; an error names the position in the list."""
    return tuple(
        parse_fault(text, where=where, key=f"{key}[{place}]" if key else None) for place, text in enumerate(texts)
    )


def must_survive(rule: str) -> bool:
    """Whether a stored rule says that an agent that gives up because of it fails."""
    return rule.endswith(f":{_SURVIVE}")


def kind_in(rule: str) -> FaultKind | None:
    """The kind of a stored rule; None if this version does not know it."""
    of_tool = _TOOL.fullmatch(rule)
    name = re.split("[@:]", of_tool[2] if of_tool else _ROLE.sub("", rule, count=1), maxsplit=1)[0]
    return FaultKind(name) if name in list(FaultKind) else None


_WANTED = {
    "retry_after": f"write whole seconds, from 0 to {_LONGEST}",
    "delay": f"write seconds, above 0 and up to {_LONGEST}",
    "content_type": "write a type such as text/html",
}


def _value(option: str, text: str) -> int | float | str | None:
    """The value of an option; None if the text is not valid."""
    if option == "content_type":
        return text if _MEDIA_TYPE.fullmatch(text) else None
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) <= _LONGEST:
        return None
    if option == "retry_after":
        return int(text) if text.isdigit() else None
    return float(text) or None


def _when(text: str) -> dict[str, int | float]:
    """`2`, `2-4` or `30%` as fields of Fault; empty if it is something else."""
    if text.endswith("%"):
        number = text[:-1]
        percent = float(number) if _NUMBER.fullmatch(number) else 0.0
        return {"percent": percent} if 0 < percent <= 100 else {}
    first, _, last = text.partition("-")
    if not re.fullmatch(r"\d{1,7}(?:-\d{1,7})?", text, re.ASCII):
        return {}
    bounds = {"first": int(first), "last": int(last or first)}
    return {**bounds} if 1 <= bounds["first"] <= bounds["last"] <= _MOST else {}


def _plain(number: float) -> str:
    """A number without exponent and trailing zeros that reads back exactly."""
    from decimal import Decimal

    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
