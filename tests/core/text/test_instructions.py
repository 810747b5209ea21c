"""Splitting prompts into instructions with stable ids."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.instructions import instructions, pieces, spans
from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Text, Tool

PROMPT = """\
You are a coding agent. Be brief, e.g. no greetings. It is 2026-11-16.

# Editing
- Read a file before you edit it.
  Always.
- Never delete files.
  1. Ask first.

## Style
```python
# not a heading
x = 1
```
<tone>
Write plainly!
</tone>
# Tools
Use tools. "Quote" what you found.
"""


def request(prompt: str = PROMPT, *tools: Tool) -> Request:
    """A request with this system prompt."""
    return Request(model="m", messages=(Message(role="system", parts=(Text(text=prompt),)),), tools=tools)


def split(prompt: str) -> list[tuple[str, str]]:
    """The kind and the text of each instruction."""
    return [(one.kind, one.text) for one in instructions(request(prompt), {})]


def test_a_prompt_is_split_into_sections_items_sentences_and_blocks() -> None:
    """A section comes before what is in it; headings and tags are not instructions of their own."""
    found = split(PROMPT)
    assert [text for kind, text in found if kind == "sentence"] == [
        "You are a coding agent.",
        "Be brief, e.g. no greetings.",
        "It is 2026-11-16.",
        "Write plainly!",
        "Use tools.",
        '"Quote" what you found.',
    ]
    assert [text for kind, text in found if kind == "item"] == [
        "- Read a file before you edit it.\n  Always.",
        "- Never delete files.",
        "1. Ask first.",
    ]
    assert [text for kind, text in found if kind == "block"] == ["```python\n# not a heading\nx = 1\n```"]
    sections = [text for kind, text in found if kind == "section"]
    assert [text.splitlines()[0] for text in sections] == ["# Editing", "## Style", "# Tools"]
    assert "Write plainly!" in sections[0]
    assert "Use tools." not in sections[0]


def test_descriptions_of_tools_and_parameters_are_instructions() -> None:
    """Also those of nested parameters, each with its place."""
    nested = {"properties": {"line": {"description": "A line."}}}
    schema = {"properties": {"path": {"description": "A path."}, "edits": {"items": nested}, "odd": True}}
    tool = Tool(name="edit", description="Edit a file. Carefully.", schema=schema)
    found = [(one.kind, one.place, one.text) for one in instructions(request("", tool), {})]
    assert found == [
        ("tool", "edit", "Edit a file. Carefully."),
        ("parameter", "edit.path", "A path."),
        ("parameter", "edit.edits[].line", "A line."),
    ]


@pytest.mark.parametrize(
    "other",
    [
        "First, another rule. Work in /tmp/b/work. It is 2027-01-02.",
        "Work in\n/tmp/b/work.   It is January 3, 2031.",
    ],
)
def test_an_id_does_not_depend_on_its_position_or_on_the_trial(other: str) -> None:
    """Paths of the sandbox, dates and white space do not count."""
    one = instructions(request("Work in /tmp/a/work. It is 2026-11-16."), {"workspace": "/tmp/a/work"})
    two = instructions(request(other), {"workspace": "/tmp/b/work"})
    assert {instruction.id for instruction in one} <= {instruction.id for instruction in two}


def test_equal_texts_in_one_place_have_one_id() -> None:
    """In another place, the same text is another instruction."""
    tool = Tool(name="edit", description="Be careful.")
    found = instructions(request("Be careful. Be quick. Be careful.", tool), {})
    assert [(one.place, one.text) for one in found] == [
        ("system", "Be careful."),
        ("system", "Be quick."),
        ("edit", "Be careful."),
    ]


LINES = st.sampled_from(
    ["# One\n", "## Two\n", "- item. More.\n", "  text\n", "Word. Another!\n", "\n", "```\n", "<tag>\n", "a b", " \t\n"]
)


@given(st.lists(LINES, max_size=12).map("".join))
def test_spans_cover_disjoint_parts_of_the_text(text: str) -> None:
    """They are in order, within the text, not empty; only sections contain others."""
    found = spans(text)
    assert all(0 <= span.start < span.end <= len(text) and text[span.start : span.end].strip() for span in found)
    parts = [span for span in found if span.kind != "section"]
    assert all(one.end <= two.start for one, two in pairwise(parts))
    outside = "".join(text[a.end : b.start] for a, b in pairwise(parts))
    assert "Word" not in outside
    assert "item" not in outside


@given(st.text(alphabet="ab.#-`* \n", max_size=120) | st.just(PROMPT))
def test_the_pieces_of_a_prompt_add_up_to_it(prompt: str) -> None:
    """And hold the same instructions, without sections."""
    found = pieces(request(prompt), {})
    assert "".join(one.text for one in found) == prompt
    leaves = {one.id for one in instructions(request(prompt), {}) if one.kind != "section"}
    assert {one.id for one in found if one.id} >= leaves


def test_the_pieces_of_tools_follow_those_of_the_prompt() -> None:
    """Each description is one."""
    tool = Tool(name="read", description="Read a file.", schema={"properties": {"path": {"description": "Which one."}}})
    found = pieces(request("Be brief.", tool), {})
    assert [(one.place, one.text) for one in found] == [
        ("system", "Be brief."),
        ("read", "Read a file."),
        ("read.path", "Which one."),
    ]
