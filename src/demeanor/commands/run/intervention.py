"""The options `--without` and `--replace`: change instructions on the way from the agent to the model."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from demeanor.core.errors import BadInput, UsageError


def intervention_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options."""
    group.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="ID",
        help="remove an instruction from every request to the model; repeatable (ids: demeanor prompt)",
    )
    group.add_argument(
        "--replace",
        action="append",
        default=[],
        metavar="ID=FILE",
        help="replace an instruction with the text of a file; repeatable",
    )


def read_intervention(args: argparse.Namespace) -> dict[str, Any]:
    """The instructions to remove and to replace; raises UsageError with options that would mix them with others."""
    for given in (without := tuple(args.without)):
        _check_id(given, "--without")
    replacements = dict(_replacement(given) for given in args.replace)
    if twice := sorted({*without} & {*replacements}):
        raise UsageError(f"{twice[0]}: --without and --replace name the same instruction\n  → use one of them")
    if without or replacements:
        option = "--without" if without else "--replace"
        if args.kind != "local":
            raise UsageError(
                f"{option}: a changed prompt does not belong to a run of the kind {args.kind}\n  → leave --kind out"
            )
        if args.record is not None or args.replay is not None:
            raise UsageError(
                f"{option}: cassettes hold the answers to the agent's own prompt\n  → run without --record and --replay"
            )
    return {"without": without, "replacements": replacements}


def _replacement(given: str) -> tuple[str, str]:
    one, equals, path = given.partition("=")
    if not equals or not path:
        raise BadInput(f"expected ID=FILE, not {given!r}", where="--replace")
    _check_id(one, "--replace")
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't be read: {error}", where=path, key="--replace") from None
    if not text.strip():
        raise BadInput("is empty", where=path, key="--replace", remedy=f"to remove the instruction: --without {one}")
    return one, text.strip()


def _check_id(one: str, option: str) -> None:
    if not re.fullmatch(r"[0-9a-f]{8}", one):
        raise BadInput(f"{one!r} is not the id of an instruction", where=option, remedy="see `demeanor prompt`")
