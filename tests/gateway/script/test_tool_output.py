"""Extracting the output of a tool."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from demeanor.gateway.script.rule_reader import unwrap


@pytest.mark.parametrize(
    "wrapped",
    [
        "Hello\nWorld\n",
        "1\tHello\n2\tWorld\n",
        "     1→Hello\n     2→World\n",
        '{\n  "returncode": 0,\n  "output": "Hello\\nWorld\\n"\n}',
        "<path>/x</path>\n<content>\n1: Hello\n2: World\n\n(End of file - total 2 lines)\n</content>",
    ],
)
def test_the_wrapping_of_agents_is_removed(wrapped: str) -> None:
    """For goose, pi, claude, mini-swe-agent and opencode."""
    assert unwrap(wrapped) == "Hello\nWorld\n"


def test_the_report_about_a_file_is_its_content() -> None:
    """For Vibe."""
    assert unwrap('{"content":"Hello\\nWorld\\n","lines_read":2,"path":"/a.txt"}') == "Hello\nWorld\n"


def test_a_list_of_one_result_is_that_result() -> None:
    """For Cline, which drops the last newline."""
    assert unwrap('[{"query":"a.txt","result":"1 | Hello\\n2 | World","success":true}]') == "Hello\nWorld"


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3).map(json.dumps))
def test_json_that_is_a_files_content_stays_as_it_is(content: str) -> None:
    """Only an agent's own report is unwrapped."""
    if not json.loads(content).keys() & {"returncode", "success", "lines_read"}:
        assert unwrap(content) == content
