"""Text in a given width: a table that leaves out columns rather than wrap them, and paragraphs with an indent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

_GAP = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    """Its heading."""

    cells: Sequence[Text]
    """One per row."""

    align: Literal["left", "right"] = "left"
    """Where its cells stand."""

    rank: int = 0
    """How dispensable it is: where the width does not suffice, the highest rank goes first; 0 always stays."""

    comfort: int | None = None
    """How wide it stays at the cost of dispensable columns; None means as wide as it is."""

    least: int | None = None
    """How narrow it may be cut when nothing else helps; None means not at all."""

    @property
    def width(self) -> int:
        """Cells across, uncut."""
        return max([len(self.title), *(cell.cell_len for cell in self.cells)])


def table(columns: Sequence[Column], width: int, *, ellipsis: str = "…") -> list[Text]:
    """The table's lines, heading first, none longer than `width` unless even its last columns need more."""
    kept = _fitting(columns, width)
    over = max(0, _across([column.width for column in kept]) - width)
    widths = []
    for column in kept:
        less = 0 if column.least is None else min(over, max(0, column.width - column.least))
        over -= less
        widths.append(column.width - less)
    heading = [Text(column.title, "dim") for column in kept]
    rows = zip(*(column.cells for column in kept), strict=True)
    return [_line(row, kept, widths, ellipsis) for row in [heading, *rows]]


def cut(text: Text, width: int, *, ellipsis: str = "…") -> Text:
    """`text` in at most `width` cells."""
    if text.cell_len <= width:
        return text
    short = text.copy()
    short.truncate(max(0, width - len(ellipsis)))
    return short.append(ellipsis)


def wrapped(text: Text, width: int, *, indent: int = 0) -> list[Text]:
    """`text` in lines of at most `width` cells, each after `indent` blanks; words are kept whole where possible."""
    from rich.console import Console

    room = max(20, width - indent)
    ruler = Console(width=room, _environ={})
    parts = [part for line in text.split("\n", allow_blank=True) for part in line.wrap(ruler, room) or [Text()]]
    return [Text.assemble(" " * indent, part) for part in parts]


def labelled(lead: str, text: Text, width: int) -> list[Text]:
    """`text` after `lead`, its further lines below its first."""
    first, *more = wrapped(text, width, indent=len(lead))
    return [Text.assemble((lead, "dim"), first[len(lead) :]), *more]


def _fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that there is room for."""
    kept = list(columns)
    while _across([_wanted(column) for column in kept]) > width:
        most_dispensable = max(kept, key=lambda column: column.rank)
        if most_dispensable.rank == 0:
            break
        kept.remove(most_dispensable)
    return kept


def _wanted(column: Column) -> int:
    return column.width if column.comfort is None else min(column.comfort, column.width)


def _across(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _line(cells: Sequence[Text], columns: Sequence[Column], widths: Sequence[int], ellipsis: str) -> Text:
    shown = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        text = cut(cell, width, ellipsis=ellipsis)
        room = " " * (width - text.cell_len)
        shown.append(Text.assemble(room, text) if column.align == "right" else Text.assemble(text, room))
    return Text(" " * _GAP).join(shown)
