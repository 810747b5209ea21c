"""The common base of stream writers for dialects in which only one part is open at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from demeanor.core.values.exchange import ProviderError, StopReason, Usage
from demeanor.core.values.messages import Part
from demeanor.gateway.dialects.stream_events import (
    Began,
    Delta,
    Finished,
    Interrupted,
    PartClosed,
    PartGrew,
    PartOpened,
)


@dataclass(slots=True)
class _PendingPart:
    deltas: list[Delta] = field(default_factory=list)
    closed: bool = False


class InOrder:
    """Reorders deltas so that a part opens only after the previous one is closed."""

    def __init__(self) -> None:
        self._parts: dict[int, _PendingPart] = {}

    def add(self, delta: Delta) -> Iterator[Delta]:
        """Add a delta; yields the deltas that can be written now."""
        if isinstance(delta, PartOpened):
            self._parts[delta.index] = _PendingPart(deltas=[delta])
        elif isinstance(delta, PartGrew | PartClosed):
            part = self._parts.get(delta.index)
            if part is None:
                return
            part.deltas.append(delta)
            part.closed = part.closed or isinstance(delta, PartClosed)
        elif isinstance(delta, Finished | Interrupted):
            for index, part in self._parts.items():
                if not part.closed:
                    part.deltas.append(PartClosed(index=index))
                    part.closed = True
            yield from self._ready()
            yield delta
            return
        else:
            yield delta
            return
        yield from self._ready()

    def _ready(self) -> Iterator[Delta]:
        while self._parts:
            index, part = next(iter(self._parts.items()))
            yield from part.deltas
            part.deltas = []
            if not part.closed:
                return
            del self._parts[index]


class SummarySeparator:
    """Puts an empty line between the summaries of a thought, for dialects that have one text for all of them."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None

    def text(self, grown: PartGrew) -> str:
        """More text of a summary, after a separator if it is the first of another one."""
        place = (grown.index, grown.summary_index)
        first = not grown.summary or self._last is None or self._last[0] != grown.index or self._last == place
        self._last = place if grown.summary else self._last
        return grown.summary if first else f"\n\n{grown.summary}"


class PartWriter:
    """Writes one streamed response, one part after the other; a dialect defines the bytes for each step."""

    def __init__(self) -> None:
        self._order = InOrder()
        self._began = False
        self._part: Part | None = None
        self._stop = StopReason.UNKNOWN
        self._usage = Usage()
        self._finished = False
        self._broke = False

    @property
    def complete(self) -> bool:
        """Whether the response came to its end; one that broke off must not look complete."""
        return self._finished and not self._broke

    def write(self, delta: Delta) -> bytes:
        """The bytes for this delta."""
        output = b""
        if not self._began:
            self._began = True
            output = self.begin(delta if isinstance(delta, Began) else Began())
        return output + b"".join(self._write_ready(ready) for ready in self._order.add(delta))

    def begin(self, began: Began) -> bytes:
        """The bytes that start the response."""
        raise NotImplementedError

    def open(self, part: Part) -> bytes:
        """The bytes that open a part."""
        raise NotImplementedError

    def grow(self, grown: PartGrew) -> bytes:
        """The bytes that extend the open part."""
        raise NotImplementedError

    def close_part(self) -> bytes:
        """The bytes that close the open part."""
        raise NotImplementedError

    def finish(self, finished: Finished) -> None:
        """Take note of the end of the response."""

    def fail(self, error: ProviderError) -> bytes:
        """The bytes that report an error in the middle of the response."""
        raise NotImplementedError

    def _write_ready(self, delta: Delta) -> bytes:
        if isinstance(delta, PartGrew):
            return self.grow(delta)
        if isinstance(delta, PartOpened):
            self._part = delta.part
            return self.open(delta.part)
        if isinstance(delta, PartClosed):
            return self.close_part()
        if isinstance(delta, Finished):
            self._finished = True
            self._stop = delta.stop or self._stop
            self._usage = delta.usage or self._usage
            self.finish(delta)
        elif isinstance(delta, Interrupted):
            self._broke = True
            return self.fail(delta.error)
        return b""
