"""Diffs show the words that differ, however long their lines are."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.judge.snapshot import changed_words, unified_diff

NAMES = ("snapshot", "sent now")
LONG = " ".join(f"word{number}" for number in range(5000))


def test_short_lines_are_shown_whole() -> None:
    """As in any unified diff."""
    shown = unified_diff("Be careful.\nAnd brief.", "Be quick.\nAnd brief.", NAMES)
    assert shown.splitlines()[-3:] == ["-Be careful.", "+Be quick.", " And brief."]


@pytest.mark.parametrize("at", [0, 1, 2500, 4998, 4999])
def test_one_word_of_a_long_line(at: int) -> None:
    """The word that differs is shown with its neighbours, wherever it is."""
    changed = LONG.replace(f"word{at}", "CHANGED", 1) if at else "CHANGED" + LONG[5:]
    lines = unified_diff(LONG, changed, NAMES).splitlines()
    removed, added = (next(line for line in lines[2:] if line.startswith(sign)) for sign in "-+")
    assert f"word{at}" in removed
    assert "CHANGED" in added
    assert len(removed) < 200 > len(added)


def test_everything_that_is_left_out_is_marked() -> None:
    """Also parts of the neighbouring words, if these are long."""
    line = f"start {'b' * 500} one {'c' * 500} end"
    old, new = changed_words(line, line.replace(" one ", " two "))
    assert old == f"…{'b' * 39} one {'c' * 40}…"
    assert new == old.replace("one", "two")


def test_line_ends_alone_are_named() -> None:
    """An editor that ends a file with a newline leaves no line that differs."""
    assert unified_diff("a", "a\n", NAMES) == "only line ends differ: snapshot ends with 'a', sent now with '\\n'"


def test_several_places_of_a_long_line() -> None:
    """The first places are shown, and the number of the others."""
    changed = LONG
    for number in (10, 1000, 2000, 3000, 4000):
        changed = changed.replace(f"word{number} ", f"other{number} ", 1)
    old, new = changed_words(LONG, changed)
    assert [number in new for number in ("other10", "other1000", "other2000", "other3000")] == [True, True, True, False]
    assert "word1000 " in old
    assert new.endswith("(and 2 more differences)")


def test_a_long_line_without_spaces() -> None:
    """The characters that differ are shown, with some before them."""
    old, new = changed_words("x" * 9000 + "a" + "y" * 9000, "x" * 9000 + "b" + "y" * 9000)
    assert old.startswith("…xxxxay")
    assert new.startswith("…xxxxby")


def test_a_word_that_was_added_to_a_long_line() -> None:
    """Only one side has it."""
    old, new = changed_words(LONG, LONG.replace("word700 ", "word700 really ", 1))
    assert "really" in new
    assert "really" not in old
    assert "word700" in old


@given(st.text(alphabet="ab ", max_size=600), st.text(alphabet="ab ", max_size=600))
def test_lines_that_differ_never_look_the_same(old: str, new: str) -> None:
    """Whatever is left out is equal, or is said to be left out."""
    shown = changed_words(old, new)
    assert (shown[0] == shown[1]) <= (old == new or "…" in shown[0])


def test_the_work_is_bounded_however_many_words_differ() -> None:
    """A word was added after each word, in each of many lines."""
    old = " ".join(f"word{number}" for number in range(30_000))
    new = " ".join(f"word{number} more{number}" for number in range(30_000))
    shown = changed_words(old, new)
    assert "more0" in shown[1]
    assert "more0" not in shown[0]


def test_the_work_is_bounded_however_many_lines_differ() -> None:
    """A line was added after each line."""
    old = [f"line {number}" for number in range(20_000)]
    new = [line for number, one in enumerate(old) for line in (one, f"more {number}")]
    shown = unified_diff("\n".join(old), "\n".join(new), NAMES).splitlines()
    assert shown[:4] == ["--- snapshot", "+++ sent now", "@@ -1,20000 +1,40000 @@", " line 0"]
