"""`holdfast contract`: the wire formats of the model APIs, checked without a model."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.core.errors import BadInput, NothingToRun, UsageError
from holdfast.core.exit_code import ExitCode
from holdfast.core.keyword import keyword_matcher

if TYPE_CHECKING:
    from holdfast.gateway.contract import Converter

_DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="EXPR", help="only cases that match, such as 'ids and gemini'"
    )
    parser.add_argument(
        "--converter",
        metavar="MODULE:FUNCTION",
        help="check somebody else's converter: function(source, target, kind, body: bytes) -> bytes",
    )
    parser.add_argument("--url", help="check a server that speaks a dialect: its streams, ids and usage")
    parser.add_argument("--dialect", choices=_DIALECTS, help="what the server speaks (with --url)")
    parser.add_argument("--model", default="", help="the model to ask for (with --url)")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the variable that holds its key (with --url)")
    parser.add_argument(
        "--list", action="store_true", dest="only_list", help="print the names of the cases and run none"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Run the cases, print those that fail, and the sum."""
    from holdfast.gateway import contract

    matches = keyword_matcher(args.keyword)
    chosen = [case for case in contract.cases() if matches((case.name, case.kind))]
    if not chosen:
        raise NothingToRun("no case fits\n  → `holdfast contract --list` shows what there is")
    if args.only_list:
        print("\n".join(f"{case.name} ({case.kind})" for case in chosen))
        return ExitCode.ACCEPTED
    results = contract.run(_converter(args.converter), only=chosen)
    failed = [result for result in results if not result.passed]
    if args.json:
        cases = [{"name": one.case.name, "why": one.case.why, "problems": list(one.problems)} for one in results]
        print(json.dumps({"passed": len(results) - len(failed), "failed": len(failed), "cases": cases}, indent=2))
    else:
        for result in failed:
            print(f"{result.explain()}\n")
        print(f"{len(results)} cases, {len(failed)} failed")
    return ExitCode.REJECTED if failed else ExitCode.ACCEPTED


def _converter(name: str | None) -> Converter | None:
    """The function that `module:function` names; modules of the current folder can be named too."""
    if name is None:
        return None
    module, colon, function = name.partition(":")
    if not colon or not function:
        raise UsageError(f"--converter {name!r} names no function\n  → write MODULE:FUNCTION")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Converter | None = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise BadInput(f"can't be imported: {error}", where=name, key="--converter") from None
    if not callable(found):
        raise BadInput("there is no such function", where=name, key="--converter")
    return found
