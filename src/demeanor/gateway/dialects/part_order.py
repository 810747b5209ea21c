"""One part after the other: for dialects whose streams never have two parts open at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from demeanor.gateway.dialects.stream_events import Broke, Delta, Finished, PartClosed, PartGrew, PartOpened


@dataclass(slots=True)
class _Waiting:
    deltas: list[Delta] = field(default_factory=list)
    closed: bool = False


class InOrder:
    """Passes deltas on so that a part opens only when the one before it is closed."""

    def __init__(self) -> None:
        self._parts: dict[int, _Waiting] = {}

    def take(self, delta: Delta) -> Iterator[Delta]:
        """The deltas that can be told now."""
        if isinstance(delta, PartOpened):
            self._parts[delta.index] = _Waiting(deltas=[delta])
        elif isinstance(delta, PartGrew | PartClosed):
            part = self._parts.get(delta.index)
            if part is None:
                return
            part.deltas.append(delta)
            part.closed = part.closed or isinstance(delta, PartClosed)
        elif isinstance(delta, Finished | Broke):
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
