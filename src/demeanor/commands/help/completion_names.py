"""The names that a shell completes: of evals, subjects, runs and trials of the project around a folder, and more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from demeanor.cli import SUB_COMMANDS, all_commands, schemas
from demeanor.commands.help.explanations import explanations
from demeanor.commands.help.pages import pages
from demeanor.config import Config, read_config
from demeanor.core.values.errors import DemeanorError
from demeanor.runner import BARE_AGENTS, Catalog, collect_evals
from demeanor.store.runs import find_run, list_runs

Names: TypeAlias = Literal["evals", "subjects", "runs", "trials", "help", "agents", "schemas"]
_MOST_RUNS = 50


def names(kind: Names, folder: Path, environ: Mapping[str, str]) -> list[str]:
    """The names of one kind, each once. What can't be read has none, because a shell has no place for an error."""
    try:
        return list(dict.fromkeys(_names(kind, read_config(folder), environ)))
    except DemeanorError:
        return []


def _names(kind: Names, config: Config, environ: Mapping[str, str]) -> Iterator[str]:
    results = config.root / config.results
    if kind == "help":
        yield from pages()
        yield from explanations()
        yield from (name for name in all_commands() if " " not in name)
        yield from SUB_COMMANDS["help"]
    elif kind == "agents":
        yield from sorted({*BARE_AGENTS, *config.agents})
    elif kind == "schemas":
        yield from schemas()
    elif kind == "evals":
        yield from (eval_.name for eval_ in collect_evals(config))
    elif kind == "subjects":
        catalog = Catalog(config=config, environ=environ)
        yield from catalog.subjects
        yield from (str(cell["subject"]) for cell in _latest(results))
        yield from catalog.agents()
    elif kind == "runs":
        yield "latest"
        yield from [folder.name for folder in list_runs(results)][: -_MOST_RUNS - 1 : -1]
    else:
        for cell in _latest(results):
            yield from (f"{cell['eval']}/{cell['subject']}/{number + 1}" for number in range(int(cell["trials"])))


def _latest(results: Path) -> list[dict[str, Any]]:
    """The cells of the latest run; none if there is no run."""
    try:
        return [dict(cell) for cell in find_run(results, "latest").cells()]
    except DemeanorError:
        return []
