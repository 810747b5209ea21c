"""Removing and replacing instructions of a request."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, strategies as st

from demeanor.core.text.instructions import instructions
from demeanor.core.values.exchange import Request
from demeanor.core.values.intervention import Intervention, intervene
from demeanor.core.values.messages import Message, Text, Tool
from demeanor.core.values.subject import Subject
from tests.core.text.test_instructions import LINES, PROMPT, request

TOOL = Tool(
    name="edit",
    description="Edit a file.",
    schema={"type": "object", "properties": {"path": {"type": "string", "description": "A path."}}},
)


def id_of(text: str, of: Request) -> str:
    """The id of the instruction with this text."""
    (found,) = (one.id for one in instructions(of, {}) if one.text == text)
    return found


def changed(prompt: str, *without: str) -> str:
    """The prompt without some instructions, named by their texts."""
    asked = request(prompt)
    ids = tuple(id_of(text, asked) for text in without)
    new, found = intervene(asked, Intervention(without=ids), {})
    assert set(found) == set(ids)
    return new.system


def test_removing_leaves_no_gap() -> None:
    """Neither an empty line nor a double space."""
    assert changed("One. Two. Three.", "Two.") == "One. Three."
    assert changed("- one\n- two\n- three\n", "- two") == "- one\n- three\n"
    assert changed("One. Two. One.", "One.") == "Two. "


def test_removing_a_section_removes_what_is_in_it() -> None:
    """Up to the next heading of its level."""
    section = next(one for one in instructions(request(), {}) if one.text.startswith("# Editing"))
    new, found = intervene(request(), Intervention(without=(section.id,)), {})
    assert new.system == PROMPT[: PROMPT.index("# Editing")] + PROMPT[PROMPT.index("# Tools") :]
    assert found == {section.id: section.text}


def test_replacing_keeps_the_white_space_around() -> None:
    """So the next sentence or line stays where it is."""
    asked = request("One. Two.\n- three\n- four\n")
    new = {id_of("One.", asked): "Uno.", id_of("- three", asked): "- tres"}
    assert intervene(asked, Intervention(replacements=new), {})[0].system == "Uno. Two.\n- tres\n- four\n"


def test_descriptions_of_tools_and_parameters_are_changed() -> None:
    """A removed description of a parameter leaves the rest of its schema."""
    asked = request("Be brief.", TOOL)
    change = Intervention(without=(id_of("A path.", asked),), replacements={id_of("Edit a file.", asked): "Change it."})
    (tool,) = intervene(asked, change, {})[0].tools
    assert tool.description == "Change it."
    assert tool.schema == {"type": "object", "properties": {"path": {"type": "string"}}}


def test_other_messages_are_not_touched() -> None:
    """What the user writes is not an instruction of the agent; a system message that became empty is left out."""
    user = Message(role="user", parts=(Text(text="Be brief."),))
    asked = replace(request("Be brief."), messages=(*request("Be brief.").messages, user))
    new, _ = intervene(asked, Intervention(without=(id_of("Be brief.", asked),)), {})
    assert new.messages == (user,)


def test_without_a_match_the_request_stays_the_same() -> None:
    """The very same value, so that the agent's own bytes are sent on."""
    asked = request(PROMPT, TOOL)
    assert intervene(asked, Intervention(without=("00000000",)), {}) == (asked, {})
    assert intervene(asked, Intervention(without=("00000000",)), {})[0] is asked


def test_it_is_part_of_the_subject() -> None:
    """And of its fingerprint; an empty one changes nothing."""
    plain = Subject(agent="native", model="m")
    change = Intervention(without=("0a0a0a0a",), replacements={"0b0b0b0b": "Be brief."})
    assert Intervention.of(change.on(plain)) == change
    assert change.on(plain).fingerprint != plain.fingerprint
    assert Intervention().on(plain) is plain


@given(st.lists(LINES, max_size=10).map("".join), st.integers(0, 30))
def test_removing_one_instruction_removes_it_and_no_other(prompt: str, which: int) -> None:
    """Every other sentence, item and block keeps its id."""
    asked = request(prompt)
    parts = [one for one in instructions(asked, {}) if one.kind != "section"]
    if not parts:
        return
    chosen = parts[which % len(parts)]
    new, found = intervene(asked, Intervention(without=(chosen.id,)), {})
    left = {one.id for one in instructions(new, {}) if one.kind != "section"}
    assert set(found) == {chosen.id}
    assert left == {one.id for one in parts} - {chosen.id}


def test_instructions_are_negated_shortened_and_swapped() -> None:
    """Each in its place; what is not named stays as it is."""
    asked = request("# Rules\n- Never guess.\n- Read files, and ask.\n- Be kind.\nLast one.\n", TOOL)
    guess, read, kind, last = (id_of(text, asked) for text in
                               ("- Never guess.", "- Read files, and ask.", "- Be kind.", "Last one."))  # fmt: skip
    change = Intervention(negated=(guess,), shortened=(read,), swapped=((kind, last),))
    new, found = intervene(asked, change, {})
    assert new.system == "# Rules\n- Guess.\n- Read files.\nLast one.\n- Be kind.\n"
    assert {change.verb(one) for one in found} == {"negated", "shortened", "swapped"}
    assert set(found) == change.ids
    assert new.tools == asked.tools


def test_descriptions_of_tools_are_negated_and_shortened() -> None:
    """Those of parameters too."""
    tool = replace(TOOL, description="Edit a file. Always ask first.")
    asked = request("Be brief.", tool)
    ids = {one.place: one.id for one in instructions(asked, {})}
    new, _ = intervene(asked, Intervention(shortened=(ids["edit"],), negated=(ids["edit.path"],)), {})
    assert new.tools[0].description == "Edit a file."
    assert new.tools[0].schema["properties"]["path"]["description"] == "Do not a path."


def test_what_can_not_be_done_changes_nothing() -> None:
    """A text that has no shorter form, and a pair of which one is missing."""
    asked = request("One. Two.")
    one = id_of("One.", asked)
    change = Intervention(shortened=(id_of("Two.", asked),), swapped=((one, "00000000"),))
    assert intervene(asked, change, {}) == (asked, {})


def test_every_kind_of_change_is_part_of_the_fingerprint() -> None:
    """And can be read from the subject again; a removal has the fingerprint that it always had."""
    subject = Subject(agent="a", model="m")
    changes = [
        Intervention(without=("0a0a0a0a",)),
        Intervention(negated=("0a0a0a0a",)),
        Intervention(shortened=("0a0a0a0a",)),
        Intervention(swapped=(("0a0a0a0a", "0b0b0b0b"),)),
    ]
    assert len({change.on(subject).fingerprint for change in changes}) == len(changes)
    assert [Intervention.of(change.on(subject)) for change in changes] == changes
    assert changes[0].on(subject).settings == {"intervention": {"without": ["0a0a0a0a"], "replacements": {}}}


def test_an_intervention_over_another_one_decides_what_both_change() -> None:
    """A fork adds its edits to those of the recorded run."""
    recorded = Intervention(without=("a", "b"), replacements={"c": "old"}, swapped=(("d", "e"), ("f", "g")))
    both = Intervention(negated=("a",), replacements={"c": "new"}, shortened=("e",)).over(recorded)
    assert both.edits == ("remove:b", "replace:c", "negate:a", "shorten:e", "swap:f,g")
    assert both.replacements == {"c": "new"}
