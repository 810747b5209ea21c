"""The changes of rates up to a night, kept in the history: the scan of ten weeks of a large suite takes seconds.

The same nights are scanned for every report of a night, no matter how many of them it shows, so that the terminal and
the dashboard agree, and the first of them does the work for the others.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor._version import __version__
from demeanor.core.text.codec import decode, encode
from demeanor.core.values.history import PastRun, RunCell
from demeanor.decide import NoticedShift, RateShift, latest_shifts, rate_histories, shifts_within
from demeanor.statistics import change, change_evidence
from demeanor.store import SqlHistory, keep_derived, read_derived, run_states

if TYPE_CHECKING:
    from demeanor.core.values.ports import History

_SHOWN = 13
"""The nights before tonight that a page shows, at most; a report may show more."""

_WORTH_KEEPING = 0.2
"""Seconds; what takes less is calculated each time."""

_FEW = 100
"""Evals that are asked for by name, at most."""


def kept_shifts(history: SqlHistory, shown: Sequence[PastRun], *, branch: str | None = None) -> tuple[RateShift, ...]:
    """The changes of rates that were seen in the shown nights; the last one is tonight."""
    run, names = shown[-1], {night.name for night in shown}
    nights = [*nights_before(history, run, change.MEMORY + max(_SHOWN, len(shown) - 1), branch=branch), run]
    states = run_states(history, [night.name for night in nights])
    key = ("shifts", _code(), [[night.info.uid, states.get(night.name)] for night in nights])
    known = read_derived(history, *key)
    if known is not None:
        return shifts_within(decode(tuple[NoticedShift, ...], known), names)
    started = time.perf_counter()
    found = latest_shifts(_cells(history, nights), run.name)
    if time.perf_counter() - started >= _WORTH_KEEPING:
        keep_derived(history, encode(found), *key)
    return shifts_within(found, names)


def nights_before(history: History, run: PastRun, number: int, *, branch: str | None = None) -> Sequence[PastRun]:
    """The last nightly runs that started before `run`, oldest first."""
    began = (run.info.started, run.name)
    found = history.runs(kind="nightly", branch=branch, limit=number + 1)
    earlier = [night for night in found if (night.info.started, night.name) < began]
    if len(earlier) < number < len(found):  # an old run
        every = history.runs(kind="nightly", branch=branch)
        earlier = [night for night in every if (night.info.started, night.name) < began]
    return earlier[:number][::-1]


def _cells(history: SqlHistory, nights: Sequence[PastRun]) -> list[RunCell]:
    """The cells of tonight's evals in all these nights."""
    tonight = history.cells(nights[-1].name)
    evals = {cell.eval for cell in tonight if cell.judged}
    if not evals:
        return []
    asked = evals if len(evals) <= _FEW else ()
    before = history.nightly_cells(None, evals=asked, runs={night.name for night in nights[:-1]})
    return [*(cell for cell in before if cell.eval in evals), *tonight]


@cache
def _code() -> str:
    """A digest of the code that the changes follow from: other code has other results."""
    found = blake2b(__version__.encode(), digest_size=8)
    for module in (change, change_evidence, inspect.getmodule(rate_histories), inspect.getmodule(latest_shifts)):
        source = Path(getattr(module, "__file__", None) or "")
        if source.suffix == ".py" and source.is_file():
            found.update(source.read_bytes())
    return found.hexdigest()
