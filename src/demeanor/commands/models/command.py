"""`demeanor models`: list, download and remove the language models that run on this machine."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from demeanor.core.values.exit_code import ExitCode
from demeanor.render import duration, percent

if TYPE_CHECKING:
    from demeanor.gateway.local import FetchProgress, Weights, WeightsCache

_SECONDS_PER_LINE = 10.0
"""Without a terminal, a line of progress is printed at most this often."""

_WIDE = 80
"""Columns of a terminal that also shows the speed."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("action", choices=("list", "fetch", "remove"), nargs="?", default="list", help="default: list")
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="the model; without a name, fetch downloads the default model"
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """List, fetch or remove models."""
    from demeanor.core.values.errors import UsageError
    from demeanor.gateway.local import DEFAULT_MODEL, weights_cache, weights_named

    cache = weights_cache(os.environ)
    if args.action == "list":
        _list(cache, args.name, as_json=args.json)
    elif args.action == "fetch":
        _fetch(weights_named(args.name or DEFAULT_MODEL), cache)
    elif not args.name:
        raise UsageError("no model is named\n  → demeanor models remove NAME")
    else:
        removed = cache.remove(weights_named(args.name))
        print(f"removed {args.name}" if removed else f"{args.name} is not installed")
    return ExitCode.ACCEPTED


def _list(cache: WeightsCache, name: str | None, *, as_json: bool) -> None:
    from demeanor.gateway.local import WEIGHTS, no_runtime, runtime_installed, weights_named

    chosen = [weights_named(name)] if name else list(WEIGHTS.values())
    if as_json:
        print(json.dumps([_facts(weights, cache) for weights in chosen], indent=2))
        return
    lines = [("NAME", "LICENCE", "SIZE", "MEMORY", "STATE", "PATH")]
    for weights in chosen:
        size, memory = _megabytes(weights.size), _megabytes(weights.memory)
        lines.append((weights.name, weights.licence, size, memory, _state(weights, cache), str(cache.path(weights))))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    if not runtime_installed():
        print(f"\n{no_runtime()}")


def _facts(weights: Weights, cache: WeightsCache) -> dict[str, object]:
    return {
        "name": weights.name,
        "title": weights.title,
        "licence": weights.licence,
        "size": weights.size,
        "memory": weights.memory,
        "sha256": weights.sha256,
        "state": _state(weights, cache),
        "path": str(cache.path(weights)),
    }


def _state(weights: Weights, cache: WeightsCache) -> str:
    if cache.is_complete(weights):
        return "ready"
    begun = cache.partial_size(weights)
    return f"incomplete ({percent(begun / weights.size)})" if begun else "not fetched"


def _fetch(weights: Weights, cache: WeightsCache) -> None:
    from demeanor.core.values.errors import UsageError
    from demeanor.gateway.local import fetch, no_runtime, runtime_installed

    if not runtime_installed():  # before a download of a gigabyte
        raise UsageError(no_runtime())
    if not cache.is_complete(weights):
        sys.stderr.write(f"downloading {weights.name} ({weights.title}): {_megabytes(weights.size)}\n")
    try:
        with show_progress(weights, sys.stderr, begun=cache.partial_size(weights)) as show:
            path = fetch(weights, cache, on_progress=show)
    except KeyboardInterrupt:
        begun = _megabytes(cache.partial_size(weights))
        sys.stderr.write(
            f"stopped; {begun} of {_megabytes(weights.size)} are kept"
            f"\n  → continue: demeanor models fetch {weights.name}\n"
        )
        raise
    print(f"{weights.name} ({weights.title}, {weights.licence}) is ready: {path}")
    print(f"try it: demeanor run --subject native:{weights.name}")


@contextmanager
def show_progress(
    weights: Weights, stream: TextIO, *, begun: int, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[FetchProgress], None]]:
    """Show the progress of a fetch: a bar on a terminal, otherwise lines."""
    if not stream.isatty():
        yield _print_lines(weights, stream, clock)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    console = Console(file=stream, width=os.get_terminal_size(stream.fileno()).columns)
    columns = [TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[size]}")]
    columns += [TransferSpeedColumn()] if console.width >= _WIDE else []
    with Progress(*columns, TimeRemainingColumn(), console=console, expand=True) as progress:
        task = progress.add_task("connecting", total=weights.size, completed=begun, size="")
        yield lambda news: progress.update(task, description=news.step, completed=news.done, size=_size(news, weights))


def _print_lines(weights: Weights, stream: TextIO, clock: Callable[[], float]) -> Callable[[FetchProgress], None]:
    """Print a line for each step, and further ones every few seconds, with the time that is left."""
    step, began, begun, printed = "", 0.0, 0, 0.0

    def show(news: FetchProgress) -> None:
        nonlocal step, began, begun, printed
        now = clock()
        if news.step != step:
            step, began, begun = news.step, now, news.done
        elif now < printed + _SECONDS_PER_LINE:
            return
        printed = now
        left = ""
        if begun < news.done < weights.size and now > began:
            left = f", about {duration((weights.size - news.done) * (now - began) / (news.done - begun))} left"
        stream.write(f"{weights.name}: {step}, {_size(news, weights)}{left}\n")
        stream.flush()

    return show


def _size(news: FetchProgress, weights: Weights) -> str:
    return f"{news.done / 1e6:,.0f} of {_megabytes(weights.size)}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
