"""Calls and results: every call gets one result, directly after the turn that made it."""

from __future__ import annotations

from demeanor.core.values.messages import Message, Part, Role, Text, ToolCall, ToolResult
from demeanor.gateway.dialects.pairing import NO_RESULT, alternate_turns, pair_results


def call(given: str, name: str = "read") -> ToolCall:
    return ToolCall(id=given, name=name, arguments={})


def result(given: str, text: str = "done", name: str | None = None) -> ToolResult:
    return ToolResult(call_id=given, name=name, parts=(Text(text=text),))


def say(role: Role, *parts: Part | str) -> Message:
    return Message(role=role, parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts))


def shape(messages: tuple[Message, ...]) -> list[tuple[str, list[str]]]:
    def written(part: Part) -> str:
        if isinstance(part, ToolCall):
            return f"call {part.id}"
        if isinstance(part, ToolResult):
            return f"result {part.call_id} {part.text}"
        return part.text if isinstance(part, Text) else part.kind

    return [(message.role, [written(part) for part in message.parts]) for message in messages]


def test_results_move_before_text() -> None:
    """Other user content comes after all results."""
    written = pair_results(
        [say("assistant", call("a"), call("b")), say("user", "Well", result("b")), say("user", result("a"))]
    )
    assert shape(written) == [
        ("assistant", ["call a", "call b"]),
        ("user", ["result a done", "result b done"]),
        ("user", ["Well"]),
    ]


def test_results_get_the_tool_name() -> None:
    """A result gets the name of the tool that was called."""
    written = pair_results([say("assistant", call("a", "read")), say("user", result("a"))])
    assert isinstance(written[1].parts[0], ToolResult)
    assert written[1].parts[0].name == "read"


def test_one_turn_in_several_messages() -> None:
    """Consecutive assistant messages are one turn."""
    written = pair_results(
        [say("assistant", "Hm"), say("assistant", call("a")), say("assistant", call("b")), say("user", result("b"))]
    )
    assert shape(written) == [
        ("assistant", ["Hm", "call a", "call b"]),
        ("user", [f"result a {NO_RESULT}", "result b done"]),
    ]


def test_ids_that_are_used_twice() -> None:
    """The second call with an id gets another one, and so does its result."""
    written = pair_results(
        [
            say("assistant", call("a")),
            say("user", result("a", "1")),
            say("assistant", call("a")),
            say("user", result("a", "2")),
        ]
    )
    assert shape(written)[2:] == [("assistant", ["call a_2"]), ("user", ["result a_2 2"])]


def test_missing_ids() -> None:
    """Results without ids belong to the calls in order, or by name if they have one."""
    calls = say("assistant", call("", "read"), call("", "list"))
    written = pair_results([calls, say("user", result("", "L", "list"), result("", "R"))])
    assert shape(written)[1] == ("user", ["result call R", "result call_2 L"])


def test_a_result_without_a_call_is_text() -> None:
    """Nothing is dropped."""
    assert shape(pair_results([say("user", result("x", "old"), "Go on")])) == [
        ("user", ["[result of x]", "old", "Go on"])
    ]


def test_a_call_at_the_very_end_has_no_result_yet() -> None:
    """A call at the end of the conversation needs no result."""
    assert shape(pair_results([say("assistant", call("a"))])) == [("assistant", ["call a"])]


def test_order_of_instructions() -> None:
    """A system message between two messages stays between them."""
    written = pair_results([say("user", "One"), say("developer", "Two"), say("user", "Three")])
    assert [message.text for message in written] == ["One", "Two", "Three"]


def test_alternating_turns() -> None:
    """System prompts come first, roles alternate, the user is first, and no message is empty."""
    system, turns = alternate_turns(
        [
            say("system", "Be"),
            say("developer", "kind"),
            say("assistant", "Hi"),
            say("user", ""),
            say("user", "a"),
            say("system", "b"),
        ],
        accepts=lambda part: not isinstance(part, Text) or bool(part.text),
    )
    assert [part.text for part in system] == ["Be", "kind"]
    assert [(turn.role, turn.text) for turn in turns][1:] == [("assistant", "Hi"), ("user", "ab")]
    assert turns[0].role == "user"
