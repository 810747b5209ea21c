"""A report as a value that knows no format: blocks, which a terminal and markdown show in their own ways.

A `str` may have been written by an agent, a provider or an author: markdown shows it as code. `Words` are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from demeanor.core.exit_code import ExitCode

if TYPE_CHECKING:
    from rich.text import Text


class Words(str):
    """Words and figures of Demeanor. What is made of them, such as an f-string, is a `str` again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Span:
    """Text in a style of Rich's, which only a terminal shows."""

    text: str
    style: str = ""
    narrow: str = ""
    """What a terminal of less than 100 columns shows instead."""


Inline: TypeAlias = str | Span | tuple[str | Span, ...]


@dataclass(frozen=True, slots=True)
class Title:
    text: str
    exit_code: ExitCode


@dataclass(frozen=True, slots=True)
class Heading:
    text: Inline
    style: str = "bold"


@dataclass(frozen=True, slots=True)
class Sentence:
    text: Inline
    style: str = ""
    about: str = ""
    """The column that it explains: a terminal that dropped the column leaves the sentence out."""


GAP = Sentence("")
"""An empty line of a terminal."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Facts by name; `width` is that of the names in a terminal."""

    rows: Sequence[tuple[str, Inline]]
    width: int = 10


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table; each cell is shown on one line."""

    title: str
    cells: Sequence[Inline | Text]
    style: str = ""
    align: Literal["left", "right"] = "left"
    rank: int = 0
    """If a table is too wide for a terminal, the column with the highest rank is dropped first; with rank 0, never."""
    comfort: int | None = None
    """The width that it keeps while other columns are dropped; None means its full width."""
    least: int | None = None
    """The width that it may be cut to if dropping columns is not enough; None means that it is never cut."""
    unnamed: bool = False
    """Whether a terminal shows no title."""
    varied: bool = False
    """Whether a terminal shows it only if its cells differ."""


@dataclass(frozen=True, slots=True)
class Table:
    columns: Sequence[Column]


@dataclass(frozen=True, slots=True)
class Item:
    """A point of a list, with what belongs to it; in a terminal, that is indented by `inner` blanks."""

    text: Inline
    lead: str = ""
    under: Sequence[Block] = ()
    inner: int = 2


@dataclass(frozen=True, slots=True)
class Listing:
    items: Sequence[Item]


@dataclass(frozen=True, slots=True)
class Commands:
    """Command lines that can be copied."""

    lines: Sequence[str]


Block: TypeAlias = Title | Heading | Sentence | Fields | Table | Item | Listing | Commands


def figures(title: str, cells: Iterable[str], *, rank: int = 0) -> Column:
    """A column of our figures."""
    return Column(title, [Words(cell) for cell in cells], align="right", rank=rank)
