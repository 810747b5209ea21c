"""`demeanor contract`: the wire formats of the model APIs, checked without a model."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.codec import encode
from demeanor.core.errors import BadInput, NothingToRun, UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.select import keyword_matcher

if TYPE_CHECKING:
    from demeanor.gateway.contract import ContractOutcome, Converter

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
    """Run the cases, or probe a server; print what fails, and the sum."""
    if args.url:
        return _tell(_probes(args), "probes", as_json=args.json)
    from demeanor.gateway import contract

    matches = keyword_matcher(args.keyword)
    chosen = [case for case in contract.cases() if matches((case.name, case.kind))]
    if not chosen:
        raise NothingToRun("no case fits\n  → `demeanor contract --list` shows what there is")
    if args.only_list:
        print("\n".join(f"{case.name} ({case.kind})" for case in chosen))
        return ExitCode.ACCEPTED
    return _tell(contract.run(_converter(args.converter), only=chosen), "cases", as_json=args.json)


def _tell(outcomes: Sequence[ContractOutcome], what: str, *, as_json: bool) -> ExitCode:
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if as_json:
        print(
            json.dumps({"passed": len(outcomes) - len(failed), "failed": len(failed), what: encode(outcomes)}, indent=2)
        )
    else:
        for outcome in failed:
            print(f"{outcome.explain()}\n")
        print(f"{len(outcomes)} {what}, {len(failed)} failed")
    return ExitCode.REJECTED if failed else ExitCode.ACCEPTED


def _probes(args: argparse.Namespace) -> Sequence[ContractOutcome]:
    """What the server at --url makes of each question."""
    import asyncio

    from demeanor.gateway.contract import probe_url

    if not args.dialect or not args.model:
        raise UsageError("--url needs --dialect and --model\n  → for example: --dialect openai-chat --model gpt-5")
    key = os.environ.get(args.key_env, "") if args.key_env else ""
    if args.key_env and not key:
        raise UsageError(f"the environment variable {args.key_env} is not set\n  → set it, or leave --key-env out")
    return asyncio.run(probe_url(args.url, args.dialect, args.model, key))


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
