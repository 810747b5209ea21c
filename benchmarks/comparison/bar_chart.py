"""Bar charts as SVG files, for docs/scale.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, kw_only=True, slots=True)
class BarRow:
    """One bar of a bar chart."""

    label: str
    """What it is."""

    value: float
    """Its length."""

    low: float
    """The smallest value that was measured."""

    high: float
    """The largest value that was measured."""

    text: str
    """The value as it is shown."""

    own: bool = False
    """Whether it is highlighted."""


def bar_chart(rows: Sequence[BarRow], *, label: str) -> Markup:
    """Horizontal bars with their values, each with a line from the smallest to the largest value that was measured."""
    left, width, height = 210.0, 380.0, 24
    scale = width / max((row.high for row in rows), default=1.0)
    parts = []
    for index, row in enumerate(rows):
        y = index * height
        parts.append(
            Markup(
                '<text x="{:g}" y="{}" text-anchor="end">{}</text>'
                '<rect class="{}" x="{:g}" y="{}" width="{:.1f}" height="14"/>'
                '<path class="spread" d="M{:.1f} {}h{:.1f}"/><text class="value" x="{:.1f}" y="{}">{}</text>'
            ).format(
                *(left - 8, y + 16, row.label),
                *("own" if row.own else "other", left, y + 5, row.value * scale),
                *(left + row.low * scale, y + 12, (row.high - row.low) * scale),
                *(left + row.high * scale + 6, y + 16, row.text),
            )
        )
    spoken = f"{label}: " + ", ".join(f"{row.label} {row.text}" for row in rows)
    return Markup('<svg class="bars" viewBox="0 0 700 {}" role="img" aria-label="{}">{}</svg>').format(
        len(rows) * height + 4, spoken, Markup().join(parts)
    )


_FILE_STYLE = Markup(
    "<style>text{font:12px system-ui,sans-serif;fill:#24292f}.value{fill:#57606a}.other{fill:#b6bec9}.own{fill:#4051b5}"
    ".spread{stroke:#24292f;stroke-width:1.5}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.value{fill:#9aa4af}.other{fill:#545d68}.own{fill:#8c9eff}"
    ".spread{stroke:#e6edf3}}</style>"
)


def as_file(chart: Markup) -> str:
    """A bar chart as a file of its own, with colours for light and dark pages."""
    head, _, rest = chart.partition(">")
    return f'{head} xmlns="http://www.w3.org/2000/svg">{_FILE_STYLE}{rest}\n'
