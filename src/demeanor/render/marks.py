"""Trials as a row of signs, and the colours that all screens share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from rich.text import Text

from demeanor.render.terminal import Screen

STYLES: Mapping[str, str] = {
    "pass": "green",
    "fail": "red",
    "void": "yellow",
    "running": "cyan",
    "missing": "dim",
    "accept": "green",
    "reject": "bold red",
    "undecided": "bold yellow",
    "skipped": "dim",
    "news": "bold cyan",
}
"""The colour of each outcome and answer."""

_SIGNS: Mapping[str, tuple[str, str]] = {
    "pass": ("✓", "P"),
    "fail": ("✗", "F"),
    "void": ("○", "V"),
    "running": ("◐", "~"),
    "missing": ("·", "."),
    "accept": (" ", " "),
    "reject": ("✗", "x"),
    "undecided": ("?", "?"),
    "skipped": (" ", " "),
    "news": ("★", "*"),
}
_MOST = 12


def sign(what: str, screen: Screen) -> Text:
    """One sign for one outcome or answer, in its colour."""
    fancy, plain = _SIGNS[what]
    return Text(plain if screen.ascii else fancy, STYLES[what])


def dots(outcomes: Iterable[str], screen: Screen) -> Text:
    """`✓✓✗`: one sign per trial; more than a dozen are counted, as in `18✓ 2✗`."""
    found = list(outcomes)
    if len(found) <= _MOST:
        return Text.assemble(*(sign(outcome, screen) for outcome in found))
    parts = []
    for outcome, number in sorted(Counter(found).items(), key=lambda item: list(_SIGNS).index(item[0])):
        parts.append(Text.assemble(str(number), sign(outcome, screen)))
    return Text(" ").join(parts)
