"""Words of a Dockerfile: quotes, escapes, variables."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.plugins.harbor.dockerfile.planner import expand, split

VALUES = {"who": "world", "empty": "", "path": "/a b"}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("plain", "plain"),
        ("$who-${who}x", "world-worldx"),
        ("${nobody}|$nobody|$", "||$"),
        ("'$who'", "$who"),
        ('"$who and $path"', "world and /a b"),
        (r"\$who", "$who"),
        (r'"\$who \n"', r"$who \n"),
        (r"a\ b", "a b"),
        ("${who:-x}${nobody:-x}${empty:-x}${empty-x}", "worldxx"),
        ("${who:+x}${nobody:+x}${empty:+x}${empty+x}", "xx"),
        ("${nobody:-${who}}", "world"),
        ("${nobody:-'}'}", "}"),
        ("pre'fix'\"es\"", "prefixes"),
    ],
)
def test_a_word_is_read_as_docker_reads_it(word: str, value: str) -> None:
    """Without its quotes, with variables put in."""
    assert expand(word, VALUES) == value


@pytest.mark.parametrize("word", ["'open", '"open', "${who", "${who#w}", "${}", "${nobody:?must be given}", "${who:-x"])
def test_what_is_not_known_is_refused(word: str) -> None:
    """And not passed on as it stands."""
    with pytest.raises(ValueError, match=r".+"):
        expand(word, VALUES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ("a='b c' d", ["a='b c'", "d"]),
        (r'x="a \" b" y', [r'x="a \" b"', "y"]),
        (r"a\ b c", [r"a\ b", "c"]),
        ("", []),
    ],
)
def test_words_are_divided_by_blanks_outside_of_quotes(text: str, words: list[str]) -> None:
    """They keep their quotes for later."""
    assert split(text) == words


@given(st.text(alphabet=st.characters(exclude_characters="'")))
def test_single_quotes_keep_everything(text: str) -> None:
    """Whatever it is."""
    assert expand(f"'{text}'", VALUES) == text


@given(st.text())
def test_escaping_keeps_everything(text: str) -> None:
    """An inverse: what is escaped sign by sign comes back."""
    assert expand("".join(f"\\{sign}" for sign in text), VALUES) == text


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True), st.text(max_size=8), min_size=1))
def test_every_variable_is_put_in_once(values: dict[str, str]) -> None:
    """What it holds is not read again."""
    assert expand("|".join(f"${{{name}}}" for name in values), values) == "|".join(values.values())
