"""A change of files becomes the same change of what is sent, as a whole or not at all."""

from __future__ import annotations

import json

import pytest

from demeanor.commands.fix.wire_trial import NotOnTheWire, wire_change
from demeanor.core.text.instructions import instructions
from demeanor.core.trees.tree import Change, Entry
from demeanor.core.values.exchange import Request
from demeanor.core.values.intervention import intervene
from demeanor.core.values.messages import Message, Text, Tool

PROMPT = """\
<!-- Not sent. -->
# Rules

You are {{NAME}}, an agent that
works in a folder.

Change files at once. Keep your
answers short.

- Use the tools on offer.
- Ask when something is unclear.
"""
TOOLS = {
    "read_file": {"description": 'Give the text of a file.\nUse it before "write_file".', "path": "The file's path."},
    "write_file": {"description": "Write a whole file.", "path": "The file's path."},
}


def built(prompt: str, tools: dict[str, dict[str, str]]) -> Request:
    """What an agent sends that joins lines, fills in its name and reads its tools from JSON."""
    paragraphs = [
        part if part.lstrip().startswith("-") else " ".join(part.split())
        for part in prompt.replace("<!-- Not sent. -->\n", "").replace("{{NAME}}", "Toy").split("\n\n")
    ]
    return Request(
        model="m",
        messages=(Message(role="system", parts=(Text(text="\n\n".join(paragraphs)),)),),
        tools=tuple(
            Tool(
                name=name,
                description=own["description"],
                schema={"properties": {"path": {"type": "string", "description": own["path"]}}},
            )
            for name, own in tools.items()
        ),
    )


def change(old: str, new: str, path: str = "prompts/system.md") -> Change:
    before, after = (Entry(kind="file", content=text.encode()) for text in (old, new))
    return Change(path=path, how="changed", before=before, after=after)


SENT = built(PROMPT, TOOLS)


def on_the_wire(*changes: Change) -> Request:
    """The request with the change."""
    found, _ = intervene(SENT, wire_change(changes, instructions(SENT, {})), {})
    return found


EDITS = {
    "a reworded sentence": ("Change files at once.", "Read a file before you change it."),
    "a sentence that is wrapped": ("Keep your\nanswers short.", "Keep your answers\nvery short,\nalways."),
    "a new sentence": ("Change files at once.", "Change files at once. Read them first!"),
    "a new first sentence": ("Change files at once.", "First of all: read. Change files at once."),
    "words within a sentence": ("answers short", "answers and questions short"),
    "a removed sentence": ("Change files at once. ", ""),
    "a removed item": ("- Use the tools on offer.\n", ""),
    "two sentences become one": (
        "Change files at once. Keep your\nanswers short.",
        "Read files first (all of them), then\nkeep answers short.",
    ),
    "a quotation at the end": ("Change files at once.", 'Read them, then say "done".'),
    "a new item": ("tools on offer.\n", "tools on offer.\n- Read files before you change them.\n"),
    "a new last item": ("is unclear.\n", "is unclear.\n- Read files before you change them.\n"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_the_wire_has_what_the_built_agent_would_send(edit: str):
    """Word by word and with punctuation; only white space may differ."""
    old, new = EDITS[edit]
    assert old in PROMPT
    edited = PROMPT.replace(old, new)
    expected = built(edited, TOOLS).system
    assert expected != SENT.system
    assert on_the_wire(change(PROMPT, edited)).system.split() == expected.split()


def test_several_edits_and_files_are_one_intervention():
    """Of prompt and tools, with the escapes of JSON."""
    edited = PROMPT.replace("at once", "with care").replace("is unclear", "is not clear")
    tools = {**TOOLS, "read_file": {**TOOLS["read_file"], "description": 'Give the text.\nUse it before "write_file"!'}}
    found = on_the_wire(change(PROMPT, edited), change(json.dumps(TOOLS), json.dumps(tools), "tools.json"))
    expected = built(edited, tools)
    assert found.system.split() == expected.system.split()
    assert found.tools == expected.tools


READING = TOOLS["read_file"]
REFUSED = {
    "a comment too": (PROMPT, PROMPT.replace("at once", "first").replace("Not sent", "Never"), "not only in text that"),
    "a heading": (PROMPT, PROMPT.replace("# Rules", "# Important rules"), "not only in text that"),
    "a text with a placeholder": (PROMPT, PROMPT.replace("in a folder", "anywhere"), "not only in text that"),
    "a new placeholder": (PROMPT, PROMPT.replace("Change files at", "In {{PLACE}}, change files at"), "a placeholder"),
    "punctuation only": (PROMPT, PROMPT.replace("at once.", "at once!"), "no word was changed"),
    "one of two equal texts": (
        json.dumps(TOOLS),
        json.dumps({**TOOLS, "read_file": {**READING, "path": "The file's relative path."}}),
        "in one place only",
    ),
    "escapes of another format": ('x = "Change files at once."', 'x = "Change \\x66iles at \\x41"', "escapes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_change_that_is_not_only_in_sent_text_is_not_translated(case: str):
    """Half of a change would be another change."""
    old, new, message = REFUSED[case]
    with pytest.raises(NotOnTheWire, match=message):
        on_the_wire(change(old, new, "a.json" if old.startswith("{") else "a.py"))


def test_new_deleted_and_binary_files_are_not_translated():
    """Their texts have no counterpart."""
    entry = Entry(kind="file", content=b"Change files at once.")
    binary = Entry(kind="file", content=b"\xff\xfe")
    for how, before, after, message in (
        ("added", None, entry, "was added"),
        ("deleted", entry, None, "was deleted"),
        ("changed", entry, binary, "is not text"),
    ):
        with pytest.raises(NotOnTheWire, match=message):
            on_the_wire(Change(path="a", how=how, before=before, after=after))  # type: ignore[arg-type]
