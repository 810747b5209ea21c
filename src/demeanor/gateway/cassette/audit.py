"""Which cassettes nobody will ever replay, and which no longer fit the eval they were recorded for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from demeanor.core.errors import CassetteUnreadable
from demeanor.core.eval import Eval
from demeanor.gateway.cassette.folder import PACKED, PLAIN, CassetteFolder, read_file
from demeanor.gateway.cassette.make import fingerprint

if TYPE_CHECKING:
    from demeanor.gateway.cassette.cassette import Cassette


@dataclass(frozen=True, kw_only=True, slots=True)
class CassetteFault:
    """What is wrong with one cassette."""

    file: Path
    """Where it lies."""

    fault: Literal["orphaned", "stale", "unreadable"]
    """No trial asks for it; its eval has changed since; or it can't be read."""

    detail: str
    """What exactly, for a person."""


def audit(
    folder: CassetteFolder,
    evals: Mapping[str, Eval],
    *,
    chosen: Collection[str],
    agents: Collection[str],
    trials: int,
) -> Iterator[CassetteFault]:
    """The faults of all cassettes; of those whose eval is known but was not chosen, nothing is said."""
    for file in folder.files():
        try:
            cassette = read_file(file)
        except CassetteUnreadable as error:
            yield CassetteFault(file=file, fault="unreadable", detail=error.detail.removeprefix(f"{file}: "))
            continue
        if cassette.eval in evals and cassette.eval not in chosen:
            continue
        lost = _orphaned(folder, file, cassette, evals.get(cassette.eval), agents, trials)
        if lost:
            yield CassetteFault(file=file, fault="orphaned", detail=lost)
        elif fingerprint(evals[cassette.eval].scenario) != cassette.scenario:
            why = f"the scenario of {cassette.eval!r} has changed since it was recorded on {cassette.recorded}"
            yield CassetteFault(file=file, fault="stale", detail=why)


def _orphaned(
    folder: CassetteFolder, file: Path, cassette: Cassette, found: Eval | None, agents: Collection[str], trials: int
) -> str | None:
    """Why no trial asks for a cassette, if none does."""
    if found is None:
        return f"there is no eval {cassette.eval!r}"
    agent = cassette.subject.partition(":")[0]
    if agent not in agents:
        return f"there is no agent {agent!r}"
    most = found.trials or trials
    if not 1 <= cassette.number <= most:
        return f"{cassette.eval!r} has {most} trials, and this is number {cassette.number}"
    place = folder.place(cassette.eval, cassette.subject, cassette.number)
    name = f"{file.name.removesuffix(PACKED).removesuffix(PLAIN)}{PLAIN}"
    if file.with_name(name) != place:
        return f"it belongs in {place}"
    return None
