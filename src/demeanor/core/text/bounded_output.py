"""A bounded buffer for a program's output: it keeps the beginning and the end, and the total size."""

from __future__ import annotations

from demeanor.core.values.process import Output


class BoundedOutput:
    """Collects the bytes of one stream, using at most twice `limit` of memory."""

    def __init__(self, limit: int, *, watch: tuple[bytes, ...] = ()) -> None:
        """`watch` are texts that are searched for in what is left out."""
        self._half = max(limit // 2, 1)
        self._watch = watch
        self._leaked = False
        self._first = bytearray()
        self._last = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Append the next bytes."""
        self.total += len(data)
        free = self._half - len(self._first)
        if free > 0:
            self._first += data[:free]
            data = data[free:]
        if data:
            self._last += data
            if len(self._last) > 2 * self._half:
                self._search()
                del self._last[: -self._half]

    def _search(self) -> None:
        """Search what will be left out, and what is beside it: a text may be cut in two."""
        if self._watch and not self._leaked:
            edge = max(map(len, self._watch))
            data = self._first[-edge:] + self._last
            self._leaked = any(text in data for text in self._watch)

    def output(self) -> Output:
        """The kept output, as text."""
        if not self.total:
            return Output()
        left_out = self.total - len(self._first) - min(len(self._last), self._half)
        if not left_out:
            return Output(text=_text(self._first + self._last), total_bytes=self.total)
        self._search()
        first, last = _whole_end(self._first), _whole_start(self._last[-self._half :])
        left_out = self.total - len(first) - len(last)
        text = f"{_text(first)}\n[… {left_out} bytes left out …]\n{_text(last)}"
        return Output(text=text, total_bytes=self.total, left_out=left_out, leaked=self._leaked)


def bounded(content: bytes, limit: int) -> Output:
    """`content` cut to `limit` bytes, as text."""
    kept = BoundedOutput(limit)
    kept.add(content)
    return kept.output()


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "backslashreplace")


_FIRST_BYTES = (0xC0, 0xE0, 0xF0)
"""The lowest first bytes of characters of 2, 3 and 4 bytes."""


def _whole_end(data: bytearray) -> bytearray:
    """`data` without a partial UTF-8 character at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needs = 1 + sum(byte >= first for first in _FIRST_BYTES)
            return data[:-back] if needs > back else data
    return data


def _whole_start(data: bytearray) -> bytearray:
    """`data` without a partial UTF-8 character at its start."""
    skip = 0
    while skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return data[skip:]
