"""Python literals for hostile text."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.wording import printable
from demeanor.plugins.lab.adopt.source import TooDeep, content_literal, identifier, literal, long_text, text_literal

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(alphabet=st.characters()))
def test_a_literal_is_the_text_and_shows_all_of_it(text: str):
    """Python reads the same text; an editor shows no hidden or reordering character and no line end."""
    for made in (text_literal(text), long_text(text, "    ")):
        assert ast.literal_eval(made) == text
    assert printable(text_literal(text)) == text_literal(text)
    assert "\n" not in text_literal(text)


@given(_JSON)
def test_a_literal_is_the_value(value: object):
    """Arguments of calls arrive unchanged."""
    assert ast.literal_eval(literal(value)) == value


def test_values_without_a_literal():
    """Numbers that JSON does not have, and values that would exhaust the parser."""
    assert literal(float("-inf")) == 'float("-inf")'
    deep: object = 1
    for _ in range(500):
        deep = [deep]
    with pytest.raises(TooDeep):
        literal(deep)


@given(st.binary())
def test_the_content_of_a_file_is_text_or_bytes(content: bytes):
    """Without loss, also if it is not UTF-8."""
    found = ast.literal_eval(content_literal(content, ""))
    assert (found.encode() if isinstance(found, str) else found) == content


@given(st.text())
def test_a_prompt_gives_the_name_of_a_function(text: str):
    """Whatever is in it."""
    name = identifier(text)
    compile(f"def {name}(rig, result): ...", "x", "exec")
    assert identifier(name) == name or name.startswith("asked_")
