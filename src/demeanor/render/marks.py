"""Signs and colours for outcomes and answers, the same in every terminal report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from rich.text import Text

from demeanor.render.terminal import Screen

SUBJECT_MARK, EVAL_MARK = "◆", "◇"
"""The signs of a changed subject and of an edited eval."""

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
_MAX_SIGNS = 12


def sign(name: str, screen: Screen) -> Text:
    """The sign of an outcome or answer, in its colour."""
    fancy, plain = _SIGNS[name]
    return Text(plain if screen.ascii else fancy, STYLES[name])


def dots(outcomes: Iterable[str], screen: Screen) -> Text:
    """`✓✓✗`: one sign per trial; more than twelve are counted, as in `18✓ 2✗`."""
    marks = list(outcomes)
    if len(marks) <= _MAX_SIGNS:
        return Text.assemble(*(sign(outcome, screen) for outcome in marks))
    parts = []
    for outcome, number in sorted(Counter(marks).items(), key=lambda item: list(_SIGNS).index(item[0])):
        parts.append(Text.assemble(str(number), sign(outcome, screen)))
    return Text(" ").join(parts)
