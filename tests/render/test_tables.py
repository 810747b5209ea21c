"""Tables and paragraphs of a given width."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rich.text import Text

from demeanor.render.tables import wrapped


def plain(text: str, width: int, indent: int = 0) -> list[str]:
    """The lines of a wrapped text."""
    return [line.plain for line in wrapped(Text(text), width, indent=indent)]


def test_only_lines_that_are_too_long_are_wrapped() -> None:
    """Lines keep their order, blank lines stay, and wide characters count twice."""
    assert plain("one two three four five six\n\nseven", 20, indent=0) == [
        "one two three four ",
        "five six",
        "",
        "seven",
    ]
    assert plain("short", 80, indent=2) == ["  short"]
    assert plain("", 80) == [""]
    assert plain("字" * 10, 20) == ["字" * 10]
    assert plain("字" * 11, 20) == ["字" * 10, "字"]
    assert plain("a\tb", 20) == ["a       b"]


def test_lines_that_fit_do_not_load_the_console_of_rich() -> None:
    """It takes as long as the rest of a short report."""
    program = """
import sys
from rich.text import Text
from demeanor.render.tables import wrapped
wrapped(Text("short"), 80)
print("rich.console" in sys.modules)
wrapped(Text("word " * 20), 40)
print("rich.console" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("width", range(20, 60))
def test_a_number_and_its_percent_sign_stay_on_one_line(width: int) -> None:
    """At every width; nothing else about the text changes, and styles stay where they are."""
    text = Text("2 of 15 instructions held: 13 % (95 % interval 7 % to 20 %); required: 50 %", "bold")
    text.stylize("red", 27, 31)
    lines = wrapped(text, width)
    assert " ".join(line.plain.strip() for line in lines) == text.plain
    assert not [line.plain for line in lines if line.plain.lstrip().startswith("%")]
    (red,) = {line.plain[span.start : span.end] for line in lines for span in line.spans if span.style == "red"}
    assert red == "13 %"
