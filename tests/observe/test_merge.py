"""Merging what the gateway recorded with the agent's own log: each event once, and contradictions are reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from demeanor.core.values.trajectory import Asked, Called, Concluded, Event, Faulted, Kind, Said
from demeanor.observe.merge import merge


def call(call_id: str, tool: str = "bash", turn: int = 1, **fields: Any) -> Called:
    """A call of a tool, with its id as the command."""
    arguments = fields.pop("arguments", {"command": call_id})
    return Called(turn=turn, id=call_id, tool=tool, kind=Kind.EXECUTE, arguments=arguments, **fields)


def logged(call_id: str, tool: str = "bash", turn: int = 1, **fields: Any) -> Called:
    """The same call in the agent's log."""
    return call(call_id, tool, turn, witness="log", **fields)


def said(text: str, turn: int = 1) -> Said:
    """A message."""
    return Said(turn=turn, text=text)


def calls(events: tuple[Event, ...]) -> list[tuple[str, str]]:
    """Ids and witnesses of the calls."""
    return [(event.id, event.witness) for event in events if isinstance(event, Called)]


def test_a_log_alone_is_believed() -> None:
    """Without a recorded model call there is nothing to contradict it. Faults are the gateway's alone."""
    log = (logged("a"), said("Done."), Faulted(turn=1, kind="cut", detail="cut@1"))
    assert merge((), log) == ((logged("a"), said("Done.")), ())


def test_the_wire_alone_is_kept_as_it_is() -> None:
    """No log, no contradiction."""
    wire = (call("a"), said("Done."))
    assert merge(wire, ()) == (wire, ())


def test_the_agents_own_result_comes_last() -> None:
    """Unless it only repeats the last message."""
    wire = (said("I begin."), said("Working.", 2))
    concluded = Concluded(turn=2, text="Done.")
    assert merge(wire, (said("I begin."), concluded))[0] == (*wire, concluded)
    assert merge(wire, (said("I begin."), replace(concluded, text=" Working.\n")))[0] == wire
    assert merge((), (said("Done."), concluded))[0] == (said("Done."),)


def test_a_message_that_only_the_log_has_is_added_to_its_turn() -> None:
    """One that is part of a message on the wire is not, nor is an empty one."""
    wire = (said("I begin. Then more."), call("a"), said("Done.", 2))
    log = (said(" Then more.\n"), said("Running a."), said("  "), logged("a"))
    assert merge(wire, log)[0] == (wire[0], replace(wire[1], witness="both"), said("Running a."), wire[2])


def test_a_call_that_only_one_side_has_is_a_contradiction() -> None:
    """In either direction; without tools, only the log reports what the agent does."""
    assert merge((call("a"), call("b")), (logged("a"),))[1] == (
        "bash(command='b') was requested by the model, but is not in the agent's log",
    )
    events, contradictions = merge((call("a"), said("Done.", 2)), (logged("a"), logged("b")))
    assert calls(events) == [("a", "both"), ("b", "log")]
    assert isinstance(events[-1], Said)
    assert contradictions == ("bash(command='b') is in the agent's log, but was not requested by the model",)
    assert merge((said("Done."),), (logged("b"),), has_tools=False)[1] == ()


def test_a_malformed_call_need_not_be_in_the_log() -> None:
    """Agents do not run it."""
    wire = (call("a"), call("b", arguments={}, raw='{"command": '))
    assert merge(wire, (logged("a"),))[1] == ()


def test_a_call_that_was_only_asked_about_need_not_be_in_the_log() -> None:
    """Whatever else the log contains."""
    asked = Asked(turn=1, id="b", tool="bash", kind=Kind.EXECUTE, answer="deny")
    events, contradictions = merge((call("a"), call("b")), (logged("a"), asked, said("Done.")))
    assert contradictions == ()
    assert [event.permission for event in events if isinstance(event, Called)] == [None, "deny"]


def test_calls_of_sub_agents_are_missing_only_in_a_log_that_reports_them() -> None:
    """Not all logs do."""
    inner = {"by_sub_agent": True, "sub_agent": 1}
    wire = (call("a"), call("b", **inner), call("c", **inner))
    assert merge(wire, (logged("a"),))[1] == ()
    missing = ("bash(command='c') was requested by the model, but is not in the agent's log",)
    assert merge(wire, (logged("a"), logged("b", **inner)))[1] == missing


def test_equal_calls_of_the_agent_and_its_sub_agent_are_told_apart() -> None:
    """Although the log has other ids, and the sub-agent's call comes first in it."""
    common: dict[str, Any] = {"arguments": {"command": "make"}}
    wire = (call("a", **common), call("b", by_sub_agent=True, sub_agent=1, **common))
    log = (logged("x", by_sub_agent=True, result="inner", **common), logged("y", result="own", **common))
    events, contradictions = merge(wire, log)
    assert [event.result for event in events if isinstance(event, Called)] == ["own", "inner"]
    assert contradictions == ()


def test_a_sub_agent_has_one_number() -> None:
    """Those in the background may start in another order than the log has them."""
    wire = tuple(call(name, by_sub_agent=True, sub_agent=number) for name, number in (("a", 1), ("b", 2)))
    log = tuple(logged(name, by_sub_agent=True, sub_agent=number) for name, number in (("b", 1), ("a", 2), ("c", 2)))
    events, _ = merge(wire, log)
    assert [(event.id, event.sub_agent) for event in events if isinstance(event, Called)] == [
        ("a", 1),
        ("b", 2),
        ("c", 1),
    ]


