"""A fault: how the answer to one of an agent's requests is broken on purpose, and when.

429@1:retry_after=1     the first exchange of a trial
cut@2-3                 the second and the third
500@30%                 each with this probability, drawn from the trial's seed
hang                    every one
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

from demeanor.core.errors import BadInput, nearest


class FaultKind(StrEnum):
    """What is done to an answer; docs/faults.md tells it at length."""

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
    FaultKind.HANG: "no answer was given at all",
    FaultKind.DRIP: "the answer was given slowly, piece by piece",
    FaultKind.CUT: "the connection was closed in the middle of the answer",
    FaultKind.MALFORMED: "something that is no JSON was put into the answer",
    FaultKind.TRUNCATED: "the answer ended in the middle of its JSON",
    FaultKind.EMPTY: "the answer was replaced by one that says nothing",
    FaultKind.CONTENT_TYPE: "the answer was given under a wrong content type",
    FaultKind.TOOL_ID: "the ids of the tool calls were changed",
}
"""What was done, in a sentence."""

_STATUSES = (FaultKind.RATE_LIMIT, FaultKind.SERVER, FaultKind.UNAVAILABLE, FaultKind.OVERLOADED)
OPTIONS: Mapping[FaultKind, str] = {
    **dict.fromkeys(_STATUSES, "retry_after"),
    FaultKind.DRIP: "delay",
    FaultKind.CONTENT_TYPE: "content_type",
}
"""The option that a kind knows; the other kinds know none."""

_LONGEST = 3600
_MOST = 10**6
_TEXT = re.compile(r"([^@:]*)(?:@([^:]*))?((?::[^:]*)*)")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,20})?", re.ASCII)
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?:; ?[\w.-]+=[\w.-]+)*", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One rule: what is done, and to which exchanges of a trial. Its text is the form in which people write it."""

    kind: FaultKind
    """What is done."""

    first: int | None = None
    """The first exchange that is broken, counted from 1; None means all of them, or those that `percent` draws."""

    last: int | None = None
    """The last exchange that is broken; the same as `first` where it is only one."""

    percent: float | None = None
    """The probability with which each exchange is broken, in percent."""

    retry_after: int | None = None
    """What the Retry-After header of a refusal says, in seconds; None means 1 with a 429, and no header otherwise."""

    delay: float | None = None
    """Seconds between the pieces of an answer that drips; None means half a second."""

    content_type: str | None = None
    """The wrong content type; None means text/html."""

    def __str__(self) -> str:
        when = ""
        if self.percent is not None:
            when = f"@{_plain(self.percent)}%"
        elif self.first is not None:
            when = f"@{self.first}" if self.last in {None, self.first} else f"@{self.first}-{self.last}"
        name = OPTIONS.get(self.kind, "")
        value = getattr(self, name) if name else None
        shown = _plain(value) if isinstance(value, float) else value
        return f"{self.kind}{when}" + (f":{name}={shown}" if value is not None else "")

    def hits(self, number: int, seed: int) -> bool:
        """Whether exchange `number` of the trial with this seed is broken; the same whenever it is asked."""
        if self.percent is not None:
            draw = random.Random(f"{seed}/{self}/{number}").random()  # noqa: S311 - repeatable on purpose
            return 100 * draw < self.percent
        return self.first is None or self.first <= number <= (self.last or self.first)


def parse_fault(text: Any, *, where: Path | str, key: str | None = None) -> Fault:
    """The rule that a person wrote at `key` of `where`; what is wrong with it is a BadInput."""

    def refuse(problem: str, remedy: str) -> NoReturn:
        raise BadInput(f"{text!r}: {problem}", where=where, key=key, remedy=remedy)

    parsed = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if parsed is None:
        refuse("is no fault", "write KIND[@WHEN][:OPTION=VALUE], such as '429@1:retry_after=1' or 'cut@2'")
    name, when, rest = parsed.groups()
    kinds = [kind.value for kind in FaultKind]
    if name not in kinds:
        close = nearest(name, kinds)
        refuse(f"unknown kind of fault {name!r}", f"did you mean {close!r}?" if close else f"known: {', '.join(kinds)}")
    kind = FaultKind(name)
    fields: dict[str, Any] = {} if when is None else _when(when)
    if when is not None and not fields:
        refuse(
            f"{when!r} says no exchange",
            "write @2 for the second, @2-4 for several, @30% for a probability, or nothing",
        )
    for option in rest.split(":")[1:]:
        key_, equals, value = option.partition("=")
        known = OPTIONS.get(kind)
        if known is None:
            refuse(f"{kind} has no options, found {option!r}", "leave it out")
        if key_ != known or not equals or known in fields:
            refuse(f"unknown option {option!r}", f"{kind} knows one: :{known}=VALUE")
        if (found := _value(known, value)) is None:
            refuse(f"{value!r} can't be the {known}", _WANTED[known])
        fields[known] = found
    return Fault(kind=kind, **fields)


def parse_faults(texts: Iterable[Any], *, where: Path | str, key: str | None = None) -> tuple[Fault, ...]:
    """Several rules; where they have a key, a mistake names the place in the list."""
    return tuple(
        parse_fault(text, where=where, key=f"{key}[{place}]" if key else None) for place, text in enumerate(texts)
    )


def kind_in(rule: str) -> FaultKind | None:
    """The kind of a rule that was kept; None where this version knows no such kind."""
    name = re.split("[@:]", rule, maxsplit=1)[0]
    return FaultKind(name) if name in list(FaultKind) else None


_WANTED = {
    "retry_after": f"write whole seconds, from 0 to {_LONGEST}",
    "delay": f"write seconds, above 0 and up to {_LONGEST}",
    "content_type": "write a type such as text/html",
}


def _value(option: str, text: str) -> int | float | str | None:
    """The value of an option; None where the text can't be one."""
    if option == "content_type":
        return text if _MEDIA_TYPE.fullmatch(text) else None
    if not _NUMBER.fullmatch(text) or not 0 <= float(text) <= _LONGEST:
        return None
    if option == "retry_after":
        return int(text) if text.isdigit() else None
    return float(text) or None


def _when(text: str) -> dict[str, int | float]:
    """`2`, `2-4` or `30%` as fields; none where it is something else."""
    if text.endswith("%"):
        number = text[:-1]
        percent = float(number) if _NUMBER.fullmatch(number) else 0.0
        return {"percent": percent} if 0 < percent <= 100 else {}
    first, _, last = text.partition("-")
    if not re.fullmatch(r"\d{1,7}(?:-\d{1,7})?", text, re.ASCII):
        return {}
    found = {"first": int(first), "last": int(last or first)}
    return {**found} if 1 <= found["first"] <= found["last"] <= _MOST else {}


def _plain(number: float) -> str:
    """A number without exponent and needless zeros, from which it can be read back exactly."""
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
