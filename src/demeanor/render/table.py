"""Blocks in a terminal of a given width. A table that is too wide drops columns instead of wrapping them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from demeanor.core.text import one_line, without_secrets
from demeanor.render import blocks as b
from demeanor.render.terminal import Screen, exit_style, paint

_GAP = 2
_NARROW = 100
_CELL = 300

_GLUE = "\ue000"
"""Stands for a blank that must not end a line: Rich also breaks at no-break spaces."""


def terminal(blocks: Iterable[b.Block], screen: Screen | None = None) -> str:
    """The blocks as text for `screen`."""
    screen = screen or Screen()
    return paint(lines_of(blocks, screen), screen)


def lines_of(blocks: Iterable[b.Block], screen: Screen, indent: int = 0) -> Iterator[Text]:
    """The blocks as lines that are indented by `indent` blanks."""
    titles = ""
    for block in blocks:
        match block:
            case b.Title(text, exit_code):
                yield from wrapped(shown(text, screen, exit_style(exit_code)), screen.width)
            case b.Heading(text, style):
                yield from (Text(), shown(text, screen, style))
            case b.Sentence(text, style, about):
                if about in titles:
                    yield from wrapped(shown(text, screen, style), screen.width, indent=indent)
            case b.Fields(rows, width):
                for label, value in rows:
                    yield from labelled(" " * indent + label.ljust(width), value, screen)
            case b.Table(columns):
                heading, *lines = table(columns, screen)
                titles = heading.plain
                yield from (heading, *lines)
            case b.Item():
                yield from _item(block, screen, indent)
            case b.Listing(items):
                yield from lines_of(items, screen, indent)
            case b.Commands(commands):
                for command in commands:
                    yield from _command(command, screen, " " * indent)


def _item(item: b.Item, screen: Screen, indent: int) -> Iterator[Text]:
    inner = indent + item.inner
    first, *more = wrapped(shown(item.text, screen), screen.width, indent=inner)
    yield Text.assemble(" " * indent, screen.safe(item.lead), first[inner:])
    yield from more
    yield from lines_of(item.under, screen, inner)


def _command(command: str, screen: Screen, indent: str) -> Iterator[Text]:
    """A command on one line, or on several lines that can be copied together."""
    options: list[str] = []
    for word in map(shlex.quote, shlex.split(command)):
        if options and not word.startswith("--"):
            options[-1] += f" {word}"
        else:
            options.append(word)
    lines: list[str] = []
    for option in options:
        if lines and len(lines[-1]) + len(option) < screen.width - len(indent) - 6:
            lines[-1] += f" {option}"
        else:
            lines.append(option)
    for index, line in enumerate(lines):
        lead = "$ " if index == 0 else "    "
        end = " \\" if index + 1 < len(lines) else ""
        yield Text(f"{indent}{lead}{screen.safe(line)}{end}", "cyan")


def shown(text: b.Inline | Text, screen: Screen, style: str = "") -> Text:
    """`text` in the characters that the screen can show; its parts without a style of their own get `style`."""
    match text:
        case Text():
            return text
        case str():
            return Text(screen.safe(text), style)
        case b.Span():
            narrow = text.narrow if screen.width < _NARROW else ""
            return Text(screen.safe(narrow or text.text), text.style or style)
        case _:
            return Text.assemble(*(shown(part, screen, style) for part in text))


def table(columns: Iterable[b.Column], screen: Screen) -> list[Text]:
    """The lines of the table, heading first. They are wider than the screen only if the rank-0 columns need more."""
    kept = [(column, _cells(column, screen)) for column in columns if not column.varied or len({*column.cells}) > 1]
    while sum(_preferred_width(*column) + _GAP for column in kept) - _GAP > screen.width:
        first = max(kept, key=lambda column: column[0].rank)
        if first[0].rank == 0:
            break
        kept.remove(first)
    over = sum(_width(cells) + _GAP for _, cells in kept) - _GAP - screen.width
    texts = []
    for column, cells in kept:
        width = _width(cells)
        less = 0 if column.least is None else min(max(0, over), max(0, width - column.least))
        over -= less
        texts.append([_aligned(cell, column.align, width - less, screen) for cell in cells])
    return [Text(" " * _GAP).join(row) for row in zip(*texts, strict=True)]


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


def labelled(lead: str, text: b.Inline, screen: Screen, style: str = "") -> list[Text]:
    """`text` after `lead`, with the further lines aligned to the first."""
    first, *more = wrapped(shown(text, screen, style), screen.width, indent=len(lead))
    return [Text.assemble((lead, "dim"), first[len(lead) :]), *more]


def _cells(column: b.Column, screen: Screen) -> list[Text]:
    """The title and the cells."""
    title = "" if column.unnamed else column.title
    flat = (one_line(cell, width=_CELL) if type(cell) is str else cell for cell in column.cells)
    return [Text(title, "dim"), *(shown(cell, screen, column.style) for cell in flat)]


def _width(cells: Sequence[Text]) -> int:
    return max(cell.cell_len for cell in cells)


def _preferred_width(column: b.Column, cells: Sequence[Text]) -> int:
    return min(_width(cells), _width(cells) if column.comfort is None else column.comfort)


def _aligned(cell: Text, align: str, width: int, screen: Screen) -> Text:
    text = cut(cell, width, screen)
    padding = " " * (width - text.cell_len)
    return Text.assemble(padding, text) if align == "right" else Text.assemble(text, padding)