def test_of_two_calls_with_one_id_the_one_with_the_same_arguments_is_meant() -> None:
    """Some models use an id twice."""
    wire = (call("a", arguments={"command": "two"}), call("a", arguments={"command": "one"}))
    log = (logged("a", arguments={"command": "one"}, result="1"), logged("a", arguments={"command": "two"}, result="2"))
    assert [event.result for event in merge(wire, log)[0] if isinstance(event, Called)] == ["2", "1"]


def test_arguments_may_have_another_order_in_the_log() -> None:
    """Under other names, too, if the log has titles instead of the names of tools."""
    wire = (call("a", "write_file", arguments={"path": "a.txt", "content": "x"}),)
    log = (logged("effect-1", "Writing a.txt", turn=7, arguments={"text": "x", "file": "a.txt"}),)
    events, contradictions = merge(wire, log)
    assert calls(events) == [("a", "both")]
    assert contradictions == ()


def test_a_call_without_arguments_is_not_any_titled_one() -> None:
    """Equal values mean something only if there are some."""
    wire = (call("a", "list_files", arguments={}),)
    events, contradictions = merge(wire, (logged("effect-1", "Thinking hard", arguments={}),))
    assert calls(events) == [("a", "wire"), ("effect-1", "log")]
    assert len(contradictions) == 2


def test_each_side_completes_the_other() -> None:
    """The wire's result is what the model saw; the log knows success, duration and permission."""
    wire = (call("a", result="seen", succeeded=True), call("b", succeeded=True))
    log = (logged("a", result="shown", succeeded=False, seconds=2.0, permission="allow"), logged("b", result="shown"))
    first, second = (event for event in merge(wire, log)[0] if isinstance(event, Called))
    assert (first.result, first.succeeded, first.seconds, first.permission) == ("seen", False, 2.0, "allow")
    assert (second.result, second.succeeded, second.witness) == ("shown", True, "both")


def test_a_permission_request_is_placed_before_its_call() -> None:
    """With the wire's id, turn, tool and kind; one without an id stays in its own turn."""
    wire = (call("a"), call("b", "edit", 2), said("Done.", 3))
    asked = Asked(turn=9, id="effect-2", tool="Editing", kind=Kind.OTHER, answer="allow")
    nameless = Asked(turn=1, id="", tool="", kind=Kind.OTHER, answer="deny")
    log = (logged("a"), logged("effect-2", "Editing a file", 2, arguments={"command": "b"}), asked, nameless)
    events, contradictions = merge(wire, log)
    assert contradictions == ()
    assert [(type(event).__name__, event.turn) for event in events] == [
        *[("Called", 1), ("Asked", 1), ("Asked", 2), ("Called", 2), ("Said", 3)]
    ]
    placed, edit = events[2:4]
    assert placed == replace(asked, turn=2, id="b", tool="edit", kind=Kind.EXECUTE)
    assert isinstance(edit, Called)
    assert edit.permission == "allow"


def test_an_equal_id_of_another_tool_is_a_coincidence() -> None:
    """Logs may count calls from one, too."""
    events, contradictions = merge((call("1"),), (logged("1", "delete_file", turn=2),))
    assert calls(events) == [("1", "wire"), ("1", "log")]
    assert len(contradictions) == 2


def test_equal_arguments_of_another_tool_are_a_coincidence() -> None:
    """A file that was viewed was not deleted."""
    path = {"path": "a.txt"}
    events, contradictions = merge((call("a", "view", arguments=path),), (logged("x", "delete", arguments=path),))
    assert calls(events) == [("a", "wire"), ("x", "log")]
    assert len(contradictions) == 2


def test_a_log_with_other_ids_and_turns_is_matched_by_its_arguments() -> None:
    """Not by its order."""
    wire = (call("a", arguments={"command": "ls"}), call("b", turn=2, arguments={"command": "make"}))
    log = (
        logged("x", turn=8, arguments={"cmd": "make"}, result="made"),
        logged("y", turn=9, arguments={"cmd": "ls"}, result="listed"),
    )
    events, contradictions = merge(wire, log)
    assert [event.result for event in events if isinstance(event, Called)] == ["listed", "made"]
    assert contradictions == ()


def test_one_call_in_the_log_is_one_call() -> None:
    """The second of two equal calls is missing."""
    write = {"arguments": {"path": "a.txt"}}
    log = (logged("effect-1", "Writing a.txt", arguments={"file": "a.txt"}),)
    events, contradictions = merge((call("a", "write", **write), call("b", "write", **write)), log)
    assert calls(events) == [("a", "both"), ("b", "wire")]
    assert len(contradictions) == 1


def test_a_question_about_another_call_excuses_nothing() -> None:
    """Only the call that was asked about may be missing in the log."""
    asked = Asked(turn=1, id="a", tool="bash", kind=Kind.EXECUTE, answer="deny")
    assert merge((call("a"), call("b")), (asked,))[1] == (
        "bash(command='b') was requested by the model, but is not in the agent's log",
    )
