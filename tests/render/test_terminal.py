from __future__ import annotations

import io

import pytest

from demeanor.render.terminal import Screen, fitted, screen_of


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(encoding: str = "utf-8") -> Terminal:
    return Terminal(io.BytesIO(), encoding=encoding)


def test_a_terminal_has_colours_and_is_live() -> None:
    """With the width that it says it has."""
    assert screen_of(terminal(), {"COLUMNS": "120"}) == Screen(width=120, color=True, live=True)


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_colours_can_be_refused(environ: dict[str, str]) -> None:
    """NO_COLOR wins over everything."""
    assert not screen_of(terminal(), environ).color


def test_a_file_gets_plain_text_unless_colours_are_forced() -> None:
    """As in a CI log."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert screen_of(stream, {}) == Screen(width=100)
    assert screen_of(stream, {"FORCE_COLOR": "1"}).color


def test_a_terminal_that_is_not_utf_8_gets_ascii() -> None:
    """Signs are spelled out, the rest becomes a question mark."""
    screen = screen_of(terminal("latin-1"), {})
    assert screen.ascii
    assert screen.safe("67 % [21–94] … «é» 漢") == '67 % [21-94] ... "?" ?'


@pytest.mark.parametrize("columns", ["0", "wide", "-3", "7"])
def test_a_width_that_makes_no_sense_is_not_believed(columns: str) -> None:
    """There are always a few columns to write in."""
    assert screen_of(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), {"COLUMNS": columns}).width >= 40


def test_long_lines_are_wrapped_at_their_indentation() -> None:
    """Short ones stay as they are, blanks included; a word that is too long is broken."""
    text = "a  b\n\n    " + "word " * 6 + "x" * 30
    assert fitted(text, 20).splitlines() == [
        "a  b", "", "    word word word", "    word word word x", "    " + "x" * 16, "    " + "x" * 13,
    ]  # fmt: skip
