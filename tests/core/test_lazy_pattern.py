"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from demeanor.core.lazy_pattern import lazy_pattern


def test_it_matches_like_a_compiled_one() -> None:
    """With its flags, again and again."""
    found = lazy_pattern(r"(?P<word>[a-z]+)\d", re.IGNORECASE)
    for _ in range(2):
        match = found.search("-- Ab1")
        assert match is not None
        assert match["word"] == "Ab"
        assert found.sub("x", "a1 B2") == "x x"
        assert found.pattern == r"(?P<word>[a-z]+)\d"


def test_nothing_is_compiled_before_it_is_used() -> None:
    """So a mistake shows at the first use, which the tests of its module make."""
    wrong = lazy_pattern("(")
    with pytest.raises(re.error):
        wrong.search("")
