"""Lines of styled text as they are written to a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.text import Text

from demeanor.render.terminal import Screen


def paint(lines: Iterable[Text], screen: Screen) -> str:
    """The lines with colours where they are wanted; none ends in a blank, and none is broken."""
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
