"""Tables and paragraphs of a given width. A table that is too wide drops columns instead of wrapping them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

from demeanor.core.text.wording import without_secrets
from demeanor.render.terminal import Screen

_GAP = 2

_GLUE = "\ue000"
"""Stands for a blank that must not end a line: Rich also breaks at no-break spaces."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    """Its heading."""

    cells: Sequence[Text]
    """One per row."""

    align: Literal["left", "right"] = "left"
    """How its cells are aligned."""

    rank: int = 0
    """If the table is too wide, the column with the highest rank is dropped first. Rank 0 is never dropped."""

    comfort: int | None = None
    """The width that it keeps while other columns are dropped; None means its full width."""

    least: int | None = None
    """The width that it may be cut to if dropping columns is not enough; None means that it is never cut."""

    @property
    def width(self) -> int:
        """Its full width."""
        return max([len(self.title), *(cell.cell_len for cell in self.cells)])


def text_column(
    title: str,
    cells: Iterable[str],
    screen: Screen,
    style: str = "",
    *,
    align: Literal["left", "right"] = "left",
    rank: int = 0,
    comfort: int | None = None,
    least: int | None = None,
) -> Column:
    """A column of texts in one style, in the characters that the screen can show."""
    shown = [Text(screen.safe(cell), style) for cell in cells]
    return Column(title=title, cells=shown, align=align, rank=rank, comfort=comfort, least=least)


def table(columns: Iterable[Column], screen: Screen) -> list[Text]:
    """The lines of the table, heading first. They are wider than the screen only if the rank-0 columns need more."""
    kept = _fitting_columns(columns, screen.width)
    over = max(0, _total_width([column.width for column in kept]) - screen.width)
    widths = []
    for column in kept:
        less = 0 if column.least is None else min(over, max(0, column.width - column.least))
        over -= less
        widths.append(column.width - less)
    heading = [Text(column.title, "dim") for column in kept]
    rows = zip(*(column.cells for column in kept), strict=True)
    return [_line(row, kept, widths, screen) for row in [heading, *rows]]


def cut(text: Text, width: int, screen: Screen) -> Text:
    """`text` in at most `width` columns."""
    if text.cell_len <= width:
        return text
    ellipsis = screen.safe("…")
    clean = without_secrets(text.plain)
    short = text.copy() if clean == text.plain else Text(clean, text.style)
    short.truncate(max(0, width - len(ellipsis)))
    return short.append(ellipsis)


def wrapped(text: Text, width: int, *, indent: int = 0) -> list[Text]:
    """`text` in lines of at most `width` columns, indented by `indent` blanks; breaks between words if possible, and
    never between a number and its `%`."""
    available = max(20, width - indent)
    parts = [part for line in text.split("\n", allow_blank=True) for part in _wrapped_line(line, available)]
    return [Text.assemble(" " * indent, part) for part in parts]


def _wrapped_line(line: Text, width: int) -> Iterable[Text]:
    if line.cell_len <= width and "\t" not in line.plain:
        return [line]
    from rich.console import Console  # takes as long as the rest of a short report, and few lines are too long

    whole = line.copy()
    whole.plain = line.plain.replace(" %", f"{_GLUE}%")
    parts = whole.wrap(Console(width=width, _environ={}), width) or [Text()]
    for part in parts:
        part.plain = part.plain.replace(_GLUE, " ")
    return parts


def paragraph(text: str, screen: Screen, style: str = "", *, indent: int = 0) -> list[Text]:
    """`text` in lines that fit the screen, in the characters that it can show."""
    return wrapped(Text(screen.safe(text), style), screen.width, indent=indent)


def hanging(text: str, screen: Screen, style: str = "", *, indent: int = 0) -> list[Text]:
    """A paragraph whose further lines are indented by two more."""
    first, *more = wrapped(Text(screen.safe(text), style), screen.width - 2, indent=indent)
    return [first, *(Text.assemble("  ", line) for line in more)]


def labelled(lead: str, text: str, screen: Screen, style: str = "") -> list[Text]:
    """`text` after `lead`, with the further lines aligned to the first."""
    first, *more = paragraph(text, screen, style, indent=len(lead))
    return [Text.assemble((lead, "dim"), first[len(lead) :]), *more]


def command_lines(command: str, screen: Screen, *, indent: int) -> Iterator[Text]:
    """A command on one line, or on several lines that can be copied together."""
    options: list[str] = []
    for word in map(shlex.quote, shlex.split(command)):
        if options and not word.startswith("--"):
            options[-1] += f" {word}"
        else:
            options.append(word)
    lines: list[str] = []
    for option in options:
        if lines and len(lines[-1]) + len(option) < screen.width - indent - 6:
            lines[-1] += f" {option}"
        else:
            lines.append(option)
    for index, line in enumerate(lines):
        lead = "$ " if index == 0 else "    "
        end = " \\" if index + 1 < len(lines) else ""
        yield Text(f"{' ' * indent}{lead}{screen.safe(line)}{end}", "cyan")


def _fitting_columns(columns: Iterable[Column], width: int) -> list[Column]:
    """The columns that fit."""
    kept = list(columns)
    while _total_width([_preferred_width(column) for column in kept]) > width:
        first = max(kept, key=lambda column: column.rank)
        if first.rank == 0:
            break
        kept.remove(first)
    return kept


def _preferred_width(column: Column) -> int:
    return column.width if column.comfort is None else min(column.comfort, column.width)


def _total_width(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _line(cells: Sequence[Text], columns: Sequence[Column], widths: Sequence[int], screen: Screen) -> Text:
    shown = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        text = cut(cell, width, screen)
        padding = " " * (width - text.cell_len)
        shown.append(Text.assemble(padding, text) if column.align == "right" else Text.assemble(text, padding))
    return Text(" " * _GAP).join(shown)
