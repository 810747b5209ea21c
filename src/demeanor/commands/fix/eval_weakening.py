"""Where a fixer may change evals at all: what it must not take away from them.

An eval that asks less is passed more often, whatever the agent does. So all that it asked before must still be asked;
and that it still tells good from bad is shown by its self-test, with its old bad behaviours added to the new ones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from demeanor.commands.fix.overfitting import EvalSource, functions
from demeanor.commands.fix.violations import Refusal, Violation
from demeanor.core.eval import Eval


def lost(old: Mapping[str, EvalSource], new: Mapping[str, EvalSource]) -> tuple[Refusal, ...]:
    """What evals have lost, by name."""
    found = []
    for name, eval_source in old.items():
        if name not in new:
            found.append(_refused(eval_source, "the eval is gone"))
        else:
            found += [_refused(eval_source, what) for what in _lost(eval_source, new[name])]
    return tuple(found)


def harder(old: Eval, new: Eval) -> Eval:
    """The new eval, which must fail on all that the old one failed on."""
    return replace(new, fails_on=(*new.fails_on, *old.fails_on), does_nothing_passes=old.does_nothing_passes)


def _lost(old: EvalSource, new: EvalSource) -> Iterator[str]:
    before, after = old.eval, new.eval
    if after.policy is not before.policy:
        yield f"its policy was {before.policy.value} and is {after.policy.value}"
    if after.scenario.prompts != before.scenario.prompts or after.scenario.messages != before.scenario.messages:
        yield "it asks the agent for something else"
    if len(after.checks) < len(before.checks):
        yield f"it had {len(before.checks)} checks and has {len(after.checks)}"
    if (were := asserts(old)) > (are := asserts(new)):
        yield f"its check had {were} asserts and has {are}"
    for key in ("passes_on", "fails_on"):
        if len(getattr(after, key)) < len(getattr(before, key)):
            yield f"it lost a behaviour of {key}"
    if after.does_nothing_passes and not before.does_nothing_passes:
        yield "an agent that does nothing may pass it now"


def asserts(eval_source: EvalSource) -> int:
    """How many asserts the author's functions have."""
    return sum(isinstance(part, ast.Assert) for node in functions(eval_source) for part in ast.walk(node))


def new_complaints(old: Sequence[str], new: Sequence[str], eval_source: EvalSource) -> tuple[Refusal, ...]:
    """What the self-test of a changed eval complains of, and did not before."""
    return tuple(
        Refusal(
            foul=Violation.SELF_TEST,
            path=eval_source.eval.source.path.name,
            detail=f"{eval_source.eval.name}: {complaint}",
        )
        for complaint in new
        if complaint not in old
    )


def _refused(eval_source: EvalSource, what: str) -> Refusal:
    return Refusal(
        foul=Violation.CHECKS, path=eval_source.eval.source.path.name, detail=f"{eval_source.eval.name}: {what}"
    )
