"""What a terminal can show."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from demeanor.core.text import ascii_only, printable

_NARROWEST = 40
_NOT_A_TERMINAL = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """How wide a terminal is, whether it knows colours, and whether it knows more than ASCII."""

    width: int = 80
    """Columns."""

    color: bool = False
    """Whether colours are wanted."""

    ascii: bool = False
    """True where anything but ASCII would come out as rubbish."""

    live: bool = False
    """Whether lines can be drawn over again: a terminal with a person in front of it."""

    def safe(self, text: str) -> str:
        """`text` as this screen can show it, whoever wrote it."""
        shown = printable(text)
        return ascii_only(shown) if self.ascii else shown


def screen_of(stream: TextIO, environ: Mapping[str, str] | None = None) -> Screen:
    """What `stream` can show. NO_COLOR, FORCE_COLOR, COLUMNS and TERM=dumb are respected."""
    environ = os.environ if environ is None else environ
    terminal = stream.isatty()
    dumb = environ.get("TERM") == "dumb"
    columns = environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else 0
    if not width:
        width = shutil.get_terminal_size((80, 24)).columns if terminal else _NOT_A_TERMINAL
    wanted = (terminal and not dumb) or bool(environ.get("FORCE_COLOR"))
    return Screen(
        width=max(_NARROWEST, width),
        color=wanted and not environ.get("NO_COLOR"),
        ascii="utf" not in (stream.encoding or "").lower(),
        live=terminal and not dumb,
    )
