"""Paths into JSON values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.json_path import json_steps


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ("a",)),
        ("scripts.test", ("scripts", "test")),
        ("users[0].name", ("users", 0, "name")),
        ("[0][-1]", (0, -1)),
        ('["a.b"].c', ("a.b", "c")),
        ('a["\\"]"]', ("a", '"]')),
        ("with space.dash-ed", ("with space", "dash-ed")),
    ],
)
def test_path_is_read_step_by_step(path, steps):
    """Names after dots, indices and quoted names in brackets."""
    assert json_steps(path) == steps


@pytest.mark.parametrize(
    "path", ["", ".", ".a", "a.", "a..b", "a[", "a[x]", "a]", "[0]a", 'a["b]', "a[1.5]", '["\\x"]']
)
def test_what_is_no_path_is_refused(path):
    """A path that can't be read is an error, with the rest that can't."""
    with pytest.raises(ValueError, match="JSON path"):
        json_steps(path)


@given(st.lists(st.text() | st.integers(), min_size=1, max_size=4))
def test_every_list_of_steps_can_be_written(steps):
    """Quoted names and indices reach everything."""
    written = "".join(f"[{json.dumps(step)}]" for step in steps)
    assert json_steps(written) == tuple(steps)


@given(st.text(st.sampled_from('a.[]"0-\\'), max_size=10))
def test_no_text_crashes_the_reader(path):
    """It is a path, or a ValueError."""
    try:
        assert json_steps(path)
    except ValueError:
        return
