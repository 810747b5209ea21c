"""Settings files."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from hypothesis import given, strategies as st

from demeanor.agents.settings import json_file, merged, toml_file

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
_VALUES = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | _TEXTS
_TABLES = st.dictionaries(
    _TEXTS,
    st.recursive(
        _VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3), max_leaves=8
    ),
    max_size=4,
)


@given(_TABLES)
def test_toml_round_trip(data: dict[str, Any]):
    """Any key and any value."""
    assert tomllib.loads(toml_file(data).decode()) == data


@given(_TABLES)
def test_json_round_trip(data: dict[str, Any]):
    """Any key and any value."""
    assert json.loads(json_file(data)) == data


def test_tables_are_merged_tables():
    """Other values are replaced; the arguments are not changed."""
    below = {"a": {"x": 1, "y": 2}, "b": [1]}
    assert merged(below, {"a": {"y": 3}, "b": [2], "c": {}}) == {"a": {"x": 1, "y": 3}, "b": [2], "c": {}}
    assert merged(below, {"a": 5}) == {"a": 5, "b": [1]}
    assert below == {"a": {"x": 1, "y": 2}, "b": [1]}
