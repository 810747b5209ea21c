"""Texts with `*` for anything."""

from __future__ import annotations

import re

from hypothesis import given, strategies as st

from demeanor.core.text.wildcards import contains, matches_whole
from demeanor.core.values.mcp_fixture import Reply
from demeanor.core.values.user import UserReply

texts = st.text("ab*", max_size=12)


@given(texts, texts)
def test_a_pattern_means_what_a_regular_expression_would(text: str, pattern: str) -> None:
    """Whole texts and parts of texts."""
    expression = ".*".join(map(re.escape, pattern.split("*")))
    assert contains(text, pattern) is bool(re.search(expression, text, re.DOTALL))
    assert matches_whole(text, pattern) is bool(re.fullmatch(expression, text, re.DOTALL))


def test_many_wildcards_on_a_long_text_take_linear_time() -> None:
    """An agent chooses the text; a regular expression would take the text's length to the power of the wildcards."""
    pattern, text = "a*" * 20 + "b", "a" * 100_000
    assert not contains(text, pattern)
    assert not matches_whole(text, pattern)
    assert not UserReply("Yes.", when=pattern).fits(text, 0)
    assert not Reply("x", when={"query": pattern}).answers({"query": text})
