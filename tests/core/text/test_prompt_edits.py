"""Negating and shortening instructions by rules."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.prompt_edits import negated, shortened


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("Read a file before you edit it.", "Do not read a file before you edit it."),
        ("- Never delete files. Ask first.", "- Delete files. Ask first."),
        ("Do not guess.", "Guess."),
        ("Always use this tool.", "Never use this tool."),
        ("You must ask before you write.", "You must not ask before you write."),
        ("You must not ask.", "You must ask."),
        ("Files can't be moved.", "Files can be moved."),
        ("JSON only.", "Do not JSON only."),
        ("If asked, you should never lie; you can refuse.", "If asked, you should lie; you can refuse."),
    ],
)
def test_the_first_word_that_decides_is_turned(text: str, opposite: str) -> None:
    """A list marker and further sentences stay."""
    assert negated(text) == opposite


@given(st.sampled_from(["Never ", "Always ", "Do not ", ""]), st.text(alphabet="abc de.,\n-", min_size=1))
def test_a_negation_is_never_the_same(start: str, text: str) -> None:
    """Whatever the text."""
    assert negated(f"{start}x{text}") != f"{start}x{text}"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Delete a file. Always use this tool, it can be undone.", "Delete a file."),
        ("Read a file, or a part of it.", "Read a file."),
        ("Read version 2.0 of it.", "Read version 2.0 of it."),
        ("First paragraph\n\nand a second one", "First paragraph"),
        ("Read a file.", "Read a file."),
    ],
)
def test_the_first_sentence_or_clause_stays(text: str, short: str) -> None:
    """A text that can't be shortened stays as it is."""
    assert shortened(text) == short


@given(st.text(max_size=80))
def test_a_shortened_text_is_not_longer_than_its_text(text: str) -> None:
    """And not empty, unless its text was."""
    assert len(shortened(text)) <= max(len(text), 1)
    assert bool(shortened(text).strip()) == bool(text.strip())
