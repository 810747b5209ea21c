"""Bar charts of the benchmarks: a screen reader can read their values, and nothing in them is markup."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from benchmarks.plots import Bar, bars

ROWS = (
    Bar(name="ours", value=2.0, low=1.5, high=4.0, text="2 ms", ours=True),
    Bar(name="<script>", value=1.0, low=1.0, high=1.0, text="1 ms"),
)


def test_a_bar_chart_is_a_file_with_every_value_for_light_and_dark_pages() -> None:
    """Bars are in proportion to their values, and names are escaped."""
    text = bars(ROWS, "CPU time")
    root = ET.fromstring(text)  # noqa: S314 - made above
    widths = {bar.get("class"): float(bar.get("width", "")) for bar in root.iter("{http://www.w3.org/2000/svg}rect")}
    assert widths["dot"] == 2 * widths["rest"]
    assert root.get("aria-label") == "CPU time: ours 2 ms, <script> 1 ms"
    assert "<script>" not in text
    assert "prefers-color-scheme: dark" in text


def test_a_chart_without_rows_is_empty() -> None:
    """Nothing was measured."""
    assert ET.fromstring(bars((), "none")).get("aria-label") == "none: "  # noqa: S314 - made above
