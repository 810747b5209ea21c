"""`demeanor models`: list, download and remove the language models that run on this machine."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from demeanor.core.exit_code import ExitCode
from demeanor.render.numbers import percent

if TYPE_CHECKING:
    from demeanor.gateway.local.fetch import FetchProgress
    from demeanor.gateway.local.weights import Weights, WeightsCache

_PROGRESS_STEP = 0.1
"""Without a terminal, progress is printed once per tenth."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("action", choices=("list", "fetch", "remove"), nargs="?", default="list", help="default: list")
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="the model; without a name, fetch downloads the default model"
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: argparse.Namespace) -> ExitCode:
    """List, fetch or remove models."""
    from demeanor.core.errors import UsageError
    from demeanor.gateway.local.weights import DEFAULT_MODEL, weights_cache, weights_named

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
    from demeanor.gateway.local.llama_process import NO_RUNTIME, runtime_installed
    from demeanor.gateway.local.weights import WEIGHTS, weights_named

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
        print(f"\n{NO_RUNTIME}")


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
    from demeanor.gateway.local.fetch import fetch
    from demeanor.gateway.local.llama_process import NO_RUNTIME, runtime_installed

    with _progress(weights) as show:
        path = fetch(weights, cache, on_progress=show)
    print(f"{weights.name} ({weights.title}, {weights.licence}) is ready: {path}")
    print(f"try it: demeanor run --subject native:{weights.name}")
    if not runtime_installed():
        print(f"\n{NO_RUNTIME}")


@contextmanager
def _progress(weights: Weights) -> Iterator[Callable[[FetchProgress], None]]:
    """Show progress on standard error: a bar on a terminal, otherwise a line per tenth."""
    if not sys.stderr.isatty():
        yield _progress_lines(weights)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(weights.name, total=weights.size)
        yield lambda news: progress.update(task, description=f"{weights.name}: {news.step}", completed=news.done)


def _progress_lines(weights: Weights) -> Callable[[FetchProgress], None]:
    last = ("", -1.0)

    def show(news: FetchProgress) -> None:
        nonlocal last
        share = news.done / weights.size
        if news.step != last[0] or share >= last[1] + _PROGRESS_STEP:
            last = (news.step, share)
            done = f"{_megabytes(news.done)} of {_megabytes(weights.size)}"
            sys.stderr.write(f"{weights.name}: {news.step}, {done}\n")
            sys.stderr.flush()

    return show


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
