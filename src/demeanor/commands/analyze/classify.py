"""Why trials failed, as far as it can be told: by what is known for certain first, by patterns in the text after that.

A void has its cause and a fail its findings: those are facts. Only where they say nothing, or to say more, are known
patterns looked for, and only in what was said of the failure (reasons and the agent's errors), not in everything that
happened: an agent that writes about a 429 has not met one. What fits nothing is *unclassified*, and shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.commands.analyze.pattern_file import Pattern
from demeanor.core.record import Record
from demeanor.core.text import one_line
from demeanor.core.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause

UNCLASSIFIED = "unclassified"
BEHAVIOUR = "behaviour"
"""The category of a fail that is just that: the agent did not do what was asked for."""

CATEGORIES: Mapping[VoidCause, str] = {
    VoidCause.PROVIDER: "transient",
    VoidCause.RATE_LIMIT: "transient",
    VoidCause.STALLED: "transient",
    VoidCause.AUTH: "auth",
    VoidCause.BUDGET: "budget",
    VoidCause.MISSING: "environment",
    VoidCause.SANDBOX: "environment",
    VoidCause.HARNESS: "harness",
    VoidCause.UNREADABLE: "harness",
    VoidCause.CASSETTE: "harness",
    VoidCause.CHECK: "eval",
    VoidCause.VERIFIER: "eval",
    VoidCause.CANCELLED: "cancelled",
}
"""What kind of failure each cause is, in the words of pattern files."""

Basis: TypeAlias = Literal["void", "agent", "check", "pattern", "nothing"]
"""What a class rests on: the void's cause, how the agent ended, a check's answer, a pattern in the text."""

_AGENT = "agent"
"""The check that says how the agent ended as a program."""

_LONGEST = 20_000
_AROUND = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureClass:
    """One thing that is known of a failure."""

    name: str
    """The cause, the check or the pattern."""

    category: str
    """What kind of failure it is."""

    basis: Basis
    """What this rests on."""

    excerpt: str = ""
    """The words that it was told by."""

    issue: str | None = None
    """Where it is being dealt with, if somebody said so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Classified:
    """A trial that did not pass, and what is known of why."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial's number within its cell."""

    classes: tuple[FailureClass, ...]
    """What is known, the most certain first; never empty."""

    @property
    def first(self) -> FailureClass:
        """What it counts as."""
        return self.classes[0]


def classify(record: Record, patterns: Sequence[Pattern] = ()) -> Classified | None:
    """What is known of why a trial did not pass; None where it passed."""
    verdict = record.verdict
    if isinstance(verdict, Pass):
        return None
    known = list(_structured(verdict))
    known += _matched([_told(verdict), record.stderr], patterns)
    if not known:
        known = [
            FailureClass(name=UNCLASSIFIED, category=UNCLASSIFIED, basis="nothing", excerpt=_short(_told(verdict)))
        ]
    return Classified(eval=record.eval, subject=record.subject, number=record.number, classes=tuple(known))


def by_category(found: Iterable[Classified]) -> dict[str, int]:
    """Category → how many trials count as such, the most frequent first; the unclassified last, and always there."""
    counts = Counter(one.first.category for one in found)
    unclassified = counts.pop(UNCLASSIFIED, 0)
    return {**dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))), UNCLASSIFIED: unclassified}


def _structured(verdict: Fail | Void) -> Iterable[FailureClass]:
    if isinstance(verdict, Void):
        cause, category = verdict.cause, CATEGORIES[verdict.cause]
        yield FailureClass(name=cause.value, category=category, basis="void", excerpt=_short(verdict.detail))
        return
    refusals = [finding for finding in verdict.findings if finding.answer == "no" and finding.check]
    for finding in sorted(refusals, key=lambda one: one.check != _AGENT):
        yield _of_finding(finding)


def _of_finding(finding: Finding) -> FailureClass:
    agent = finding.check == _AGENT
    return FailureClass(
        name=one_line(finding.check),
        category="agent_error" if agent else BEHAVIOUR,
        basis="agent" if agent else "check",
        excerpt=_short(finding.reason),
    )


def _matched(texts: Sequence[str], patterns: Sequence[Pattern]) -> Iterable[FailureClass]:
    for pattern in patterns:
        excerpt = next((found for text in texts if (found := _search(pattern, text[-_LONGEST:]))), None)
        if excerpt is not None:
            yield FailureClass(
                name=pattern.name, category=pattern.category, basis="pattern", excerpt=excerpt, issue=pattern.issue
            )


def _search(pattern: Pattern, text: str) -> str | None:
    """The words around the first match; a number that is part of a longer one (429 in 14291) is none."""
    for match in pattern.expression.finditer(text):
        before, after = (
            text[match.start() - 1 : match.start()] if match.start() else "",
            text[match.end() : match.end() + 1],
        )
        first, last = match[0][:1], match[0][-1:]
        if (first.isdigit() and before.isdigit()) or (last.isdigit() and after.isdigit()):
            continue
        return _short(text[max(0, match.start() - _AROUND) : match.end() + _AROUND])
    return None


def _told(verdict: Verdict) -> str:
    if isinstance(verdict, Pass):
        return ""
    return verdict.detail if isinstance(verdict, Void) else verdict.reason


def _short(text: str) -> str:
    return one_line(text, width=200)
