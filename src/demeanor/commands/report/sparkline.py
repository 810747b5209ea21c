"""Rates over time as a row of bars, for a terminal. What is missing is a sign of its own, never the lowest bar."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from demeanor.commands.report.phrases import EVAL_MARK, MISSING, SUBJECT_MARK
from demeanor.commands.report.report import NightCell
from demeanor.render.terminal import Screen

_BARS = "▁▂▃▄▅▆▇█"
_GAPS = {"no data": ("○", "o"), "skipped": ("·", "."), "absent": (MISSING, "-")}


def sparkline(cells: Iterable[NightCell], screen: Screen) -> Text:
    """`██◆▅▁–█`: a mark stands before the first night that differs. Without UTF-8, tenths as digits."""
    return Text.assemble(*(part for cell in cells for part in (_marks(cell, screen), bar(cell, screen))))


def bar(cell: NightCell, screen: Screen) -> Text:
    """One night."""
    if cell.rate is None:
        fancy, plain = _GAPS["absent" if cell.state == "no data" and not cell.voided else cell.state]
        return Text(plain if screen.ascii else fancy, "dim" if cell.state != "no data" else "yellow")
    rate = cell.rate.value
    style = "green" if rate == 1 else "red" if rate < 0.5 else "yellow"
    if screen.ascii:
        return Text(str(min(9, int(rate * 10))), style)
    return Text(_BARS[round(rate * (len(_BARS) - 1))], style)


def _marks(cell: NightCell, screen: Screen) -> Text:
    found = (SUBJECT_MARK if "subject" in cell.marks or cell.mixed else "") + (
        EVAL_MARK if "eval" in cell.marks else ""
    )
    return Text(screen.safe(found), "bold cyan")
