"""Sessions of coding agents, read from the files that they wrote themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.agents.session_logs.read import is_half_of_another, read_log_sessions
from demeanor.core.values.session import PastSession
from demeanor.core.values.trajectory import Called, Kind, Said
from tests.helpers.session_samples import AGENTS, FOLDER, QUESTION, SAMPLES, TIDY_UP, session_file


def read(path: Path) -> PastSession:
    found = read_log_sessions(path, path.read_bytes())
    assert found is not None
    (session,) = found
    return session


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_tells_the_same_story(agent: str, tmp_path: Path):
    """Prompts, calls, messages and facts, whatever the format."""
    session = read(session_file(agent, tmp_path))
    assert (session.agent, session.model, session.folder) == (agent, "played", FOLDER)
    assert session.started.startswith("2026-11-17")
    prompts = [one.prompt.strip('"') for one in session.rounds]  # opencode quotes a prompt of its command line
    assert prompts == ([TIDY_UP] if agent == "cline" else [QUESTION, TIDY_UP])
    events = session.rounds[-1].events
    calls = [event for event in events if isinstance(event, Called)]
    edits = Kind.EXECUTE if agent in {"codex", "goose"} else Kind.EDIT
    assert [call.kind for call in calls][1:4] == [edits, Kind.EXECUTE, Kind.EXECUTE]
    assert "rm -r build src/legacy.py" in json.dumps(dict(calls[2].arguments))
    assert all(call.succeeded for call in calls)
    assert "API_KEY" in (calls[3].result or "")
    said = [event.text for event in events if isinstance(event, Said)]
    assert said == ["I clean up now.", "Done: the build folder is gone and DEBUG is off."]
    parallel = calls[2].turn == calls[3].turn
    assert parallel == (agent != "goose")  # goose records one message per call


@pytest.mark.parametrize(
    ("agent", "known"),
    [("claude-code", "4702672"), ("codex", "d7383a29b2aa5af5930353407820a08ab817d07f"), ("goose", "")],
)
def test_the_commit_is_known_if_the_agent_records_it(agent: str, known: str, tmp_path: Path):
    """Claude Code tells its model the recent commits; Codex records it with the session."""
    assert read(session_file(agent, tmp_path)).commit == known


def test_cline_records_the_files_as_a_commit(tmp_path: Path):
    """Its checkpoint before a run; and its two files are one session."""
    path = session_file("cline", tmp_path)
    session = read(path)
    assert session.rounds[0].snapshot == "aa24e9fb0cb108a8b3af2e52cc5a5fe45237eada"
    messages = path.with_name("cline.messages.json")
    assert is_half_of_another(messages)
    assert read(messages) == session


def test_originals_of_files_are_taken_where_the_log_has_them(tmp_path: Path):
    """Claude Code records what a file was before it was edited, and that a written one is new."""
    seen = {(one.path, one.text) for one in read(session_file("claude-code", tmp_path)).rounds[-1].seen}
    assert seen == {("src/config.py", "DEBUG = True\nLEVEL = 3\n"), ("NOTES.md", None)}


def test_a_message_that_the_user_took_back_is_no_part_of_the_session(tmp_path: Path):
    """Only the chain of messages that leads to the last one counts."""
    path = session_file("claude-code", tmp_path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    last = [line for line in lines if line["type"] == "assistant"][-1]
    taken_back = {**last, "uuid": "other", "type": "user", "message": {"role": "user", "content": "No, wait!"}}
    end = {**last, "uuid": "end", "parentUuid": last["uuid"]}
    path.write_text("".join(json.dumps(line) + "\n" for line in (*lines, taken_back, end)))
    assert [one.prompt for one in read(path).rounds] == [QUESTION, TIDY_UP]


@pytest.mark.parametrize("text", ["", "hello\n", "{}", "[1, 2]", '{"messages": 3}', '{"type": "user"}\n{"type": 1}\n'])
def test_other_files_are_not_sessions(text: str, tmp_path: Path):
    """They are not taken for one."""
    assert read_log_sessions(tmp_path / "x.json", text.encode()) is None


def test_a_broken_database_is_an_error(tmp_path: Path):
    """With a sentence, not a traceback."""
    path = tmp_path / "x.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    with pytest.raises(ValueError, match="can't be read"):
        read_log_sessions(path, path.read_bytes())


_HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(data=st.data(), name=st.sampled_from(["claude_code.jsonl", "codex.jsonl", "gemini_cli.jsonl"]))
def test_a_damaged_file_is_read_as_far_as_it_can_be(data: st.DataObject, name: str):
    """Any value of any line can be anything: no exception, and no session of another agent."""
    lines = [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]
    for _ in range(3):
        place: object = data.draw(st.sampled_from(lines))
        while isinstance(place, dict) and place:
            key = data.draw(st.sampled_from(sorted(place)))
            if not isinstance(place[key], dict) or data.draw(st.booleans()):
                place[key] = data.draw(_HOSTILE)
                break
            place = place[key]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    for session in read_log_sessions(Path("x.jsonl"), text.encode()) or ():
        assert session.agent.replace("-", "_") == name.partition(".")[0]
