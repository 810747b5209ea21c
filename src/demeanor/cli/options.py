"""Options that several commands share, and the configuration that they select."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from demeanor.config.config import Config, read_config
from demeanor.core.errors import BadInput, UsageError
from demeanor.core.executor_spec import EXECUTORS, ExecutorSpec
from demeanor.core.sandbox_spec import RANKS

if TYPE_CHECKING:
    from demeanor.core.run_request import RunRequest
    from demeanor.render.documents import ReportDocument
    from demeanor.render.terminal import Screen

T = TypeVar("T")
_LISTS = {
    "paths": "paths",
    "subject": "subjects",
    "scenario": "names",
    "suite": "suites",
    "tag": "tags",
    "tasks": "tasks",
}
_VALUES = (
    "keyword",
    "env",
    "trials",
    "policy",
    "jobs",
    "timeout",
    "budget_usd",
    "budget_tokens",
    "agent_debug",
    "kind",
    "sandbox",
    "seed",
)


def config_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--config`."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="configuration file (default: the nearest demeanor.toml)"
    )


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
        help="only evals that match an expression, such as 'notes and not slow'",
    )
    group.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help="only the eval with this name; repeatable"
    )
    group.add_argument(
        "--suite", action="append", default=[], metavar="NAME", help="only evals of this suite; repeatable"
    )
    group.add_argument("--tag", action="append", default=[], metavar="TAG", help="only evals with this tag; repeatable")


def task_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that concern Harbor tasks."""
    group = parser.add_argument_group("whole tasks (demeanor help harbor)")
    group.add_argument(
        "--tasks",
        action="append",
        default=[],
        metavar="TEXT",
        help="only Harbor tasks whose name contains TEXT; repeatable",
    )
    env_argument(group)


def env_argument(group: argparse._ArgumentGroup) -> None:
    """Add `--env`."""
    group.add_argument(
        "--env",
        metavar="NAME",
        help="environment of tasks: bubblewrap, or one of Harbor's: docker, podman, daytona, modal, …"
        " (default: a container engine, or bubblewrap if none is running)",
    )


def subject_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that select subjects."""
    group = parser.add_argument_group("which subjects")
    group.add_argument(
        "--subject", action="append", default=[], metavar="AGENT:MODEL", help="the subject to test; repeatable"
    )
    group.add_argument("--model", metavar="MODEL", help="use this model for every subject instead of its own")
    group.add_argument("--provider", metavar="NAME", help="the provider of --model: short for --model NAME/MODEL")


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
    from demeanor.core.agent import DEBUG_VARIABLE

    group.add_argument(
        "--jobs",
        type=positive_int,
        metavar="N",
        help="trials in parallel (default: twice the cores, at most 8; 2 with a local model)",
    )
    group.add_argument(
        "--timeout", type=positive_float, metavar="SECONDS", help="time limit of a trial; overrides that of its eval"
    )
    group.add_argument(
        "--budget-usd", type=positive_float, metavar="USD", help="start no further trial once this much is spent"
    )
    group.add_argument(
        "--budget-tokens",
        type=positive_int,
        metavar="N",
        help="start no further trial once this many tokens (input and output) are used",
    )
    group.add_argument("--sandbox", choices=tuple(RANKS), help="how agents are isolated (default: bubblewrap)")
    group.add_argument("--seed", type=int, metavar="N", help="seed of all random choices of Demeanor")
    group.add_argument(
        "--agent-debug",
        action="store_true",
        default=bool(os.environ.get(DEBUG_VARIABLE)),
        help=f"keep a verbose log of the agent with each trial (also: {DEBUG_VARIABLE}=1)",
    )


def executor_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options that say where attempts run."""
    group.add_argument(
        "--executor", choices=EXECUTORS, help="where attempts run: on this machine (default), or on a Dask cluster"
    )
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=positive_int, metavar="N", help="start a cluster of N workers on this machine (default: 2)"
    )
    where.add_argument("--scheduler", metavar="tls://HOST:PORT", help="use the cluster of this scheduler")
    group.add_argument("--certs", metavar="DIR", help="folder with the certificates of the cluster")
    group.add_argument(
        "--slots", type=positive_int, metavar="N", help="attempts in parallel on each worker (default: what it offers)"
    )
    group.add_argument(
        "--insecure-loopback", action="store_true", help="no TLS inside a cluster that is started with --workers"
    )
    group.add_argument(
        "--allow-different", action="store_true", help="also use workers with other versions of Demeanor or agents"
    )


def with_executor(config: Config, args: argparse.Namespace) -> Config:
    """The configuration with the executor that the options select; local for commands without these options."""
    options = vars(args)
    if "executor" not in options:
        return replace(config, executor=ExecutorSpec(name="local"))
    given = ExecutorSpec(
        name=options["executor"],
        scheduler=options["scheduler"] or "",
        workers=options["workers"],
        slots=options["slots"],
        certs=options["certs"] or "",
        insecure_loopback=options["insecure_loopback"],
        allow_different=options["allow_different"],
    )
    found = given.over(config.executor)
    if given.insecure_loopback and found.scheduler:
        raise UsageError("--insecure-loopback is for a cluster that is started with --workers\n  → leave it out")
    if found.certs and not given.certs:  # relative to the configuration
        found = replace(found, certs=str(config.root / found.certs))
    return replace(config, executor=found)


def build_argument(group: argparse._ArgumentGroup) -> None:
    """Add `--no-build`, for commands that test the working tree."""
    group.add_argument(
        "--no-build", action="store_true", help="do not run the `build` command of the configuration before the trials"
    )


def builds_first(args: argparse.Namespace, config: Config) -> bool:
    """Whether the working tree is built before the trials: it has a build command, and `--no-build` was not given."""
    return bool(config.build.command) and not args.no_build


def request_of(args: argparse.Namespace, **more: Any) -> RunRequest:
    """The request that the shared options describe, as far as the command has them; `more` are its own fields."""
    options = vars(args)
    given: dict[str, Any] = {
        field: tuple(options[name]) for name, field in _LISTS.items() if name in options and field not in more
    }
    given |= {name: options[name] for name in _VALUES if name in options}
    if "provider" in options:
        given["model"] = _model(args)
    from demeanor.core.run_request import RunRequest

    return RunRequest(**(given | more))


def _model(args: argparse.Namespace) -> str | None:
    """The model to use for every subject; None if none is named."""
    model: str | None = args.model
    if args.provider is None:
        return model
    if model is None:
        raise UsageError("--provider needs a model\n  → add --model MODEL")
    return f"{args.provider}/{model}"


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
    from demeanor.render.terminal import screen_of

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


def count_argument(text: str) -> int:
    """An integer of at least 0, for argparse."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, found {text}")
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
