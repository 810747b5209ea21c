"""The output of a local model is restricted to calls of the offered tools, or a final text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given, strategies as st

from demeanor.agents.native_agent.loop import SYSTEM
from demeanor.agents.native_agent.tools import TOOLS
from demeanor.core.values.exchange import Request, StopReason
from demeanor.core.values.messages import Message, Text, Tool, ToolCall, ToolResult
from demeanor.gateway.local.grammar import output_schema, read_answer, simplify_schema
from demeanor.gateway.local.prompt import chat_messages, signature
from tests.gateway.helpers import NATIVE, a_tool

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
shapes = st.recursive(
    st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda kind: {"type": kind})
    | st.lists(words, min_size=1, max_size=3).map(lambda values: {"enum": values})
    | st.just({}),
    lambda inner: (
        inner.map(lambda items: {"type": "array", "items": items})
        | st.lists(inner, min_size=1, max_size=2).map(lambda options: {"anyOf": options})
        | st.dictionaries(names, inner, max_size=3).flatmap(
            lambda properties: st.lists(st.sampled_from([*properties, "absent"]), unique=True).map(
                lambda required: {"type": "object", "properties": properties, "required": required}
            )
        )
    ),
    max_leaves=6,
)
hostile = st.recursive(
    anything,
    lambda inner: st.dictionaries(
        st.sampled_from(
            ["type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "$ref", "pattern"]
        ),
        inner | st.sampled_from(["#", "#/properties/a", "https://elsewhere.example/x", "object", "array"]),
        max_size=4,
    ),
    max_leaves=12,
)
tools = st.lists(
    st.builds(lambda name, schema: Tool(name=name, schema=schema), names, st.just({}) | shapes), min_size=1, max_size=3
).map(tuple)


def asking(*tools: Tool, **more: Any) -> Request:
    """A request with these tools."""
    return Request(model="m", messages=(Message(role="user", parts=(Text(text="Hi."),)),), tools=tools, **more)


def allowed_output(schema: dict[str, Any], draw: Any) -> Any:
    """Any output that the schema allows."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "anyOf" in schema:
        return allowed_output(draw(st.sampled_from(schema["anyOf"])), draw)
    kind = schema.get("type")
    if kind == "array":
        return [allowed_output(schema["items"], draw) for _ in range(draw(st.integers(0, 2)))]
    if "properties" in schema:
        chosen = [name for name in schema["properties"] if name in schema["required"] or draw(st.booleans())]
        return {name: allowed_output(schema["properties"][name], draw) for name in chosen}
    plain = {"string": words, "integer": st.integers(), "number": st.integers(), "boolean": st.booleans()}
    return draw(plain.get(kind or "", st.none() if kind == "null" else anything)) if kind != "object" else {}


@given(tools, st.data())
def test_every_call_is_one_of_an_offered_tool(offered: tuple[Tool, ...], data: Any) -> None:
    """Its arguments fit the tool's schema, and nothing is lost."""
    request = asking(*offered)
    schema = output_schema(request)
    assert schema is not None
    action = allowed_output(schema, data.draw)
    jsonschema.validate(action, schema)
    part, stop = read_answer(json.dumps(action), request, number=4, truncated=False)
    if isinstance(part, ToolCall):
        assert part.name in {tool.name for tool in offered}
        assert (part.arguments, json.loads(part.raw), part.id) == (action["args"], action["args"], "call_4")
        assert stop is StopReason.TOOL_USE
    else:
        assert (part, stop) == (Text(text=action["final"]), StopReason.END)


@given(tools, st.data())
def test_truncated_output_is_never_taken_for_complete(offered: tuple[Tool, ...], data: Any) -> None:
    """Wherever it is truncated, it is a call without arguments, or text."""
    request = asking(*offered)
    complete = json.dumps(allowed_output(output_schema(request) or {}, data.draw))
    piece = complete[: data.draw(st.integers(0, len(complete) - 1))]
    part, stop = read_answer(piece, request, number=1, truncated=True)
    assert stop is StopReason.LENGTH
    if isinstance(part, ToolCall):
        assert part.malformed
        assert part.raw
    else:
        assert isinstance(part, Text)


@given(st.text(), st.booleans())
def test_any_output_can_be_read(text: str, truncated: bool) -> None:
    """Whatever the engine returns."""
    part, _ = read_answer(text, asking(*NATIVE), number=1, truncated=truncated)
    assert isinstance(part, Text | ToolCall)


