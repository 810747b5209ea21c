"""Regular expressions of a user, with a limit on their time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from demeanor.config.limited_pattern import LimitedPattern, PatternTooSlow


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(a|a)*$", "(?:a{1,30}){1,30}$"])
def test_a_search_that_would_not_end_is_ended(pattern: str) -> None:
    """However it is written; and the second time without waiting."""
    limited = LimitedPattern(pattern, seconds=0.05)
    text = "a" * 400 + "!"
    for _ in range(2):
        with pytest.raises(PatternTooSlow, match=r"takes more than 0.05 s on a text"):
            limited.sub("x", text)
    with pytest.raises(PatternTooSlow):
        limited.search(text)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.*)(.*)(.*)(.*)(.*)(.*)b$", r"(a*)*\1b", "(?=(a+)+$)x"])
def test_a_search_for_which_python_needs_years_ends(pattern: str) -> None:
    """The engine sees that these don't match."""
    assert LimitedPattern(pattern, seconds=60).search("a" * 400 + "!") is None


@pytest.mark.parametrize("pattern", ["(", r"\p{L}", "(?P<a>a)(?P<a>b)", "(?|a|b)"])
def test_a_pattern_that_python_refuses_is_refused(pattern: str) -> None:
    """A larger syntax could never be taken back."""
    with pytest.raises(re.error):
        LimitedPattern(pattern)


patterns = st.sampled_from(
    ["a", "(?P<n>a+)b", "(a|b)+", "((?P<n>a)?b)*", "^a.*b$", "(?i)B(?P<n>.)?", r"(?P<n>a)(?P=n)", "a{2}|b"]
)


@given(patterns, st.text("abB\n\ud800é", max_size=12), st.sampled_from(["x", r"<\g<0>>"]))
def test_a_pattern_means_what_it_means_elsewhere(pattern: str, text: str, put: str) -> None:
    """Whether it is searched in this process or in another."""
    found, usual = LimitedPattern(pattern), re.compile(pattern)
    assert [(*match.span(), match.groupdict()) for match in found.find_all(text)] == [
        (*match.span(), match.groupdict()) for match in usual.finditer(text)
    ]
    first, other = found.search(text), usual.search(text)
    assert (first and (*first.span(), first.groupdict())) == (other and (*other.span(), other.groupdict()))
    assert found.sub(put, text) == usual.sub(put, text)
    assert found.names == tuple(usual.groupindex)
