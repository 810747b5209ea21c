from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from demeanor.render.terminal import Screen
from demeanor.reports.night.report import FailingCell, FailureMode
from demeanor.reports.night.terminal import night_terminal
from tests.helpers.night_reports import SUBJECT, a_week, nights, report_of
from tests.helpers.run_reports import HOSTILE

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_nights_look_as_agreed(golden: Callable[[Path, str], None], width: int) -> None:
    """At a narrow, a usual and a wide terminal."""
    golden(GOLDEN / f"nights-{width}.txt", night_terminal(a_week(), Screen(width=width)))


def test_the_nights_look_as_agreed_in_ascii(golden: Callable[[Path, str], None]) -> None:
    """For a terminal without Unicode."""
    text = night_terminal(a_week(), Screen(width=80, ascii=True))
    assert text.isascii()
    golden(GOLDEN / "nights-ascii.txt", text)


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_no_line_is_too_long(width: int) -> None:
    """Except commands, which you can copy; rate, change and history are always shown."""
    lines = night_terminal(a_week(), Screen(width=width)).splitlines()
    assert max(cell_len(line) for line in lines if not line.startswith("  $ ")) <= width
    heads = [line for line in lines if line.split()[:1] == ["eval"]]
    assert heads
    assert all({"tonight", "change", "history"} <= set(head.split()) for head in heads)


def test_missing_is_never_zero() -> None:
    """A dash, a hollow dot or a word."""
    text = night_terminal(report_of(nights({"a": "ppp vvv - s", "b": "ppp ppp ppp vvv"})))
    assert "0 %" not in text.replace("100 %", "")
    assert "█○–·" in text
    assert "no data" in text


def test_the_first_night_has_no_history() -> None:
    """The report says so."""
    text = night_terminal(report_of(nights({"a": "ppp"})))
    assert "there are no nights before this run" in text
    assert "change" not in text


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_hostile_text_does_no_harm(kind: str) -> None:
    """No escape sequence reaches the terminal, and lines are cut."""
    bad = HOSTILE[kind]
    report = report_of(nights({bad[:300]: "ppp fff"}, subject=bad[:200]))
    trouble = FailingCell(eval=bad[:300], subject=bad[:200], ways=(FailureMode(reason=bad, trials=(1,), chain=bad),))
    text = night_terminal(replace(report, failures=(trouble,), voids=(trouble,), notes=(bad,)))
    assert not {sign for sign in text if not sign.isprintable()} - {"\n"}
    assert len(text) < 30_000


def test_no_information_is_shown_by_colour_alone() -> None:
    """A significant drop has its own sign."""
    report = report_of(nights({"a": "pppppp ffffff"}))
    assert "▼ −100" in night_terminal(report)
    assert "\x1b[1;31m" in night_terminal(report, Screen(color=True))
    assert SUBJECT in night_terminal(report)
