"""What a tool really said."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demeanor.gateway.script.tool_output import bare


@pytest.mark.parametrize(
    "told",
    [
        "Hello\nWorld\n",
        "1\tHello\n2\tWorld\n",
        "     1→Hello\n     2→World\n",
        '{\n  "returncode": 0,\n  "output": "Hello\\nWorld\\n"\n}',
        "<path>/x</path>\n<content>\n1: Hello\n2: World\n\n(End of file - total 2 lines)\n</content>",
    ],
)
def test_what_agents_put_around_it_is_taken_off(told: str) -> None:
    """As goose, pi, claude, mini-swe-agent and opencode tell it."""
    assert bare(told) == "Hello\nWorld\n"


def test_a_list_of_one_result_is_that_result() -> None:
    """As Cline tells it; the last end of line is lost there."""
    assert bare('[{"query":"a.txt","result":"1 | Hello\\n2 | World","success":true}]') == "Hello\nWorld"


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3).map(json.dumps))
def test_json_that_is_a_files_content_stays_as_it_is(content: str) -> None:
    """Only what looks like a tool's own report is opened."""
    if not json.loads(content).keys() & {"returncode", "success"}:
        assert bare(content) == content
