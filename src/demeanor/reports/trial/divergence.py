"""Which step explains that a trial failed and the most similar one passed, in a sentence that is true of both.

Every step that only one of them has, or that ended otherwise, makes a claim, such as *never calls read_file*. A claim
is made only if it holds for both whole trials, not just where they are aligned. Of these, the first decides; but one
that the failed checks name comes before the others, and reading or planning more than needed comes last.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from demeanor.core.text.wording import count, one_line
from demeanor.core.values.record import Record
from demeanor.core.values.trajectory import Called, Event, Faulted, Kind, ModelFailed, Steered
from demeanor.core.values.verdict import Fail, Pass
from demeanor.reports.trial.render import describe_step
from demeanor.results import Pair, TrialSteps, align, distance, first_divergence

NO_SINGLE_STEP = "no single step explains it"
"""What is said where the trials differ, and no claim explains why one of them failed."""

SAME_STEPS = "takes the same steps as a passing trial, with the same results"
"""What is said where the difference must be in the texts or in the files."""

_WIDTH = 60
_MOST_UNRELATED = 3
"""Trials that differ in more ways from the start on have no single step that explains it."""
_TARGETS = "path file_path absolute_path filepath file filename target_file dir_path uri url command cmd pattern query"
_TARGET_NAMES = {name: rank for rank, name in enumerate(_TARGETS.split())}
_QUIET = (Kind.READ, Kind.SEARCH, Kind.FETCH, Kind.THINK)
"""Tools that change nothing: one call more explains little."""
_VARIABLE = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:[.-]\w+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """The step at which a failing trial differs from a passing one, and what it explains."""

    step: int
    """The number of the step: 1, 2, 3 …"""

    did: str
    """What the failing trial did there. Hostile text."""

    instead: str
    """What the passing trial did there. Hostile text."""

    passing: Record
    """The passing trial."""

    run: str
    """The run of the passing trial."""

    sentence: str = NO_SINGLE_STEP
    """What the failing trial did otherwise, true of the whole of both trials. Partly hostile text."""

    general: str = ""
    """The same without names of files and commands, for several trials; empty if no single step explains it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Claim:
    """A difference that holds for both trials."""

    row: int
    """The row of the alignment that shows it."""

    sentence: str
    """What differs."""

    general: str
    """The same without the target."""

    rank: int
    """0 for what may explain a failure, 1 for what rarely does, 2 for texts of results, 3 for plans."""

    words: frozenset[str]
    """The names of the tools, and the words of the targets, in lower case."""


def nearest_pass(trial: TrialSteps, passed: Sequence[TrialSteps]) -> TrialSteps | None:
    """Return the passing trial with the most similar steps, preferably of the same subject; None if none has steps."""
    with_steps = [steps for steps in passed if steps.events is not None]
    candidates = [steps for steps in with_steps if steps.record.subject == trial.record.subject] or with_steps
    events = trial.events or ()
    return min(candidates, key=lambda steps: (distance(events, steps.events or ()), sort_key(steps)), default=None)


def sort_key(trial: TrialSteps) -> tuple[str, str, int, str]:
    """The key that puts trials into a stable order."""
    return trial.record.eval, trial.record.subject, trial.record.number, trial.run


def find_divergence(trial: TrialSteps, passing: TrialSteps | None) -> Divergence | None:
    """Return what a trial did differently from a passing one; None if the steps and their results are the same."""
    if passing is None or trial.events is None or passing.events is None:
        return None
    pairs = align(trial.events, passing.events)
    claim = _decisive(list(_claims(pairs)), pairs, _reasons(trial.record))
    first = first_divergence(pairs)
    row = claim.row if claim is not None else first
    if row is None:
        return None
    return Divergence(
        step=row + 1,
        did=_next_step(pairs, row, "left"),
        instead=_next_step(pairs, row, "right"),
        passing=passing.record,
        run=passing.run,
        sentence=claim.sentence if claim else NO_SINGLE_STEP,
        general=claim.general if claim else "",
    )


