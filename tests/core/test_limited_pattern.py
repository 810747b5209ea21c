"""Regular expressions of a user, with a limit on their time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demeanor.core.limited_pattern import LimitedPattern, PatternTooSlow

SLOW = [
    "(a+)+$",
    "(a|aa)+$",
    "(a|a)*$",
    "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)b$",
    r"(a*)*\1b",
    "(?:a{1,30}){1,30}$",
    "(?=(a+)+$)x",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_a_search_that_would_not_end_is_ended(pattern: str) -> None:
    """However it is written, and again without waiting."""
    limited = LimitedPattern(pattern, seconds=0.05)
    text = "a" * 400 + "!"
    for _ in range(2):
        with pytest.raises(PatternTooSlow, match=r"takes more than 0.05 s on a text"):
            limited.sub("x", text)
    with pytest.raises(PatternTooSlow):
        limited.search(text)


def test_the_next_pattern_is_searched_after_one_that_was_ended() -> None:
    """A search may take a second if nothing else is said. The process is started again."""
    with pytest.raises(PatternTooSlow, match="takes more than 1 s on a text"):
        LimitedPattern("(a+)+$").search("a" * 40 + "!")
    assert LimitedPattern("((?P<one>b)+)+").sub("x", "abba") == "axa"


patterns = st.sampled_from(
    ["a", "(?P<n>a+)b", "(a|b)+", "((?P<n>a)?b)*", "^a.*b$", "(?i)B(?P<n>.)?", r"(?P<n>a)(?P=n)", "a{2}|b"]
)


@given(patterns, st.text("abB\n\ud800é", max_size=12), st.sampled_from(["x", r"<\g<0>>"]))
def test_a_pattern_means_what_it_means_elsewhere(pattern: str, text: str, put: str) -> None:
    """Whether it is searched in this process or in another."""
    found, usual = LimitedPattern(pattern), re.compile(pattern)
    assert [(one.start, one.end, one.groups) for one in found.find_all(text)] == [
        (*one.span(), one.groupdict()) for one in usual.finditer(text)
    ]
    first, other = found.search(text), usual.search(text)
    assert (first and (first.start, first.end, first.groups)) == (other and (*other.span(), other.groupdict()))
    assert found.sub(put, text) == usual.sub(put, text)
    assert found.names == tuple(usual.groupindex)
