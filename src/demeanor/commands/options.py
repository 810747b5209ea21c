"""Options that several commands share, and the configuration that they select."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from demeanor.config.config import Config, read_config
from demeanor.core.errors import BadInput, UsageError
from demeanor.core.sandbox_spec import RANKS


def config_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--config`."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="configuration file (default: the nearest demeanor.toml)"
    )


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
    group = parser.add_argument_group("whole tasks (docs/harbor.md)")
    group.add_argument(
        "--tasks",
        action="append",
        default=[],
        metavar="TEXT",
        help="only Harbor tasks whose name contains TEXT; repeatable",
    )
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


def trial_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options of all commands that run trials."""
    group.add_argument(
        "--jobs",
        type=positive_int,
        metavar="N",
        help="trials in parallel (default: twice the cores, at most 8; 2 with a local model)",
    )
    group.add_argument(
        "--timeout", type=positive_float, metavar="SECONDS", help="time limit of a trial, instead of that of its eval"
    )
    group.add_argument(
        "--budget-usd", type=positive_float, metavar="USD", help="start no further trial once this much is spent"
    )
    group.add_argument("--sandbox", choices=tuple(RANKS), help="how agents are isolated (default: bubblewrap)")
    group.add_argument("--seed", type=int, metavar="N", help="seed of all random choices of Demeanor")


def model_of(args: argparse.Namespace) -> str | None:
    """The model to use for every subject; None if none is named."""
    model: str | None = args.model
    if args.provider is None:
        return model
    if model is None:
        raise UsageError("--provider needs a model\n  → add --model MODEL")
    return f"{args.provider}/{model}"


def load_config(args: argparse.Namespace) -> Config:
    """The configuration that the command line selects."""
    if args.config is not None and not args.config.is_file():
        raise BadInput("there is no such file", where=args.config, remedy="correct the path, or leave --config out")
    config = read_config(Path.cwd(), args.config)
    if config.hint:
        sys.stderr.write(f"demeanor: {config.hint}\n")
    return config


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


positive_int.__name__ = "whole number"  # argparse shows the name if the text is not a number
positive_float.__name__ = "number"


def rate_argument(text: str) -> float:
    """`0.95`, `95%` or `95 %`, above 0 and below 1, for argparse."""
    plain = text.strip()
    number = float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"expected a rate between 0 and 1, such as 0.95 or 95%, found {text}")
    return number


rate_argument.__name__ = "rate"  # argparse shows it if the text is not a number
