"""Options that several commands share, and the configuration that they select."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from demeanor.config import Config, Limit, UnknownPlace, executor_at, read_config, scheme_of
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.core.values.executor_spec import ExecutorSpec
from demeanor.core.values.sandbox_spec import RANKS

if TYPE_CHECKING:
    from demeanor.core.values.run_request import RunRequest, Shard
    from demeanor.render import ReportDocument, Screen

T = TypeVar("T")
_LISTS = {
    "paths": "paths",
    "subject": "subjects",
    "scenario": "names",
    "suite": "suites",
}
_VALUES = (
    "keyword",
    "model",
    "env",
    "trials",
    "policy",
    "jobs",
    "timeout",
    "kind",
    "sandbox",
    "seed",
    "shard",
)


def config_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--config`, which every command that reads the configuration has; the help of `demeanor` shows it once."""
    parser.add_argument("--config", type=Path, help=argparse.SUPPRESS)


def sandbox_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--sandbox` to a command that takes the level from the configuration; see `with_sandbox`."""
    parser.add_argument(
        "--sandbox", choices=tuple(RANKS), help="the sandbox level (default: that of the configuration, or bubblewrap)"
    )


def with_sandbox(config: Config, args: argparse.Namespace) -> Config:
    """The configuration with the level of `--sandbox`."""
    return replace(config, sandbox=args.sandbox or config.sandbox)


def choice_arguments(parser: argparse.ArgumentParser, *, paths: bool = True) -> None:
    """Add the options that select evals."""
    group = parser.add_argument_group("which evals")
    if paths:
        group.add_argument(
            "paths", nargs="*", metavar="PATH", help="files or folders, with ::name for one eval (default: evals/)"
        )
    group.add_argument(
        "-k",
        dest="keyword",
        default="",
        metavar="EXPR",
        help="only evals whose names, tags, suite or file match an expression, such as 'notes and not slow'",
    )
    group.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help="only the eval with this name; repeatable"
    )
    group.add_argument(
        "--suite", action="append", default=[], metavar="NAME", help="only evals of this suite; repeatable"
    )


def env_argument(group: argparse._ActionsContainer) -> None:
    """Add `--env`."""
    group.add_argument(
        "--env",
        metavar="NAME",
        help="environment of Harbor tasks: bubblewrap, docker, podman, daytona, modal, … (default: a container engine,"
        " or bubblewrap if none is running)",
    )


def subject_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that select subjects."""
    group = parser.add_argument_group("which subjects")
    group.add_argument(
        "--subject", action="append", default=[], metavar="AGENT:MODEL", help="the subject to test; repeatable"
    )
    group.add_argument(
        "--model",
        action=_SetModel,
        metavar="MODEL",
        help="use this model, or PROVIDER/MODEL, for every subject instead of its own",
    )


def trial_argument(parser: argparse.ArgumentParser) -> None:
    """Add the name of a stored trial; see `find_record` of trace.trials."""
    parser.add_argument(
        "trial",
        nargs="?",
        metavar="TRIAL",
        help="EVAL, EVAL/SUBJECT or EVAL/SUBJECT/N (default: the first trial of the run that did not pass)",
    )


def format_arguments(group: argparse._ArgumentGroup) -> None:
    """Add `--format` and `--json`, for reports that are also written as markdown; see `print_report`."""
    group.add_argument(
        "--format",
        choices=("terminal", "markdown", "json"),
        default="terminal",
        help="output format (default: terminal)",
    )
    group.add_argument("--json", action="store_true", help="the same as --format json")


def trial_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options of all commands that run trials."""
    group.add_argument(
        "--jobs",
        type=positive_int,
        metavar="N",
        help="trials in parallel (default: twice the cores, at most 8; 2 with a local model)",
    )
    group.add_argument(
        "--timeout", type=positive_float, metavar="SECONDS", help="time limit of a trial; overrides that of its eval"
    )
    budget_argument(group, "start no further trial once this much is spent")
    group.add_argument(
        "--sandbox",
        choices=tuple(RANKS),
        metavar="LEVEL",
        help=f"how agents are isolated: {', '.join(RANKS)} (default: bubblewrap)",
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of all random choices of Demeanor")


def budget_argument(group: argparse._ActionsContainer, what: str) -> None:
    """Add `--budget`, whose value is a Limit; `what` says what it does."""
    group.add_argument(
        "--budget",
        type=amount_argument,
        action=_AddAmount,
        default=Limit(),
        metavar="AMOUNT",
        help=f"{what}: 5usd, or 200000tokens (input and output); repeatable, once for each unit",
    )


class _SetModel(argparse.Action):
    """Takes one model; a second one would silently take the place of the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        if namespace.model not in {None, values}:
            models = f"{namespace.model!r} and {values!r}"
            raise UsageError(f"--model is given twice: {models}\n  → several models: --subject AGENT:MODEL for each")
        namespace.model = values


class _AddAmount(argparse.Action):
    """Adds an amount to those of the other unit."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        amounts = {unit: value for unit, value in asdict(values).items() if value is not None}
        if any(getattr(namespace.budget, unit) is not None for unit in amounts):
            unit = next(iter(amounts))
            raise UsageError(f"--budget is given twice in {unit}\n  → name one amount for each unit")
        namespace.budget = replace(namespace.budget, **amounts)


def amount_argument(text: str) -> Limit:
    """`5usd`, `0.50usd` or `200000tokens`, for argparse; raises BadInput."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(usd|tokens)?", text)
    if match is None or (match[2] == "tokens" and "." in match[1]):
        remedy = "write US dollars as 5usd or 0.50usd, and tokens as 200000tokens"
        raise BadInput(f"{text!r} is not an amount", where="--budget", remedy=remedy)
    number, unit = match.groups()
    if unit is None:
        remedy = f"write {number}usd for US dollars, or {number.replace('.', '')}tokens"
        raise BadInput(f"{text!r} has no unit", where="--budget", remedy=remedy)
    if float(number) == 0:
        raise BadInput("expected an amount above 0", where="--budget", remedy="write 5usd or 200000tokens")
    return Limit(usd=float(number)) if unit == "usd" else Limit(tokens=int(number))


def on_argument(group: argparse._ArgumentGroup) -> None:
    """Add `--on`."""
    group.add_argument(
        "--on",
        type=_place,
        metavar="N|tls://HOST:PORT",
        help="where attempts run: a cluster of N workers that is started here, that of a scheduler, a place of an "
        "installed package, or local (default: `on` of [executor], else local)",
    )


def _place(text: str) -> str:
    try:
        executor_at(text, {})
    except UnknownPlace as problem:
        raise BadInput(str(problem), where="--on", remedy=problem.remedy) from None
    return text


def with_executor(config: Config, args: argparse.Namespace) -> Config:
    """The configuration with the place of `--on`; this process for commands that lack the option."""
    if "on" not in args:
        return replace(config, executor=ExecutorSpec())
    return config if args.on is None else replace(config, executor=executor_at(args.on, config.executors))


def shard_part(text: str) -> Shard:
    """A part of the trials, such as `2/8`, for argparse; raises BadInput."""
    from demeanor.core.values.run_request import Shard

    match = re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", text)
    if match is None or int(match[1]) > int(match[2]):
        remedy = "number the shards from 1, such as 2/8; join them with: demeanor store import DIR"
        raise BadInput(f"{text!r} is not a part K/N of the trials", where="--shard", remedy=remedy)
    return Shard(number=int(match[1]), of=int(match[2]))


def shard_or_folder(text: str) -> Shard | Path:
    """A shard, or the folder with all shards of a run, for argparse."""
    looks_like_shard = re.fullmatch(r"-?\d+/-?\d+", text) is not None
    return shard_part(text) if looks_like_shard and not Path(text).is_dir() else Path(text)


def build_argument(group: argparse._ArgumentGroup) -> None:
    """Add `--no-build`, for commands that test the working tree."""
    group.add_argument(
        "--no-build", action="store_true", help="do not run the `build` command of the configuration before the trials"
    )


def builds_first(args: argparse.Namespace, config: Config) -> bool:
    """Whether the working tree is built before the trials: it has a build command, and `--no-build` was not given."""
    return bool(config.build.command) and not args.no_build


def request_of(args: argparse.Namespace, **more: Any) -> RunRequest:
    """The request that the shared options and the environment describe; `more` are the command's own fields."""
    options = vars(args)
    fields: dict[str, Any] = {
        field: tuple(options[name]) for name, field in _LISTS.items() if name in options and field not in more
    }
    fields |= {name: options[name] for name in _VALUES if name in options}
    if "budget" in options:
        fields |= {"budget_usd": args.budget.usd, "budget_tokens": args.budget.tokens}
    from demeanor.core.values.agent import DEBUG_VARIABLE
    from demeanor.core.values.run_request import RunRequest

    fields.setdefault("kind", "ci" if os.environ.get("CI") else "local")
    fields["agent_debug"] = bool(os.environ.get(DEBUG_VARIABLE))
    return RunRequest(**(fields | more))


def output_format(args: argparse.Namespace) -> str:
    """The output format: that of `--json`, that of `--format`, or `terminal`."""
    return "json" if args.json else getattr(args, "format", "terminal")


def print_report(
    args: argparse.Namespace,
    report: T,
    document: ReportDocument[T],
    terminal: Callable[[T, Screen], str],
    markdown: Callable[[T], str] | None = None,
) -> None:
    """Print a report in the output format."""
    from demeanor.render import screen_of

    how = output_format(args)
    if how == "json":
        text = document.write(report)
    elif how == "markdown" and markdown:
        text = markdown(report)
    else:
        text = terminal(report, screen_of(sys.stdout))
    print(text, end="")


def load_config(args: argparse.Namespace, *, near: Path | None = None) -> Config:
    """The configuration that the command line selects: by default that of the project around `near`, if it is a folder,
    or around the current folder."""
    results = getattr(args, "results", None)
    if results is not None and scheme_of(str(results)):
        remedy = "name a folder; the address of a database belongs in `store` or DEMEANOR_STORE"
        raise UsageError(f"--results={results}: expected a folder, found an address\n  → {remedy}")
    if args.config is not None and not args.config.is_file():
        raise BadInput("there is no such file", where=args.config, remedy="correct the path, or leave --config out")
    config = read_config(near if near is not None and near.is_dir() else Path.cwd(), args.config)
    return with_executor(config, args)


def positive_int(text: str) -> int:
    """An integer of at least 1, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text}")
    return number


def positive_float(text: str) -> float:
    """A number above 0, for argparse."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text}")
    return number


def size_argument(text: str) -> float:
    """A number of at least 0, for argparse."""
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, found {text}")
    return number


def port_argument(text: str) -> int:
    """The number of a port, or 0 for any free one, for argparse."""
    number = int(text)
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError(f"expected a port between 0 and 65535, found {text}")
    return number


positive_int.__name__ = "whole number"  # argparse shows the name if the text is not a number
positive_float.__name__ = size_argument.__name__ = "number"
port_argument.__name__ = "port"


def rate_argument(text: str) -> float:
    """`0.95`, `95%` or `95 %`, above 0 and below 1, for argparse."""
    plain = text.strip()
    number = float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"expected a rate between 0 and 1, such as 0.95 or 95%, found {text}")
    return number


rate_argument.__name__ = "rate"  # argparse shows it if the text is not a number