def explain(trial: TrialSteps, other: TrialSteps) -> str:
    """Return the sentence that explains why a trial failed and another one passed; empty for other outcomes."""
    if not isinstance(trial.record.verdict, Fail) or not isinstance(other.record.verdict, Pass):
        return ""
    divergence = find_divergence(trial, other)
    return divergence.sentence if divergence else SAME_STEPS


def _next_step(pairs: Sequence[Pair], at: int, side: Literal["left", "right"]) -> str:
    """Describe the step of one side at a position, or its next step after it."""
    for pair in pairs[at:]:
        event = getattr(pair, side)
        if event is not None:
            return one_line(describe_step(event), width=400)
    return "nothing more"


def _reasons(record: Record) -> frozenset[str]:
    """The words of the failed checks: their names, and what they found."""
    if not isinstance(record.verdict, Fail):
        return frozenset()
    failed = [finding for finding in record.verdict.findings if finding.answer == "no"]
    return frozenset(word for finding in failed for word in _WORD.findall(f"{finding.check} {finding.reason}".lower()))


def _decisive(claims: Sequence[_Claim], pairs: Sequence[Pair], reasons: frozenset[str]) -> _Claim | None:
    """Return the claim that explains the failure best; None if there is none, or too many from the start on."""
    if not claims:
        return None
    best = min(claims, key=lambda claim: (not claim.words & reasons, claim.rank, claim.row))
    if best.words & reasons or any(pair.same and isinstance(pair.left, Called) for pair in pairs[: best.row]):
        return best
    return best if sum(claim.rank == 0 for claim in claims) <= _MOST_UNRELATED else None


def _claims(pairs: Sequence[Pair]) -> Iterator[_Claim]:
    """Everything in which the trials differ, if it is true of the whole of both."""
    failing = [pair.left for pair in pairs if isinstance(pair.left, Called)]
    passing = [pair.right for pair in pairs if isinstance(pair.right, Called)]
    if not failing and passing:
        tool = _short(passing[0].tool)
        yield _claim(0, f"calls no tool; a passing trial calls {tool}", "", passing[0])
        return
    for row, pair in enumerate(pairs):
        left, right = pair.left, pair.right
        if pair.same:
            yield from _other_outcome(row, left, right)
        elif isinstance(left, ModelFailed | Faulted | Steered):
            if not any(isinstance(other.right, type(left)) for other in pairs):
                yield _claim(row, f"gets {_incident(left)}; a passing trial does not", "")
        elif (replaced := _replaced(row, left, right, failing, passing)) is not None:
            yield replaced
        else:
            if isinstance(right, Called):
                yield from _missing(row, right, failing, passing, stops=all(pair.left is None for pair in pairs[row:]))
            if isinstance(left, Called):
                yield from _added(row, left, failing, passing)
    yield from _other_order(pairs, failing, passing)


def _missing(
    row: int, call: Called, failing: Sequence[Called], passing: Sequence[Called], *, stops: bool
) -> Iterator[_Claim]:
    """A call of the passing trial that the failing one lacks."""
    tool, target = _short(call.tool), _target(call)
    if stops:
        yield _claim(row, f"stops where a passing trial calls {tool}", "", call)
    elif not _uses(failing, call.tool):
        yield _claim(row, f"never calls {tool}; a passing trial does", "", call, rank=int(call.kind is Kind.SEARCH))
    elif target and not _uses(failing, call.tool, target):
        general = f"never calls {tool} with the {_short(target[0])} that a passing trial gives it"
        yield _claim(
            row,
            f"never calls {tool}{_named(target)}; a passing trial does",
            general,
            call,
            rank=int(call.kind is Kind.SEARCH),
        )
    else:
        yield from _other_number(row, call, failing, passing)


