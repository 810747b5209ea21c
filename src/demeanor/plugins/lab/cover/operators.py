"""What is done to an instruction to see whether an eval notices: it is removed, negated, shortened or moved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from demeanor.core.text.instructions import SYSTEM, PromptInstruction
from demeanor.core.text.prompt_edits import shortened
from demeanor.core.values.intervention import Intervention
from demeanor.reports.prompt_coverage import CoverOperator


def changeable(operator: CoverOperator, sent: Sequence[PromptInstruction]) -> dict[str, str]:
    """The instructions that the operator can change → the one that it needs for it, or an empty text."""
    if operator == "shorten":
        return {one.id: "" for one in sent if shortened(one.text) != one.text}
    if operator == "negate":
        return {one.id: "" for one in sent if one.kind != "block"}
    if operator == "swap":
        own = [one.id for one in sent if one.place == SYSTEM]
        return {one: other for number, (one, other) in enumerate(pairwise(own)) if number % 2 == 0}
    return {one.id: "" for one in sent}


def change(operator: CoverOperator, ids: Collection[str], partners: Mapping[str, str]) -> Intervention:
    """The intervention that changes some instructions."""
    chosen = tuple(sorted(ids))
    if operator == "negate":
        return Intervention(negated=chosen)
    if operator == "shorten":
        return Intervention(shortened=chosen)
    if operator == "swap":
        return Intervention(swapped=tuple((one, partners[one]) for one in chosen))
    return Intervention(without=chosen)
