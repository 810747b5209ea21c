"""Lists whose order has no meaning."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.unordered import sort_sets

pieces = st.sampled_from(
    ["<available_a>", "</available_a>", "<available_b>", "</available_b>", "- x\n", "<i>", "</i>", "b", "a"]
)


@given(st.lists(pieces, max_size=14).map("".join))
def test_only_the_content_of_complete_elements_changes(text: str) -> None:
    """The outermost ones, up to their first end; nothing is lost."""
    found = sort_sets(text)
    assert sorted(found) == sorted(text)
    outside = re.compile(r"(?s)<(available_\w+)>.*?</\1>")
    assert outside.split(found) == outside.split(text)


def test_items_are_sorted_and_the_text_between_them_stays() -> None:
    """Elements, and without elements bullet points."""
    assert sort_sets("<available_x>: <b>2</b>, <a k='v'>1</a>.</available_x>") == (
        "<available_x>: <a k='v'>1</a>, <b>2</b>.</available_x>"
    )
    assert sort_sets("<available_x>\n- b\n  more\n- a\n</available_x>") == (
        "<available_x>\n- a\n- b\n  more\n</available_x>"
    )


@pytest.mark.parametrize("unit", ["<available_a>", "<available_a><i>", "<i>", "<i-i-", "<i a", "- x\n\n"])
def test_an_agent_can_not_make_it_slow(unit: str) -> None:
    """Elements that never end cost no more than others."""
    text = f"<available_x>{unit * 100_000}</available_x>"
    assert sort_sets(text) == text