def _added(row: int, call: Called, failing: Sequence[Called], passing: Sequence[Called]) -> Iterator[_Claim]:
    """A call of the failing trial that the passing one lacks."""
    tool, target, rank = _short(call.tool), _target(call), int(call.kind in _QUIET)
    if not _uses(passing, call.tool):
        after = "; a passing trial never calls that tool"
        yield _claim(row, f"calls {tool}{_named(target)}{after}", f"calls {tool}{after}", call, rank=rank)
    elif target and not _uses(passing, call.tool, target):
        general = f"calls {tool} with a {_short(target[0])} that a passing trial never gives it"
        yield _claim(row, f"calls {tool}{_named(target)}; a passing trial never does", general, call, rank=rank)
    else:
        yield from _other_number(row, call, failing, passing)


def _other_number(row: int, call: Called, failing: Sequence[Called], passing: Sequence[Called]) -> Iterator[_Claim]:
    target = _target(call)
    own, others = (len([other for other in calls if _like(other, call.tool, target)]) for calls in (failing, passing))
    if own != others:
        after = f" {count(own, 'time')}; a passing trial {count(others, 'time')}"
        before, rank = f"calls {_short(call.tool)}", int(call.kind in _QUIET)
        yield _claim(row, f"{before}{_named(target)}{after}", f"{before}{after}" if not target else "", call, rank=rank)


def _replaced(
    row: int, left: Event | None, right: Event | None, failing: Sequence[Called], passing: Sequence[Called]
) -> _Claim | None:
    """A call in place of another one, if neither trial makes the call of the other anywhere."""
    if not isinstance(left, Called) or not isinstance(right, Called):
        return None
    tool, other, target, other_target = _short(left.tool), _short(right.tool), _target(left), _target(right)
    rank = int(left.kind in _QUIET and right.kind in _QUIET and left.kind != right.kind)
    if left.tool != right.tool:
        if _uses(failing, right.tool) or _uses(passing, left.tool):
            return None
        sentence = f"calls {tool}{_named(target)} where a passing trial calls {other}{_named(other_target)}"
        return _claim(row, sentence, f"calls {tool} where a passing trial calls {other}", left, right, rank=rank)
    if _like(right, left.tool, target):
        names = sorted(_differing(left, right)) or (["malformed arguments"] if left.raw != right.raw else [])
        if not names or _key(left) in map(_key, passing) or _key(right) in map(_key, failing):
            return None
        after = f"with other {', '.join(map(_short, names[:5]))} than a passing trial"
        return _claim(row, f"calls {tool}{_named(target)} {after}", f"calls {tool} {after}", left, right)
    if target is None or other_target is None or target[0] != other_target[0]:
        return None
    if _uses(failing, tool, other_target) or _uses(passing, tool, target):
        return None
    sentence = f"calls {tool}{_named(target)} where a passing trial calls it{_named(other_target)}"
    general = f"calls {tool} with another {_short(target[0])} than a passing trial"
    return _claim(row, sentence, general, left, right, rank=rank)


def _other_outcome(row: int, left: Event | None, right: Event | None) -> Iterator[_Claim]:
    """The same call, with another permission or result."""
    if not isinstance(left, Called) or not isinstance(right, Called):
        return
    tool, named = _short(left.tool), _named(_target(left))
    if (left.permission == "deny") != (right.permission == "deny") and left.permission and right.permission:
        after = "is denied permission for" if left.permission == "deny" else "is not denied permission for"
        yield _claim(
            row, f"{after} {tool}{named}, unlike a passing trial", f"{after} {tool}, unlike a passing trial", left
        )
    elif left.succeeded is not None and right.succeeded is not None and left.succeeded != right.succeeded:
        words = ("succeeds", "fails") if left.succeeded else ("fails", "succeeds")
        before, after = f"calls {tool}", f", which {words[0]}; in a passing trial it {words[1]}"
        yield _claim(row, f"{before}{named}{after}", f"{before}{after}", left)
    elif left.result is not None and right.result is not None and _fixed(left.result) != _fixed(right.result):
        before, after = f"gets another result from {tool}", " than a passing trial"
        yield _claim(row, f"{before}{named}{after}", f"{before}{after}", left, rank=2)


