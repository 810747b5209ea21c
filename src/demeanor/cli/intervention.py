"""`--edit-prompt`: changes of instructions on the way from the agent to the model."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.values.errors import BadInput, UsageError

if TYPE_CHECKING:
    from demeanor.core.values.intervention import Intervention

_OPTION = "--edit-prompt"
_FORMS = (
    "the forms are remove:ID, replace:ID=FILE, negate:ID, shorten:ID, swap:ID,ID; `demeanor trace --prompt` lists ids"
)


def intervention_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the option."""
    group.add_argument(
        _OPTION,
        action="append",
        default=[],
        metavar="EDIT",
        help="change an instruction in every request to the model: remove:ID, replace:ID=FILE, negate:ID, shorten:ID"
        " or swap:ID,ID; repeatable (demeanor help cover)",
    )


def read_intervention(args: argparse.Namespace) -> Intervention:
    """The edits; raises UsageError with options that would mix them with others."""
    change = parse_edits(args.edit_prompt)
    if change and any(getattr(args, name, None) is not None for name in ("record", "replay")):
        raise UsageError(
            f"{_OPTION}: cassettes hold the answers to the agent's own prompt\n  → run without --record and --replay"
        )
    return change


def parse_edits(edits: Iterable[str]) -> Intervention:
    """The intervention that makes all edits; raises UsageError if two of them change the same instruction, because the
    result would depend on their order."""
    from demeanor.core.values.intervention import Intervention

    change = Intervention()
    by_id: dict[str, str] = {}
    for edit in dict.fromkeys(edits):
        own = _parse_edit(edit)
        for instruction in own.ids:
            if instruction in by_id:
                raise UsageError(
                    f"{_OPTION}: {by_id[instruction]} and {edit} change the same instruction\n  → use one of them"
                )
            by_id[instruction] = edit
        change = own.over(change)
    return change


def _parse_edit(edit: str) -> Intervention:
    from demeanor.core.values.intervention import Intervention

    kind, _, what = edit.partition(":")
    where = f"{_OPTION} {edit}"
    match kind:
        case "remove":
            return Intervention(without=(check_id(what, where, _FORMS),))
        case "negate":
            return Intervention(negated=(check_id(what, where, _FORMS),))
        case "shorten":
            return Intervention(shortened=(check_id(what, where, _FORMS),))
        case "replace":
            instruction, _, path = what.partition("=")
            return Intervention(replacements={check_id(instruction, where, _FORMS): _read_text(path, where)})
        case "swap":
            instruction, _, other = what.partition(",")
            pair = check_id(instruction, where, _FORMS), check_id(other, where, _FORMS)
            if instruction == other:
                raise BadInput("an instruction can't be swapped with itself", where=where, remedy=_FORMS)
            return Intervention(swapped=(pair,))
    raise BadInput(f"{kind!r} is not a kind of edit", where=where, remedy=_FORMS)


def _read_text(path: str, where: str) -> str:
    if not path:
        raise BadInput("no file is named", where=where, remedy=_FORMS)
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} can't be read: {error}", where=where) from None
    if not text:
        raise BadInput(f"{path} is empty", where=where, remedy="to remove the instruction: remove:ID")
    return text


def check_id(text: str, where: str, remedy: str = "see `demeanor trace --prompt`") -> str:
    """The id of an instruction; raises BadInput if a text is none."""
    if not re.fullmatch(r"[0-9a-f]{8}", text):
        raise BadInput(f"{text!r} is not the id of an instruction", where=where, remedy=remedy)
    return text
