"""The rules of `demeanor fix`: what a change may touch, which other evals must still pass, and what counts as fixed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from demeanor.commands.fix.overfitting import EvalSource, find_quotations
from demeanor.config import Guard
from demeanor.core.text.globs import matches
from demeanor.core.trees.tree import Change, Entry
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision


class Violation(StrEnum):
    """A rule that a fixer can break."""

    OUTSIDE = "outside"
    """It changed a file outside of the allowed paths."""

    EVAL = "eval"
    """It changed an eval without permission, or nothing but evals."""

    CHECKS = "checks"
    """It weakened an eval: removed a check, a rehearsal or the eval itself, or changed the prompt."""

    SELF_TEST = "self-test"
    """An eval that it changed fails its self-test: for example, an agent that does nothing passes."""

    SPECIAL_CASE = "special-case"
    """It quoted the eval in the agent's prompt: the eval's prompt, a file name or an expected text."""

    SECRET = "secret"  # noqa: S105 - a word, not a secret
    """It wrote something that looks like an API key or another secret."""

    LINK = "link"
    """It created or changed a link, a device or anything else that is not a regular file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """One violation in a fixer's change."""

    foul: Violation
    """The rule that was broken."""

    path: str
    """The file concerned; empty when the violation is not about one file."""

    detail: str
    """What exactly happened. Hostile text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Where a fixer may write. All paths are relative to the top of the repository."""

    allowed: tuple[str, ...]
    """Patterns of files that may be changed."""

    evals: tuple[str, ...]
    """Patterns of files that belong to evals."""

    protected: tuple[str, ...] = ()
    """Patterns of files that may never be changed: the configuration, which defines these rules."""

    evals_allowed: bool = False
    """Whether evals may be changed together with other files."""

    def is_eval(self, path: str) -> bool:
        """Whether a file belongs to an eval."""
        return any(matches(path, pattern) for pattern in self.evals)

    def allows(self, path: str) -> bool:
        """Whether a file may be changed."""
        if any(matches(path, pattern) for pattern in self.protected):
            return False
        if ".git" in path.casefold().split("/"):  # git runs what a repository's settings name
            return False
        return self.evals_allowed if self.is_eval(path) else any(matches(path, pattern) for pattern in self.allowed)


def find_violations(
    changes: Sequence[Change], bounds: Bounds, eval_sources: Iterable[EvalSource], *, is_secret: Callable[[bytes], bool]
) -> tuple[Refusal, ...]:
    """Return every violation in a change, judged by its files alone; empty when the change may be tried."""
    refusals = list(_out_of_bounds(changes, bounds))
    if changes and all(bounds.is_eval(change.path) for change in changes) and bounds.evals_allowed:
        detail = "only evals were changed; a person must decide whether an eval is still wanted"
        refusals.append(Refusal(foul=Violation.EVAL, path=changes[0].path, detail=detail))
    for change in changes:
        if is_secret(_bytes(change.after)) and not is_secret(_bytes(change.before)):
            detail = "the change adds something that looks like an API key or another secret"
            refusals.append(Refusal(foul=Violation.SECRET, path=change.path, detail=detail))
    eval_sources = list(eval_sources)
    for change in changes:
        if not bounds.is_eval(change.path):
            refusals += _special_cases(change, eval_sources)
    return tuple(refusals)


def _out_of_bounds(changes: Sequence[Change], bounds: Bounds) -> Iterator[Refusal]:
    for change in changes:
        if not _is_regular(change.before) or not _is_regular(change.after):
            detail = f"{change.how}, but it is not a regular file with known content"
            yield Refusal(foul=Violation.LINK, path=change.path, detail=detail)
        elif bounds.allows(change.path):
            continue
        elif bounds.is_eval(change.path):
            yield Refusal(foul=Violation.EVAL, path=change.path, detail=f"{change.how}, but it is part of an eval")
        else:
            detail = f"{change.how}, but it is not in the allowed paths"
            yield Refusal(foul=Violation.OUTSIDE, path=change.path, detail=detail)


def _special_cases(change: Change, eval_sources: Sequence[EvalSource]) -> Iterator[Refusal]:
    old, new = (_bytes(entry).decode("utf-8", "replace") for entry in (change.before, change.after))
    for eval_source in eval_sources:
        for quotation in find_quotations(eval_source, old=old, new=new):
            detail = f"new text quotes the eval {eval_source.eval.name}: {quotation}"
            yield Refusal(foul=Violation.SPECIAL_CASE, path=change.path, detail=detail)


def _is_regular(entry: Entry | None) -> bool:
    """Whether an entry is absent, or a regular file whose content is known."""
    return entry is None or (entry.kind == "file" and entry.content is not None)


def _bytes(entry: Entry | None) -> bytes:
    return (entry.read() if entry is not None and entry.kind == "file" else None) or b""


def combine_decisions(decisions: Iterable[Decision]) -> Literal["accept", "reject", "undecided"]:
    """Combine the decisions of several cells. One reject rejects; undecided cells, or none at all, leave it open."""
    answers = {decision.answer for decision in decisions} - {"skipped"}
    if "reject" in answers:
        return "reject"
    return "undecided" if "undecided" in answers or not answers else "accept"


def guard_suite(evals: Iterable[Eval], guard: Guard, *, exclude: Collection[str]) -> tuple[str, ...]:
    """Return the names of the other evals that must not get worse. Names listed in `guard` are used as they are."""
    if isinstance(guard, tuple):
        return tuple(name for name in guard if name not in exclude)
    policies = {
        "always": {Policy.ALWAYS_PASSES},
        "all": {Policy.ALWAYS_PASSES, Policy.USUALLY_PASSES},
        "none": set[Policy](),
    }[guard]
    return tuple(eval_.name for eval_ in evals if eval_.policy in policies and eval_.name not in exclude)