def _other_order(pairs: Sequence[Pair], failing: Sequence[Called], passing: Sequence[Called]) -> Iterator[_Claim]:
    """Two calls that both trials make once, in the other order."""
    own, others = Counter(map(_key, failing)), Counter(map(_key, passing))
    places = {_key(call): place for place, call in enumerate(passing)}
    once = [call for call in failing if own[_key(call)] == others[_key(call)] == 1]
    for first, second in pairwise(once):
        if places[_key(first)] > places[_key(second)] and not (first.kind in _QUIET and second.kind in _QUIET):
            row = next(row for row, pair in enumerate(pairs) if pair.left is first)
            tools = (_short(first.tool), _short(second.tool))
            targets = (_named(_target(first)), _named(_target(second)))
            after = "; a passing trial the other way round"
            sentence = f"calls {tools[0]}{targets[0]} before {tools[1]}{targets[1]}{after}"
            yield _claim(row, sentence, f"calls {tools[0]} before {tools[1]}{after}", first, second)
            return


def _claim(row: int, sentence: str, general: str, *calls: Called, rank: int = 0) -> _Claim:
    rank = 3 if any(call.kind is Kind.THINK for call in calls) else rank
    words = [word for call in calls for word in (call.tool, *(_target(call) or ("", "")))]
    names = frozenset(name for word in words for name in _WORD.findall(word.lower()) if len(name) > 2)
    return _Claim(row=row, sentence=sentence, general=general or sentence, rank=rank, words=names - set(_TARGET_NAMES))


def _target(call: Called) -> tuple[str, str] | None:
    """The name and value of the argument that says what a call is about; None if there is none."""
    texts = [(name, value) for name, value in call.arguments.items() if isinstance(value, str) and value.strip()]
    usual = [item for item in texts if item[0].lower() in _TARGET_NAMES]
    if usual:
        return min(usual, key=lambda item: _TARGET_NAMES[item[0].lower()])
    return next((item for item in texts if len(item[1]) <= _WIDTH and "\n" not in item[1]), None)


def _named(target: tuple[str, str] | None) -> str:
    return f" with {_short(target[0])}={_short(target[1])!r}" if target else ""


def _uses(calls: Sequence[Called], tool: str, target: tuple[str, str] | None = None) -> bool:
    """Whether any call has the tool, and the target as any of its arguments."""
    return any(_like(call, tool, target) for call in calls)


def _like(call: Called, tool: str, target: tuple[str, str] | None) -> bool:
    if call.tool != tool or target is None:
        return call.tool == tool
    return any(isinstance(value, str) and _same_text(value, target[1]) for value in call.arguments.values())


def _same_text(text: str, other: str) -> bool:
    """Whether two arguments are the same, or may be the same path: `a`, `./a` and `/project/a`."""
    short, long = sorted((text.removeprefix("./"), other.removeprefix("./")), key=len)
    return short == long or (long.startswith("/") and bool(short.strip("/")) and long.endswith(f"/{short}"))


def _differing(left: Called, right: Called) -> list[str]:
    """The names of the arguments that differ."""

    def differs(name: str) -> bool:
        if name not in left.arguments or name not in right.arguments:
            return True
        value, other = left.arguments[name], right.arguments[name]
        return bool(
            value != other and not (isinstance(value, str) and isinstance(other, str) and _same_text(value, other))
        )

    return [name for name in {**left.arguments, **right.arguments} if differs(name)]


def _key(call: Called) -> tuple[str, str, str]:
    return call.tool, json.dumps(dict(call.arguments), sort_keys=True, default=str), call.raw


def _fixed(result: str) -> str:
    """A result without numbers and addresses, which differ from trial to trial."""
    return _VARIABLE.sub("#", result)


def _incident(event: ModelFailed | Faulted | Steered) -> str:
    match event:
        case ModelFailed():
            return f"a model error ({_short(event.reason)})"
        case Faulted():
            return f"an injected fault ({_short(event.kind)})"
    return "a message of its user"


def _short(text: str) -> str:
    return one_line(text, width=_WIDTH)
