"""Finds cassettes that no trial uses, and cassettes whose eval has changed since they were recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from demeanor.core.text.wording import count
from demeanor.core.values.errors import CassetteUnreadable
from demeanor.core.values.eval import Eval
from demeanor.gateway.cassette.folder import COMPRESSED, UNCOMPRESSED, CassetteFolder, read_cassette_file
from demeanor.gateway.cassette.recording import scenario_fingerprint

if TYPE_CHECKING:
    from demeanor.gateway.cassette.cassette import Cassette


@dataclass(frozen=True, kw_only=True, slots=True)
class CassetteProblem:
    """A problem with one cassette."""

    file: Path
    """The cassette's file."""

    fault: Literal["orphaned", "stale", "unreadable"]
    """No trial uses it; its eval has changed since; or it can't be read."""

    detail: str
    """The details, for display."""


def audit(
    folder: CassetteFolder,
    evals: Mapping[str, Eval],
    *,
    chosen: Collection[str],
    agents: Collection[str],
    trials: int,
) -> Iterator[CassetteProblem]:
    """The problems of all cassettes, except those whose eval is known but not selected."""
    for file in folder.files():
        try:
            cassette = read_cassette_file(file)
        except CassetteUnreadable as error:
            yield CassetteProblem(file=file, fault="unreadable", detail=error.detail.removeprefix(f"{file}: "))
            continue
        if cassette.eval in evals and cassette.eval not in chosen:
            continue
        reason = _orphaned(folder, file, cassette, evals.get(cassette.eval), agents, trials)
        if reason:
            yield CassetteProblem(file=file, fault="orphaned", detail=reason)
        elif _fingerprint(evals[cassette.eval]) != cassette.scenario:
            what = "task" if evals[cassette.eval].task else "scenario of"
            detail = f"the {what} {cassette.eval!r} has changed since it was recorded on {cassette.recorded}"
            yield CassetteProblem(file=file, fault="stale", detail=detail)


def _fingerprint(eval_: Eval) -> str:
    return scenario_fingerprint(eval_.scenario, eval_.task)


def _orphaned(
    folder: CassetteFolder, file: Path, cassette: Cassette, eval_: Eval | None, agents: Collection[str], trials: int
) -> str | None:
    """Why no trial uses a cassette; None if one does."""
    if eval_ is None:
        return f"there is no eval {cassette.eval!r}"
    agent = cassette.subject.partition(":")[0]
    if agent not in agents:
        return f"there is no agent {agent!r}"
    planned = eval_.trials or trials
    if not 1 <= cassette.number <= planned:
        return f"{cassette.eval!r} has {count(planned, 'trial')}, and this is number {cassette.number}"
    path = folder.path(cassette.eval, cassette.subject, cassette.number)
    name = f"{file.name.removesuffix(COMPRESSED).removesuffix(UNCOMPRESSED)}{UNCOMPRESSED}"
    if file.with_name(name) != path:
        return f"it belongs at {path}"
    return None
