"""What a program prints, kept within bounds: its first and its last half, and how much there was."""

from __future__ import annotations

from demeanor.core.process import Output


class BoundedOutput:
    """The bytes of one stream as they come in. Costs at most twice `limit` in memory, however much is printed."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._first = bytearray()
        self._last = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take in what was printed next."""
        self.total += len(data)
        room = self._half - len(self._first)
        if room > 0:
            self._first += data[:room]
            data = data[room:]
        if data:
            self._last += data
            if len(self._last) > 2 * self._half:
                del self._last[: -self._half]

    def output(self) -> Output:
        """What was kept, as text."""
        if not self.total:
            return Output()
        left_out = self.total - len(self._first) - min(len(self._last), self._half)
        if not left_out:
            return Output(text=_text(self._first + self._last), total_bytes=self.total)
        first, last = _whole_end(self._first), _whole_start(self._last[-self._half :])
        left_out = self.total - len(first) - len(last)
        text = f"{_text(first)}\n[… {left_out} bytes left out …]\n{_text(last)}"
        return Output(text=text, total_bytes=self.total, left_out=left_out)


def bounded(content: bytes, limit: int) -> Output:
    """What is kept of something that is there as a whole."""
    kept = BoundedOutput(limit)
    kept.add(content)
    return kept.output()


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "backslashreplace")


def _whole_end(data: bytearray) -> bytearray:
    """`data` without the beginning of a character that was cut in two at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needs = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return data[:-back] if needs > back else data
    return data


def _whole_start(data: bytearray) -> bytearray:
    """`data` without the end of a character that was cut in two at its start."""
    skip = 0
    while skip < min(3, len(data)) and data[skip] & 0xC0 == 0x80:
        skip += 1
    return data[skip:]
