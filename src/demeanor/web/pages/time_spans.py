"""Where the time of a trial went: start-up, the model, tools, and the agent itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum

from demeanor.core.text.wording import one_line
from demeanor.core.values.trajectory import Called, Event
from demeanor.store import ExchangeTime
from demeanor.web.charts import Span

_MOST_NAMES = 4


def time_spans(times: Sequence[ExchangeTime], events: Sequence[Event] | None, seconds: float) -> tuple[Span, ...]:
    """The time of a trial from its start to its end. Requests that overlap count once.

    Between two requests, tools run from the time of the first call: for as long as the agent's log says, or else until
    the next request. Steps that were stored without a time, or that are not available, leave tools and agent together.
    """
    calls = [event for event in events or () if isinstance(event, Called)]
    starts = None if events is None or any(call.at is None for call in calls) else calls
    found: list[Span] = []
    clock = 0.0
    for one in sorted(times, key=lambda one: one.started):
        start = max(clock, one.started)
        if start > clock:
            found += _between(clock, start, starts) if found else [_start_up(start)]
        if one.ended > start:
            label = f"model, request {one.number}, {one.ended - one.started:.2f} s"
            found.append(Span(kind="model", start=start, end=one.ended, label=label))
            clock = one.ended
    if seconds > clock and found:
        found += _between(clock, seconds, starts)
    return tuple(found)


def _start_up(end: float) -> Span:
    return Span(kind="start", start=0.0, end=end, label=f"start-up, {end:.2f} s")


def _between(start: float, end: float, calls: Sequence[Called] | None) -> Iterator[Span]:
    """The time between two requests."""
    if calls is None:
        yield Span(kind="tool", start=start, end=end, label=f"tools and agent, {end - start:.2f} s")
        return
    own = [call for call in calls if call.at is not None and start - 0.001 <= call.at < end]
    clock = start
    if own:
        known = [call.seconds for call in own if call.seconds is not None]
        clock = min(end, start + fsum(known)) if len(known) == len(own) else end
        names = ", ".join(one_line(call.tool, width=30) for call in own[:_MOST_NAMES])
        more = f" and {len(own) - _MOST_NAMES} more" if len(own) > _MOST_NAMES else ""
        if clock > start:
            yield Span(kind="tool", start=start, end=clock, label=f"{names}{more}, {clock - start:.2f} s")
    if end > clock:
        yield Span(kind="agent", start=clock, end=end, label=f"the agent itself, {end - clock:.2f} s")
