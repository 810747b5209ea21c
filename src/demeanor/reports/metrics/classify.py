"""Classify the trials that did not pass: by facts first, then by patterns in the text.

A void has a cause and a failure has findings: those are facts. Patterns are searched in addition, but only in the
reasons of the failure and in the agent's errors, not in everything that happened: an agent that writes about a 429 did
not necessarily get one. Other trials are *unclassified*, and shown.

Trials of another tool have no such facts: their report says that a test failed, and what was printed. There, patterns
decide, and they are searched in everything that the agent printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.config import PatternTooSlow
from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import BadInput
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict, Void, VoidCause
from demeanor.reports.metrics.pattern_file import Pattern

UNCLASSIFIED = "unclassified"
BEHAVIOUR = "behaviour"
"""The category of an ordinary failure: the agent did not do the right thing."""

CATEGORIES: Mapping[VoidCause, str] = {
    VoidCause.PROVIDER: "transient",
    VoidCause.RATE_LIMIT: "transient",
    VoidCause.STALLED: "transient",
    VoidCause.AUTH: "auth",
    VoidCause.BUDGET: "budget",
    VoidCause.MISSING: "environment",
    VoidCause.AGENT_START: "environment",
    VoidCause.SANDBOX: "environment",
    VoidCause.HARNESS: "harness",
    VoidCause.SETUP: "eval",
    VoidCause.UNREADABLE: "harness",
    VoidCause.CASSETTE: "harness",
    VoidCause.WORKER: "environment",
    VoidCause.INTERVENTION: "eval",
    VoidCause.PREFIX: "eval",
    VoidCause.FIXTURE: "eval",
    VoidCause.CHECK: "eval",
    VoidCause.JUDGE: "judge",
    VoidCause.USER: "eval",
    VoidCause.VERIFIER: "eval",
    VoidCause.CANCELLED: "cancelled",
}
"""Cause → category, in the terms of pattern files."""

Basis: TypeAlias = Literal["void", "agent", "check", "pattern", "nothing"]
"""The basis of a class: the cause of the void, how the agent exited, a check's answer, a pattern in the text."""

_AGENT = "agent"
"""The check of how the agent process exited."""

_LONGEST = 20_000
_AROUND = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureClass:
    """One classification of a failure."""

    name: str
    """The cause, the check or the pattern."""

    category: str
    """The kind of failure."""

    basis: Basis
    """What it is based on."""

    excerpt: str = ""
    """The matching text."""

    issue: str | None = None
    """A link to its issue, if known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Classified:
    """A trial that did not pass, and its classes."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial's number within its cell."""

    classes: tuple[FailureClass, ...]
    """Its classes, the most certain first; never empty."""

    @property
    def first(self) -> FailureClass:
        """The class that it is counted as."""
        return self.classes[0]


def classify(record: Record, patterns: Sequence[Pattern] = (), *, imported: bool = False) -> Classified | None:
    """Classify a trial; None if it passed. `imported` says that it is one of another tool."""
    verdict = record.verdict
    if isinstance(verdict, Pass):
        return None
    facts = list(_structured(verdict))
    texts = [_reason(verdict), record.stderr, *([record.stdout] if imported else [])]
    matched = list(_matched(texts, patterns))
    classes = [*matched, *facts] if imported else [*facts, *matched]
    if not classes:
        classes = [
            FailureClass(name=UNCLASSIFIED, category=UNCLASSIFIED, basis="nothing", excerpt=_short(_reason(verdict)))
        ]
    return Classified(eval=record.eval, subject=record.subject, number=record.number, classes=tuple(classes))


def by_category(trials: Iterable[Classified]) -> dict[str, int]:
    """Category → number of trials, the most frequent first; always includes `unclassified`, last."""
    counts = Counter(trial.first.category for trial in trials)
    unclassified = counts.pop(UNCLASSIFIED, 0)
    return {**dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))), UNCLASSIFIED: unclassified}


def _structured(verdict: Fail | Void) -> Iterable[FailureClass]:
    if isinstance(verdict, Void):
        cause, category = verdict.cause, CATEGORIES[verdict.cause]
        yield FailureClass(name=cause.value, category=category, basis="void", excerpt=_short(verdict.detail))
        return
    refusals = [finding for finding in verdict.findings if finding.answer == "no" and finding.check]
    for finding in sorted(refusals, key=lambda finding: finding.check != _AGENT):
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
        excerpt = next((line for text in texts if (line := _search(pattern, text[-_LONGEST:]))), None)
        if excerpt is not None:
            yield FailureClass(
                name=pattern.name, category=pattern.category, basis="pattern", excerpt=excerpt, issue=pattern.issue
            )


def _search(pattern: Pattern, text: str) -> str | None:
    """The text around the first match; 429 does not match inside 14291."""
    try:
        matches = list(pattern.expression.find_all(text))
    except PatternTooSlow as error:
        raise BadInput(str(error), where=f"pattern {pattern.name!r}") from None
    for match in matches:
        start, end = match.span()
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        first, last = text[start : start + 1], text[:end][-1:]
        if (first.isdigit() and before.isdigit()) or (last.isdigit() and after.isdigit()):
            continue
        return _short(text[max(0, start - _AROUND) : end + _AROUND])
    return None


def _reason(verdict: Verdict) -> str:
    if isinstance(verdict, Pass):
        return ""
    return verdict.detail if isinstance(verdict, Void) else verdict.reason


def _short(text: str) -> str:
    return one_line(text, width=200)
