"""The changes of rates up to a night, kept in the history: the scan of ten weeks of a large suite takes seconds.

The same nights are scanned for every report of a night, no matter how many of them it shows, so that the terminal and
the dashboard agree, and the first of them does the work for the others. A fall is told until the rate has recovered, or
the configuration accepts it; a rise for a week.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

from demeanor._version import __version__
from demeanor.config import Config
from demeanor.core.text.codec import decode, encode
from demeanor.core.values.errors import StoreError
from demeanor.core.values.history import Night, RunCell
from demeanor.decide.nights import NoticedShift, RateShift, correlation_of, latest_shifts, rate_histories, shifts_within
from demeanor.results import LAST_NIGHTS, cells_of_nights, nights_until, open_project_history
from demeanor.statistics import change, change_evidence, effective, night_correlation
from demeanor.store.history import SqlHistory, keep_derived, read_derived, run_states

_WORTH_KEEPING = 0.2
"""Seconds; what takes less is calculated each time."""

_MANY_CELLS = 20_000
"""Of all nights; the scan of more takes a second or longer."""

_FEW = 100
"""Evals that are asked for by name, at most."""


def kept_shifts(
    history: SqlHistory, tonight: Night, *, branch: str | None = None, accepted: Mapping[str, str] | None = None
) -> tuple[RateShift, ...]:
    """The changes of rates up to a night. `accepted` says of evals, or cells, the day up to which their falls are."""
    nights = nights_until(history, tonight.runs[-1], 2 * change.MEMORY, branch=branch)
    recent = {night.name for night in nights[-LAST_NIGHTS - 1 :]}
    shifts = shifts_within(_latest(history, nights), recent)
    return tuple(shift for shift in shifts if not (shift.fell and _is_accepted(shift, accepted or {})))


def shifts_are_ready(history: SqlHistory, tonight: Night, *, branch: str | None = None) -> bool:
    """Whether the changes up to a night are kept, or are quickly found."""
    nights = nights_until(history, tonight.runs[-1], 2 * change.MEMORY, branch=branch)
    states = run_states(history, [name for night in nights for name in night.names])
    if sum(cells for _, cells, _ in states.values()) <= _MANY_CELLS:
        return True
    return read_derived(history, *_key(nights, states)) is not None


def prepare_shifts(
    config: Config, environ: Mapping[str, str], *, results: Path, log: Callable[[str], None] = lambda line: None
) -> None:
    """Find the changes up to the last night, where that takes long, so that its readers need not wait."""
    try:
        with open_project_history(config, environ, results=results) as history:
            for run in history.runs(kind="nightly", limit=1):
                tonight = nights_until(history, run, 0)[-1]
                if not shifts_are_ready(history, tonight):
                    kept_shifts(history, tonight)
    except StoreError as error:
        log(f"the changes of pass rates are found by the first reader: {error}")


def _key(nights: Sequence[Night], states: Mapping[str, tuple[int, int, int]]) -> tuple[object, ...]:
    return "shifts", _code(), [[[run.info.uid, states.get(run.name)] for run in night.runs] for night in nights]


def _is_accepted(shift: RateShift, accepted: Mapping[str, str]) -> bool:
    day = accepted.get(f"{shift.eval}/{shift.subject}") or accepted.get(shift.eval, "")
    return shift.first_after.started[:10] <= day


def _latest(history: SqlHistory, nights: Sequence[Night]) -> tuple[NoticedShift, ...]:
    """The latest change of each cell of the last night, from the store or by a scan."""
    states = run_states(history, [name for night in nights for name in night.names])
    key = _key(nights, states)
    stored = read_derived(history, *key)
    if stored is not None:
        return decode(tuple[NoticedShift, ...], stored)
    started = time.perf_counter()
    shifts = latest_shifts(_cells(history, nights), nights[-1].name)
    if time.perf_counter() - started >= _WORTH_KEEPING:
        keep_derived(history, encode(shifts), *key)
    return shifts


def _cells(history: SqlHistory, nights: Sequence[Night]) -> list[RunCell]:
    """The cells of tonight's evals in all these nights."""
    tonight = cells_of_nights(history, nights[-1:])
    evals = {cell.eval for cell in tonight if cell.judged}
    if not evals:
        return []
    before = cells_of_nights(history, nights[:-1], evals if len(evals) <= _FEW else ())
    return [*(cell for cell in before if cell.eval in evals), *tonight]


@cache
def _code() -> str:
    """A digest of the code that the changes follow from: other code has other results."""
    code = blake2b(__version__.encode(), digest_size=8)
    functions = (rate_histories, latest_shifts, correlation_of, cells_of_nights, night_correlation, effective)
    for module in (change, change_evidence, *map(inspect.getmodule, functions)):
        source = Path(getattr(module, "__file__", None) or "")
        if source.suffix == ".py" and source.is_file():
            code.update(source.read_bytes())
    return code.hexdigest()
