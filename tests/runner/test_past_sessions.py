"""Sessions in files: which formats are recognised, and what is said about the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from demeanor.core.text.codec import encode
from demeanor.core.values.errors import BadInput, UnknownName
from demeanor.core.values.exchange import Exchange, Request, Response
from demeanor.core.values.messages import Message, Text, Tool, ToolCall, ToolResult
from demeanor.core.values.trajectory import Called, Said
from demeanor.runner.past_sessions import choose_session, read_sessions, session_files
from demeanor.runner.traffic import TrafficHeader, header_line
from tests.helpers.session_samples import session_file

_TOOLS = (Tool(name="read_file", description="", schema={}),)


def text_of(role: str, text: str) -> Message:
    return Message(role=role, parts=(Text(text=text),))  # type: ignore[arg-type]


def conversation() -> list[Exchange]:
    """Two prompts: a call with its result and an answer, then another answer; the agent adds a reminder to each."""
    asked = (text_of("system", "Work in /w."), text_of("user", "<system-reminder>Be brief.</system-reminder>\nFirst?"))
    call = ToolCall(id="1", name="read_file", arguments={"path": "a"}, raw="{}")
    called = Message(role="assistant", parts=(call,))
    result = Message(role="user", parts=(ToolResult(call_id="1", parts=(Text(text="A"),), is_error=False),))
    more = (*asked, called, result)
    last = (*more, text_of("assistant", "One."), text_of("user", "Second?"))
    answers = ((asked, call), (more, Text(text="One.")), (last, Text(text="Two.")))
    return [
        Exchange(
            number=number,
            dialect="anthropic",
            request=Request(model="m", messages=messages, tools=_TOOLS),
            response=Response(parts=(part,)),
        )
        for number, (messages, part) in enumerate(answers, 1)
    ]


def write_traffic(path: Path, *, version: int = 1) -> Path:
    header = {**header_line(TrafficHeader(folder="/w", commit="abc", changes="")), "version": version}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *map(encode, conversation()))))
    return path


def test_traffic_is_one_round_per_prompt(tmp_path: Path):
    """The user's words without the agent's remarks; turns are counted within a round."""
    (session,) = read_sessions(write_traffic(tmp_path / "t.jsonl"))
    assert (session.folder, session.commit, session.changes) == ("/w", "abc", "")
    assert [one.prompt for one in session.rounds] == ["First?", "Second?"]
    first, second = (one.events for one in session.rounds)
    assert [(event.turn, event.type) for event in first] == [(1, "called"), (2, "said")]
    assert isinstance(first[0], Called)
    assert first[0].result == "A"
    assert second == (Said(turn=1, text="Two."),)


def test_traffic_of_another_version_is_refused(tmp_path: Path):
    """With the version."""
    with pytest.raises(BadInput, match="version 2"):
        read_sessions(write_traffic(tmp_path / "t.jsonl", version=2))


def test_a_trajectory_is_one_round_per_step_of_the_user(tmp_path: Path):
    """ATIF knows neither folder nor commit: without --repo and --commit, `demeanor adopt` reports that as a gap."""
    call = {"tool_call_id": "1", "function_name": "read_file", "arguments": {"path": "a"}}
    steps = [
        {"source": "system", "message": "Be good."},
        {"source": "user", "message": "First?"},
        {"source": "agent", "message": "", "tool_calls": [call]},
        {"source": "agent", "message": "One."},
        {"source": "user", "message": [{"type": "text", "text": "Second?"}]},
    ]
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps({"schema_version": "ATIF-v1.7", "agent": {"name": "goose"}, "steps": steps}))
    (session,) = read_sessions(path)
    assert [(one.prompt, len(one.events)) for one in session.rounds] == [("First?", 2), ("Second?", 0)]
    assert session.agent == "goose"
    assert (session.folder, session.commit, session.gaps) == ("", "", ())


def test_another_file_is_refused_with_what_is_accepted(tmp_path: Path):
    """Also one without a prompt, and one that is missing."""
    path = tmp_path / "x.json"
    path.write_text('{"a": 1}')
    with pytest.raises(BadInput, match=r"Claude Code, Cline, Codex"):
        read_sessions(path)
    path.write_text(json.dumps({"schema_version": "ATIF-v1.7", "steps": []}))
    with pytest.raises(BadInput, match="no prompt"):
        read_sessions(path)
    with pytest.raises(BadInput, match="can't be read"):
        read_sessions(tmp_path / "missing.json")


def test_a_session_of_a_database_is_chosen_by_its_id(tmp_path: Path):
    """The newest by default; a wrong id lists the known ones."""
    path = session_file("goose", tmp_path)
    sessions = read_sessions(path)
    assert choose_session(sessions, None, path) is choose_session(sessions, "20261117_1", path)
    with pytest.raises(UnknownName, match="20261117_1"):
        choose_session(sessions, "20261117_2", path)


def test_the_two_files_of_a_session_of_cline_count_once(tmp_path: Path):
    """Else one session would be two."""
    session_file("cline", tmp_path)
    assert [path.name for path in session_files(tmp_path)] == ["cline.json"]
