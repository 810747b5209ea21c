from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, strategies as st

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.text.wording import (
    all_of,
    ascii_only,
    count,
    excerpt,
    one_line,
    opening,
    printable,
    redact_before_shortening,
    shortened,
    shortened_to_end,
    slug,
)
from demeanor.judge.snapshot import changed_words

ANY = st.text(st.characters(exclude_categories=()))
NASTY = st.text(alphabet="`|\\<>&[]()!*_~@#:/.wh$\"' \n\ta1\x1b\u202e")


@given(text=ANY)
def test_printable_text_has_no_control_direction_or_invisible_character(text: str) -> None:
    """Only line ends and tabs are left of them."""
    left = {sign for sign in printable(text) if unicodedata.category(sign) in {"Cc", "Cs"}}
    assert left <= {"\n", "\t"}
    assert not {sign for sign in printable(text) if unicodedata.bidirectional(sign) in {"RLO", "LRO", "RLE", "LRE"}}


@given(text=ANY)
def test_printable_text_stays_as_it_is(text: str) -> None:
    """Once is enough."""
    assert printable(printable(text)) == printable(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x1b]0;never closed\nnext line", "\nnext line"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\u202egnp", "\\u202egnp"),
        ("\U000e0041", "\\U000e0041"),
        ("zürich 漢字 🙂 �", "zürich 漢字 🙂 �"),
    ],
)
def test_escapes_vanish_and_tricks_become_visible(text: str, shown: str) -> None:
    """What people write in any language stays."""
    assert printable(text) == shown


@given(text=ANY)
def test_ascii_only_is_ascii(text: str) -> None:
    """And ASCII stays as it is."""
    assert ascii_only(text).isascii()
    assert ascii_only(ascii_only(text)) == ascii_only(text)


@given(text=ANY, width=st.integers(1, 50))
def test_one_line_is_one_line_of_at_most_its_width(text: str, width: int) -> None:
    """Whatever it was made of."""
    assert len(one_line(text, width=width)) <= width
    assert len(one_line(text, width=width).splitlines()) <= 1


def test_an_excerpt_is_the_end_and_an_opening_the_start() -> None:
    """Both say how much is left out."""
    text = "\n".join(map(str, range(10)))
    assert excerpt(text, lines=2) == "… 8 lines left out\n8\n9"
    assert opening(text, lines=2) == "0\n1\n… 8 lines left out"
    assert opening("a" * 20, width=5) == "aaaa…"


@given(name=ANY)
def test_a_slug_is_one_safe_path_component(name: str) -> None:
    """Never empty, never up, never hidden, never long."""
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}", slug(name))
    assert slug(name) not in {".", ".."}


@given(start=st.text("ab -.", max_size=90), ends=st.sets(st.text("äöü", min_size=1), max_size=5))
def test_names_that_differ_in_other_than_ascii_characters_have_different_slugs(start: str, ends: set[str]) -> None:
    """Also if they differ only after the characters that are kept."""
    assert len({slug(start + end) for end in ends}) == len(ends)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("writes[a b]", "writes-a-b"),
        ("prüft", "pr-ft-1f682bf0"),
        ("検査", "8e28a92e"),
        ("a" * 81, "a" * 71 + "-8c48280d"),
    ],
)
def test_only_slugs_that_lost_something_have_a_hash(name: str, expected: str) -> None:
    """Ordinary names stay readable."""
    assert slug(name) == expected


def test_one_is_singular() -> None:
    """And everything else is plural, zero too."""
    assert [count(number, "eval") for number in (0, 1, 2)] == ["0 evals", "1 eval", "2 evals"]
    assert [all_of(number, "cell") for number in (1, 2, 3)] == ["the only cell", "both cells", "all 3 cells"]


def test_what_was_left_out_is_counted() -> None:
    """Lines of a long text, at its start or at its end."""
    assert excerpt("a\nb\nc", lines=2) == "… 1 line left out\nb\nc"
    assert opening("a\nb\nc\nd", lines=2) == "a\nb\n… 2 lines left out"


KEY = "sk-live-0123456789-abcdefghij"


@pytest.fixture
def redacting() -> Iterator[None]:
    """Text is shortened as in a run that knows a key."""
    redact_before_shortening(Redactor({"KEY": KEY}, digits=False).text)
    yield
    redact_before_shortening(str)


@pytest.mark.parametrize("shorten", [one_line, excerpt, opening, shortened], ids=lambda shorten: shorten.__name__)
@pytest.mark.parametrize("at", range(1, len(KEY)))
@pytest.mark.usefixtures("redacting")
def test_not_even_one_character_of_a_key_is_left_where_text_is_cut(shorten: Callable[..., str], at: int) -> None:
    """The key is recognised before it is cut in two."""
    text = "." * (60 - at) + KEY + " and more" * 20
    shown = shorten(text, width=61)
    assert "‹" in shown
    assert "sk" not in shown
    assert len(shown) == 61


@pytest.mark.parametrize("at", range(1, len(KEY)))
@pytest.mark.usefixtures("redacting")
def test_nor_where_its_beginning_is_cut_off(at: int) -> None:
    """The end of a text is shown."""
    shown = shortened_to_end("more and " * 20 + KEY + "." * (60 - at), 61)
    assert (shown[0], len(shown)) == ("…", 61)
    assert "redacted:KEY›"[-at:] in shown
    assert KEY[-1] not in shown


def test_short_text_is_not_changed() -> None:
    """And long text has exactly the width that was asked for."""
    assert shortened("abc", 3) == shortened_to_end("abc", 3) == "abc"
    assert (shortened("abcd", 3), shortened_to_end("abcd", 3), shortened("abcd", 3, end="")) == ("ab…", "…cd", "abc")


@pytest.mark.usefixtures("redacting")
def test_the_words_of_a_diff_are_shortened_without_secrets() -> None:
    """A long word is cut in the middle, where it differs."""
    for shown in changed_words(f"{'x' * 190}{KEY}1{'y' * 100}", f"{'x' * 190}{KEY}2{'y' * 100}"):
        assert shown.startswith("…")
        assert KEY[-3:] not in shown


@pytest.mark.usefixtures("redacting")
def test_a_key_that_continues_on_a_line_that_is_left_out_is_removed() -> None:
    """Whichever end is shown."""
    text = "\n".join(["one", "two", f"three {KEY[:12]}", f"{KEY[12:]} four", "five", "six"])
    assert KEY[12:] not in excerpt(text, lines=3)
    assert KEY[:12] not in opening(text, lines=3)


@pytest.mark.usefixtures("redacting")
def test_much_white_space_does_not_hide_where_a_key_is_cut() -> None:
    """White space is collapsed before the text is cut."""
    assert "sk-l" not in one_line(" " * 10_000 + "x" * 90 + KEY, width=100)
