"""What several commands share: the options that choose evals, and the configuration."""

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
        "--config", type=Path, metavar="FILE", help="configuration (default: the nearest demeanor.toml)"
    )


def choice_arguments(parser: argparse.ArgumentParser, *, paths: bool = True) -> None:
    """Add the options that choose evals."""
    group = parser.add_argument_group("which evals")
    if paths:
        group.add_argument(
            "paths", nargs="*", metavar="PATH", help="files or folders, with ::name for one eval (default: evals/)"
        )
    group.add_argument(
        "-k", dest="keyword", default="", metavar="EXPR", help="only evals that match, such as 'notes and not slow'"
    )
    group.add_argument(
        "--scenario", action="append", default=[], metavar="NAME", help="only the eval of this name; repeatable"
    )
    group.add_argument(
        "--suite", action="append", default=[], metavar="NAME", help="only evals of this suite; repeatable"
    )
    group.add_argument("--tag", action="append", default=[], metavar="TAG", help="only evals with this tag; repeatable")


def task_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that run whole tasks."""
    group = parser.add_argument_group("whole tasks (docs/harbor.md)")
    group.add_argument(
        "--tasks",
        action="append",
        default=[],
        metavar="TEXT",
        help="only Harbor tasks with this in their name; repeatable",
    )
    group.add_argument(
        "--env",
        metavar="NAME",
        help="where tasks are played: bubblewrap, or one of Harbor's: docker, podman, daytona, modal, …"
        " (default: a container engine, or bubblewrap where none answers)",
    )


def who_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose subjects."""
    who = parser.add_argument_group("on whom")
    who.add_argument("--subject", action="append", default=[], metavar="AGENT:MODEL", help="whom to try; repeatable")
    who.add_argument("--model", metavar="MODEL", help="try every subject with this model instead of its own")
    who.add_argument("--provider", metavar="NAME", help="whose model --model is: short for --model NAME/MODEL")


def pace_arguments(how: argparse._ArgumentGroup) -> None:
    """Add the options of every command that runs trials."""
    how.add_argument(
        "--jobs",
        type=positive_int,
        metavar="N",
        help="trials at once (default: twice the cores, at most 8; 2 with a local model)",
    )
    how.add_argument(
        "--timeout", type=positive_float, metavar="SECONDS", help="time limit of a trial, whatever evals say"
    )
    how.add_argument(
        "--budget-usd", type=positive_float, metavar="USD", help="start nothing more once this much is spent"
    )
    how.add_argument("--sandbox", choices=tuple(RANKS), help="where agents run (default: bubblewrap)")
    how.add_argument("--seed", type=int, metavar="N", help="make what Demeanor draws repeatable")


def model_of(args: argparse.Namespace) -> str | None:
    """The model that every subject is to be tried with, if one is named."""
    model: str | None = args.model
    if args.provider is None:
        return model
    if model is None:
        raise UsageError("--provider says whose model is tried, but no --model is named\n  → add --model MODEL")
    return f"{args.provider}/{model}"


def load_config(args: argparse.Namespace) -> Config:
    """The configuration that the command line asks for."""
    if args.config is not None and not args.config.is_file():
        raise BadInput("there is no such file", where=args.config, remedy="leave --config out to use none")
    config = read_config(Path.cwd(), args.config)
    if config.hint:
        sys.stderr.write(f"demeanor: {config.hint}\n")
    return config


def positive_int(text: str) -> int:
    """A whole number of at least 1, for argparse."""
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


positive_int.__name__ = "whole number"  # argparse shows the name when the text is no number at all
positive_float.__name__ = "number"
