"""Diffs of what an agent wrote, in bounded time.

difflib takes time in proportion to the square of the number of lines, for example if a line was added after each line.
So the work is counted, and beyond a limit the rest of a file counts as replaced: the diff is still right, but longer.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

Opcode: TypeAlias = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
"""What to do, and the ranges of old and new lines, as difflib says it."""

_MOST_STEPS = 2_000_000
"""How many pairs of lines are compared, in all files together: about a second."""

_MOST_EQUAL = 50
"""A line that occurs more often begins no match. It can still be part of one."""


class DiffWork:
    """How much work may still be done for some diffs."""

    def __init__(self, steps: int = _MOST_STEPS) -> None:
        self.steps = steps


class _Matcher(difflib.SequenceMatcher[str]):
    """Finds equal lines until the work that it may do is used up."""

    a: Sequence[str]
    b2j: dict[str, list[int]]

    def __init__(self, old: Sequence[str], new: Sequence[str], work: DiffWork, most_equal: int | None) -> None:
        super().__init__(None, old, new, autojunk=most_equal is not None)
        self._work = work
        if most_equal is not None and len(old) + len(new) > 2 * most_equal:
            for line in [line for line, places in self.b2j.items() if len(places) > most_equal]:
                del self.b2j[line]

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        """The longest match within two ranges; none if the work is used up."""
        end = len(self.a) if ahi is None else ahi
        if self._work.steps >= 0:
            self._work.steps -= sum(len(self.b2j.get(line, "1")) for line in self.a[alo:end])
        if self._work.steps < 0:
            return difflib.Match(alo, blo, 0)
        return super().find_longest_match(alo, end, blo, bhi)


class _Grouped(difflib.SequenceMatcher[str]):
    """Groups differences that were found already."""

    def __init__(self, opcodes: Iterable[Opcode]) -> None:
        super().__init__()
        self._found = list(opcodes)

    def get_opcodes(self) -> list[Opcode]:
        """The differences."""
        return self._found


def diff_lines(old: Sequence[str], new: Sequence[str], work: DiffWork, *, context: int = 3) -> Iterator[str]:
    """The hunks of a unified diff, line by line, without the names of the files."""
    if old == new:
        return
    for group in _hunks(old, new, work, context):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[a:b])
                continue
            yield from (f"-{line}" for line in old[a:b])
            yield from (f"+{line}" for line in new[c:d])


def _hunks(
    old: Sequence[str], new: Sequence[str], work: DiffWork, context: int
) -> Iterable[list[tuple[str, int, int, int, int]]]:
    """The differences with some lines around them; those close to each other are one hunk."""
    if not old or not new:  # a new file or a deleted one: nothing to compare
        return [[("replace", 0, len(old), 0, len(new))]]
    return _Grouped(opcodes(old, new, work, most_equal=_MOST_EQUAL)).get_grouped_opcodes(context)


def opcodes(
    old: Sequence[str], new: Sequence[str], work: DiffWork, *, most_equal: int | None = None
) -> Iterator[Opcode]:
    """What is equal and what differs. The items at both ends that are equal cost no work.

    `most_equal`: an item that occurs more often begins no match; None for no such limit.
    """
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    a, b = len(old) - tail, len(new) - tail
    if head:
        yield "equal", 0, head, 0, head
    for tag, a_from, a_to, b_from, b_to in _Matcher(old[head:a], new[head:b], work, most_equal).get_opcodes():
        yield tag, a_from + head, a_to + head, b_from + head, b_to + head
    if tail:
        yield "equal", a, len(old), b, len(new)


def _common(lines: Sequence[str], other: Sequence[str]) -> int:
    """The length of the common beginning."""
    pairs = zip(lines, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(lines), len(other)))


def _range(start: int, stop: int) -> str:
    """A range of lines in the notation of unified diffs."""
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"
