"""Text for a terminal: what the terminal can show, and styled lines as it shows them."""

from __future__ import annotations

import io
import os
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from demeanor.core.text.wording import ascii_only, printable
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from rich.text import Text

_MIN_WIDTH = 40
_WIDTH_WITHOUT_TERMINAL = 100
_EXIT_STYLES = {ExitCode.ACCEPTED: "bold green", ExitCode.REJECTED: "bold red"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """What a terminal can show: its width, and whether it supports colours and Unicode."""

    width: int = 80
    """Columns."""

    color: bool = False
    """Whether to use colours."""

    ascii: bool = False
    """Whether it can show ASCII only."""

    live: bool = False
    """Whether lines can be overwritten: an interactive terminal."""

    def safe(self, text: str) -> str:
        """`text` without terminal escapes, in the characters that this screen can show."""
        shown = printable(text)
        return ascii_only(shown) if self.ascii else shown


def fitted(text: str, width: int) -> str:
    """`text` with lines of at most `width` characters; what continues a line is indented like the line."""
    return "\n".join(part for line in text.splitlines() for part in _parts(line, width))


def _parts(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    lead = " " * min(len(line) - len(line.lstrip()), width // 2)
    return textwrap.wrap(
        line.lstrip(),
        width,
        initial_indent=lead,
        subsequent_indent=lead,
        break_on_hyphens=False,
        replace_whitespace=False,
    )


def screen_of(stream: TextIO, environ: Mapping[str, str] | None = None) -> Screen:
    """What `stream` can show. Respects NO_COLOR, FORCE_COLOR, COLUMNS and TERM=dumb."""
    environ = os.environ if environ is None else environ
    terminal = stream.isatty()
    dumb = environ.get("TERM") == "dumb"
    columns = environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else 0
    if not width:
        width = shutil.get_terminal_size((80, 24)).columns if terminal else _WIDTH_WITHOUT_TERMINAL
    color = (terminal and not dumb) or bool(environ.get("FORCE_COLOR"))
    return Screen(
        width=max(_MIN_WIDTH, width),
        color=color and not environ.get("NO_COLOR"),
        ascii="utf" not in (stream.encoding or "").lower(),
        live=terminal and not dumb,
    )


def paint(lines: Iterable[Text], screen: Screen) -> str:
    """The lines as text, with colours if the screen has them. Lines are not wrapped; trailing blanks are removed."""
    if not screen.color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        width=screen.width,
        color_system="standard",
        force_terminal=True,
        _environ={},
    )
    for line in lines:
        line.rstrip()
        console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)
    return out.getvalue()


def next_steps(steps: Sequence[tuple[str, str]]) -> str:
    """Commands to paste, below a heading, with a few words about each in one column."""
    width = max(len(command) for command, _ in steps)
    return "\n".join(["next:", *(f"  {command:<{width}}   {words}".rstrip() for command, words in steps)])


def exit_style(code: ExitCode) -> str:
    """The style of a headline, by what the exit code says."""
    return _EXIT_STYLES.get(code, "bold yellow")