@given(hostile)
def test_any_schema_becomes_one_that_the_engine_understands(schema: Any) -> None:
    """A tool's schema is untrusted; it may be recursive or invalid."""
    simple = simplify_schema(schema)
    jsonschema.Draft202012Validator.check_schema(simple)
    request = asking(Tool(name="t", schema=schema if isinstance(schema, dict) else {}))
    jsonschema.Draft202012Validator.check_schema(output_schema(request) or {})
    assert chat_messages(request)


def test_references_within_a_schema_are_resolved_and_no_others() -> None:
    """A recursive schema is cut at some depth."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
    simple = simplify_schema({"$ref": "#/$defs/node", "$defs": {"node": node}})
    assert simple["properties"]["next"]["properties"]["next"]
    assert simplify_schema({"$ref": "https://elsewhere.example/schema"}) == {}


@pytest.mark.parametrize(
    ("choice", "tool_names", "may_end"),
    [(None, ["read", "write"], True), ("required", ["read", "write"], False), ("write", ["write"], False)],
)
def test_the_agents_choice_of_tools_is_kept(choice: str | None, tool_names: list[str], may_end: bool) -> None:
    """`required` and a tool name exclude a final text."""
    schema = output_schema(asking(a_tool("read", "path"), a_tool("write", "path"), tool_choice=choice))
    assert schema
    offered = [one["properties"]["tool"]["const"] for one in schema["anyOf"] if "tool" in one["properties"]]
    assert offered == tool_names
    assert any("final" in one["properties"] for one in schema["anyOf"]) is may_end


def test_without_tools_any_text_is_allowed() -> None:
    """Unless a schema is requested; the text is returned unchanged."""
    assert output_schema(asking()) is None
    assert output_schema(asking(a_tool("read"), tool_choice="none")) is None
    assert output_schema(asking(json_schema={"type": "integer", "minimum": 3})) == {"type": "integer"}
    assert read_answer("Hi {", asking(), number=1, truncated=False) == (Text(text="Hi {"), StopReason.END)


def test_a_conversation_becomes_a_short_prompt() -> None:
    """Constant parts come first; the model's own calls are written in its output format."""
    call = ToolCall(id="c1", name="read_file", arguments={"path": "a.txt"}, raw='{"path": "a.txt"}')
    request = asking(*NATIVE)
    messages = (
        Message(role="system", parts=(Text(text="Be brief."),)),
        *request.messages,
        Message(role="assistant", parts=(call,)),
        Message(role="user", parts=(ToolResult(call_id="c1", parts=(Text(text="Ahoy."),)),)),
    )
    chat = chat_messages(Request(model="m", messages=messages, tools=NATIVE))
    assert [message["role"] for message in chat] == ["system", "user", "assistant", "user"]
    assert chat[0]["content"].startswith("Be brief.\n\nTools:\n- read_file(path)\n- write_file(path, content)")
    assert chat[2]["content"] == '{"tool": "read_file", "args": {"path": "a.txt"}}'
    assert chat[3]["content"] == "Result of read_file:\nAhoy."
    assert signature(a_tool("t", "a", b={"type": "integer"})) == "t(a, b?: integer)"


def test_examples_in_a_prompt_become_messages() -> None:
    """Each example of the native agent uses one of its tools correctly."""
    tools = tuple(Tool(name=tool.name, schema=tool.schema()["function"]["parameters"]) for tool in TOOLS.values())
    request = asking(*tools)
    request = replace(request, messages=(Message(role="system", parts=(Text(text=SYSTEM),)), *request.messages))
    system, *allowed_output = chat_messages(request)
    assert "Examples" not in system["content"]
    assert allowed_output[0] == {"role": "user", "content": "Put the words call Anna into todo.txt."}
    assert allowed_output[2] == {"role": "user", "content": "Result of write_file:\nwrote 9 characters to todo.txt"}
    actions = [message["content"] for message in allowed_output if message["role"] == "assistant"]
    assert len(actions) == SYSTEM.count("You: ")
    for action in actions:
        part, _ = read_answer(action, request, number=1, truncated=False)
        assert isinstance(part, ToolCall)
        jsonschema.validate(part.arguments, next(tool.schema for tool in tools if tool.name == part.name))
    assert allowed_output[-1]["content"] == "Hi."
    assert len(SYSTEM) < 4000
    assert "Examples" in chat_messages(replace(request, tools=()))[0]["content"]
