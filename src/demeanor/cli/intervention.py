"""The options that change instructions on the way from the agent to the model: `--without`, `--replace`, `--negate`,
`--shorten` and `--swap`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.core.errors import BadInput, UsageError

_OPTIONS = {
    "without": "--without",
    "replacements": "--replace",
    "negated": "--negate",
    "shortened": "--shorten",
    "swapped": "--swap",
}

NO_INTERVENTION: Mapping[str, list[str]] = {name: [] for name in ("without", "replace", "negate", "shorten", "swap")}
"""The options for commands that run trials, but never with a changed prompt."""


def intervention_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options."""
    group.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="ID",
        help="remove an instruction from every request to the model; repeatable (ids: demeanor trace --prompt)",
    )
    group.add_argument(
        "--replace",
        action="append",
        default=[],
        metavar="ID=FILE",
        help="replace an instruction with the text of a file; repeatable",
    )
    for option, what in (
        ("--negate", "turn an instruction into its opposite, by fixed rules; repeatable"),
        ("--shorten", "keep only the first sentence or clause of an instruction or a description; repeatable"),
    ):
        group.add_argument(option, action="append", default=[], metavar="ID", help=what)
    group.add_argument(
        "--swap",
        action="append",
        default=[],
        metavar="ID,ID",
        help="swap two instructions of the system prompt; repeatable",
    )


def read_intervention(args: argparse.Namespace) -> dict[str, Any]:
    """The instructions to remove and to replace; raises UsageError with options that would mix them with others."""
    for option, given in (("--without", args.without), ("--negate", args.negate), ("--shorten", args.shorten)):
        for one in given:
            check_id(one, option)
    found: dict[str, Any] = {
        "without": tuple(args.without),
        "replacements": dict(_replacement(given) for given in args.replace),
        "negated": tuple(args.negate),
        "shortened": tuple(args.shorten),
        "swapped": tuple(_pair(given) for given in args.swap),
    }
    options = {name: option for name, option in _OPTIONS.items() if found[name]}
    _refuse_twice(found, options)
    if options:
        option = next(iter(options.values()))
        if getattr(args, "kind", "local") != "local":
            raise UsageError(
                f"{option}: a changed prompt does not belong to a run of the kind {args.kind}\n  → leave --kind out"
            )
        if any(getattr(args, name, None) is not None for name in ("record", "replay")):
            raise UsageError(
                f"{option}: cassettes hold the answers to the agent's own prompt\n  → run without --record and --replay"
            )
    return found


def _refuse_twice(found: Mapping[str, Any], options: Mapping[str, str]) -> None:
    """Refuse two different changes of one instruction: the result would depend on their order."""
    taken: dict[str, str] = {}
    for name, option in options.items():
        ids = dict.fromkeys(found[name]) if name != "swapped" else [one for pair in found[name] for one in pair]
        for one in ids:
            if one in taken:
                raise UsageError(f"{one}: {taken[one]} and {option} name the same instruction\n  → use one of them")
            taken[one] = option


def _pair(given: str) -> tuple[str, str]:
    one, comma, other = given.partition(",")
    if not comma or one == other:
        raise BadInput(f"expected two ids, ID,ID, not {given!r}", where="--swap")
    check_id(one, "--swap")
    check_id(other, "--swap")
    return one, other


def _replacement(given: str) -> tuple[str, str]:
    one, equals, path = given.partition("=")
    if not equals or not path:
        raise BadInput(f"expected ID=FILE, not {given!r}", where="--replace")
    check_id(one, "--replace")
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't be read: {error}", where=path, key="--replace") from None
    if not text.strip():
        raise BadInput("is empty", where=path, key="--replace", remedy=f"to remove the instruction: --without {one}")
    return one, text.strip()


def check_id(one: str, option: str) -> None:
    """Raise BadInput if a text is not the id of an instruction."""
    if not re.fullmatch(r"[0-9a-f]{8}", one):
        raise BadInput(f"{one!r} is not the id of an instruction", where=option, remedy="see `demeanor trace --prompt`")
