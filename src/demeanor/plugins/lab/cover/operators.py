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
        return {instruction.id: "" for instruction in sent if shortened(instruction.text) != instruction.text}
    if operator == "negate":
        return {instruction.id: "" for instruction in sent if instruction.kind != "block"}
    if operator == "swap":
        own = [instruction.id for instruction in sent if instruction.place == SYSTEM]
        return {id_: other for number, (id_, other) in enumerate(pairwise(own)) if number % 2 == 0}
    return {instruction.id: "" for instruction in sent}


def change(operator: CoverOperator, ids: Collection[str], partners: Mapping[str, str]) -> Intervention:
    """The intervention that changes some instructions."""
    chosen = tuple(sorted(ids))
    if operator == "negate":
        return Intervention(negated=chosen)
    if operator == "shorten":
        return Intervention(shortened=chosen)
    if operator == "swap":
        return Intervention(swapped=tuple((id_, partners[id_]) for id_ in chosen))
    return Intervention(without=chosen)
