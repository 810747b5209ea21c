"""A rule's error rates as text: printed with every rule."""

from __future__ import annotations

from rich.text import Text

from demeanor.core.error_rates import ErrorRates
from demeanor.core.percent import rate, share
from demeanor.render.table import Column, table, wrapped


def trials(value: float) -> str:
    """`4.1`, `62`: a mean number of trials."""
    return f"{value:.1f}" if value < 20 else f"{value:.0f}"


def characteristics_lines(found: ErrorRates, width: int) -> list[Text]:
    """The rule in a sentence, its error rates as a table, and what else to know."""
    columns = [
        Column(title="true pass rate", cells=[Text(rate(row.rate)) for row in found.rows], align="right"),
        Column(title=f"{found.action}s", cells=[Text(share(row.chance)) for row in found.rows], align="right"),
    ]
    if any(row.trials is not None for row in found.rows):
        means = [Text("n/a" if row.trials is None else trials(row.trials)) for row in found.rows]
        columns.append(Column(title="mean trials", cells=means, align="right"))
    lines = wrapped(Text.assemble((found.rule, "bold"), f": {found.about}"), width)
    lines += wrapped(Text(f"for {found.setting}:", "dim"), width, indent=2)
    lines += [Text.assemble("  ", line) for line in table(columns, width - 2)]
    for note in found.notes:
        lines += wrapped(Text(note, "dim"), width, indent=2)
    return lines
