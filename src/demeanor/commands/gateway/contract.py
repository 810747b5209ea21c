"""`demeanor gateway contract`: check the wire formats of the model APIs, without a model."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.text.codec import encode
from demeanor.core.text.select import keyword_matcher
from demeanor.core.values.dialects import DIALECT_FACTS
from demeanor.core.values.errors import BadInput, NothingToRun, UsageError
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.gateway.contract import ContractOutcome, Converter

_FUNCTION = re.compile(r"[\w.]+:\w+")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "-k",
        dest="keyword",
        default="",
        metavar="EXPR",
        help="only cases that match, such as 'ids and gemini' or 'Thinking Trace'",
    )
    parser.add_argument(
        "--converter",
        metavar="MODULE:FUNCTION|COMMAND",
        help="check another converter: function(source, target, kind, body: bytes) -> bytes, or a program that answers"
        " lines of JSON with lines of JSON, such as 'node convert.ts'",
    )
    parser.add_argument("--url", help="check a server instead: its streams, ids and usage")
    parser.add_argument(
        "--dialect",
        choices=tuple(DIALECT_FACTS),
        metavar="API",
        help=f"the API of the server (with --url): {', '.join(tuple(DIALECT_FACTS))}",
    )
    parser.add_argument("--model", default="", help="the model to request (with --url)")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the environment variable with its API key (with --url)")
    parser.add_argument(
        "--list", action="store_true", dest="only_list", help="print the names of the cases without running them"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """Run the cases, or probe a server; print the failures and the total."""
    if args.url:
        return _print(_probes(args), "probes", as_json=args.json)
    from demeanor.gateway import contract

    matches = keyword_matcher(args.keyword)
    chosen = [case for case in contract.cases() if matches((case.name, case.kind))]
    if not chosen:
        raise NothingToRun("no case matches\n  → list all cases with `demeanor gateway contract --list`")
    if args.only_list:
        print("\n".join(f"{case.name} ({case.kind})" for case in chosen))
        return ExitCode.ACCEPTED
    with _converter(args.converter) as converter:
        outcomes = contract.run(converter, only=chosen)
    return _print(outcomes, "cases", as_json=args.json)


def _print(outcomes: Sequence[ContractOutcome], what: str, *, as_json: bool) -> ExitCode:
    failed = [outcome for outcome in outcomes if outcome.problems]
    undecided = [outcome for outcome in outcomes if outcome.undecided and not outcome.problems]
    if as_json:
        numbers = {
            "passed": len(outcomes) - len(failed) - len(undecided),
            "failed": len(failed),
            "undecided": len(undecided),
        }
        print(json.dumps({**numbers, what: encode(outcomes)}, indent=2))
    else:
        for outcome in failed:
            print(f"{outcome.explain()}\n")
        for reason in dict.fromkeys(outcome.undecided for outcome in undecided):
            print(f"undecided: {reason}\n")
        for note in dict.fromkeys(note for outcome in outcomes for note in outcome.notes):
            print(f"note: {note}\n")
        print(f"{len(outcomes)} {what}, {len(failed)} failed" + (f", {len(undecided)} undecided" if undecided else ""))
    if failed:
        return ExitCode.REJECTED
    return ExitCode.UNDECIDED if undecided else ExitCode.ACCEPTED


def _probes(args: argparse.Namespace) -> Sequence[ContractOutcome]:
    """Probe the server at --url."""
    import asyncio

    from demeanor.gateway.contract import probe_url

    if not args.dialect or not args.model:
        raise UsageError("--url needs --dialect and --model\n  → for example: --dialect openai-chat --model gpt-5")
    key = os.environ.get(args.key_env, "") if args.key_env else ""
    if args.key_env and not key:
        raise UsageError(f"the environment variable {args.key_env} is not set\n  → set it, or leave --key-env out")
    return asyncio.run(probe_url(args.url, args.dialect, args.model, key))


def _converter(name: str | None) -> AbstractContextManager[Converter | None]:
    """The converter that is named: a function, or a program that runs until the end."""
    from demeanor.gateway.contract import converter_program

    if name is None or _FUNCTION.fullmatch(name):
        return nullcontext(None if name is None else _function(name))
    return converter_program(name)


def _function(name: str) -> Converter:
    """Import the function `module:function`; modules in the current folder are found too."""
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        converter: Converter | None = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise BadInput(f"can't be imported: {error}", where=name, key="--converter") from None
    if not callable(converter):
        raise BadInput("this function does not exist", where=name, key="--converter")
    return converter
