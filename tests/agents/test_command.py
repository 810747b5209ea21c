"""Any program as an agent, described in the configuration only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from demeanor.agents.registry import make_agent
from demeanor.config.table import Table
from demeanor.core.values.agent import Agent, Task, prints_events, unable
from demeanor.core.values.errors import BadInput
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.scenario import Approval, PriorMessage, Scenario
from demeanor.core.values.trajectory import Called, Event, Said, Thought


def agent(**table: Any) -> Agent:
    """The agent with this table in the configuration."""
    return make_agent("mine", "command", Table(table, where="demeanor.toml", prefix="agents.mine."))


def task(*prompts: str) -> Task:
    """A task with a value for every placeholder."""
    paths = {"workspace": Path("/w"), "home": Path("/h")}
    return Task(prompts=prompts, model="m", base_url="http://gate", token="t", seed=7, **paths)


def test_placeholders_are_filled_and_prompts_arrive_verbatim():
    """Quotes, newlines, braces and leading dashes are data: there is no shell in between."""
    mine = agent(command=["tool", "--seed={seed}", "{prompt}"], env={"W": "{workspace}"})
    prompt = "-rf 'x' \"y\"\n{model} $HOME"
    (launch,) = mine.orders(task(prompt)).launches
    assert launch.argv == ("tool", "--seed=7", prompt)
    assert launch.env == {"W": "/w"}


def test_double_braces_are_literal():
    """JSON can be written in an argument."""
    (launch,) = agent(command=["tool", '{{"p": 1}}', "{prompt}"]).orders(task("x")).launches
    assert launch.argv[1] == '{"p": 1}'


def test_each_prompt_is_one_launch():
    """One after the other, in the same workspace."""
    assert len(agent(command=["tool", "{prompt}"]).orders(task("a", "b")).launches) == 2


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"command": ["tool"]}, r"agents\.mine\.command: has no \{prompt\}"),
        ({"command": ["tool", "{promt}"]}, r"did you mean \{prompt\}"),
        ({"command": ["tool", "{prompt}", "{base_url}"]}, "agents.mine.dialect: is required"),
        ({"command": "tool '{prompt}"}, "can't be split into words"),
        ({}, "agents.mine.command: is required"),
        (
            {"comand": ["t"]},
            "agents.mine.comand: unknown key\n  → did you mean 'command'?",
        ),
        ({"program": ["t"]}, "agents.mine.program: unknown key\n  → known keys: .*command"),
        ({"command": ["t", "{prompt}"], "exit_code": [0]}, "did you mean 'exit_codes'"),
        ({"command": ["t", "{prompt}"], "exit_codes": ["0"]}, "expected a list of whole numbers"),
        ({"command": ["t", "{prompt}"], "tool_kinds": {"x": "edits"}}, "unknown kind 'edits'"),
        ({"command": ["t", "{prompt}"], "base_url_env": ["URL"]}, "agents.mine.dialect: is required"),
        ({"command": ["t", "{prompt}"], "dialect": "openai"}, "did you mean 'openai-chat'"),
        ({"command": ["t", "{prompt}"], "home_files": {"../x": ""}}, "leads out of"),
        ({"command": ["t", "{prompt}"], "home_files": {"x": "{prompt}"}}, r"unknown placeholder \{prompt\}"),
        ({"command": ["t", "{prompt}"], "resume_command": ["t", "-c"]}, r"resume_command: has no \{prompt\}"),
        ({"command": ["t", "{prompt}"], "output": "json"}, "did you mean 'jsonl'"),
        ({"command": ["t", "{prompt}"], "output": "jsonl"}, "agents.mine.events: is required"),
        ({"command": ["t", "{prompt}"], "events": {"tool": "a"}}, "needs JSON lines"),
        ({"command": ["t", "{prompt}"], "output": "jsonl", "events": {"text": "a"}}, "events.tool: is required"),
        ({"command": ["t", "{prompt}"], "output": "jsonl", "events": {"tool": "a..b"}}, "can't be read from"),
        ({"command": ["t", "{prompt}"], "output": "jsonl", "events": {"tool": 3}}, "expected a path"),
        (
            {"command": ["t", "{prompt}"], "output": "jsonl", "events": {"tool": {"when": {}}}},
            "events.tool.path: is req",
        ),
        ({"command": ["t", "{prompt}"], "output": "jsonl", "events": {"tool": {"path": "a", "wen": {}}}}, "'when'"),
        ({"command": ["t", "{prompt}"], "session_files": ["../x"], "events": {"tool": "a"}}, "leads out"),
        ({"command": ["t", "{prompt}"], "session_files": ["x"]}, "events: is required with session_files"),
        ({"command": ["t", "{prompt}"], "output": "jsonl", "events": {"tool": "a", "txt": "b"}}, "did you mean 'text'"),
    ],
)
def test_a_mistake_in_the_table_is_one_clear_error(table: dict[str, Any], complaint: str):
    """File, key and remedy, before anything runs."""
    with pytest.raises(BadInput, match=complaint) as caught:
        agent(**table)
    assert "demeanor.toml: agents.mine." in str(caught.value)


def test_success():
    """By exit code, by output, or unknown."""
    plain = agent(command=["t", "{prompt}"])
    assert plain.exit_ok(ProcessEnd(exit_code=0)) is True
    assert plain.exit_ok(ProcessEnd(exit_code=1)) is False
    assert plain.exit_ok(ProcessEnd(signal=9)) is False
    assert agent(command=["t", "{prompt}"], ignore_exit_code=True).exit_ok(ProcessEnd(exit_code=1)) is None
    says = agent(command=["t", "{prompt}"], stdout_contains="DONE")
    assert says.exit_ok(ProcessEnd(exit_code=0)) is False
    assert says.exit_ok(ProcessEnd(exit_code=0, stdout=Output(text="DONE"))) is True


def test_only_named_variables_of_the_host_are_passed(monkeypatch: pytest.MonkeyPatch):
    """`pass_env` is an allow-list."""
    monkeypatch.setenv("WANTED", "1")
    monkeypatch.setenv("SECRET", "2")
    (launch,) = agent(command=["t", "{prompt}"], pass_env=["WANTED", "ABSENT"]).orders(task("x")).launches
    assert launch.env == {"WANTED": "1"}


def test_a_missing_program_is_reported_with_a_remedy():
    """Before a trial starts."""
    missing = agent(command=["no-such-program-here", "{prompt}"]).missing()
    assert missing == "'no-such-program-here' is not on PATH; install it, or correct agents.mine.command"
    assert agent(command=["sh", "{prompt}"]).missing() is None


def test_a_path_without_a_program_says_what_is_wrong_with_it(tmp_path):
    """A file that is not there, or that can't be executed; also the script of an interpreter."""
    (tmp_path / "plain.sh").write_text("echo\n")

    def missing(*words: str) -> str:
        return str(agent(command=[*words, "{prompt}"]).missing()).partition(";")[0]

    assert missing(f"{tmp_path}/gone.sh") == f"{tmp_path}/gone.sh does not exist"
    assert missing(f"{tmp_path}/plain.sh") == f"{tmp_path}/plain.sh is not executable (chmod +x)"
    assert missing("sh", f"{tmp_path}/gone.sh") == f"{tmp_path}/gone.sh does not exist"
    assert agent(command=["sh", f"{tmp_path}/plain.sh", "{prompt}"]).missing() is None


@pytest.mark.parametrize(
    ("dialect", "url"),
    [
        ("openai-chat", "http://gate/v1"),
        ("openai-responses", "http://gate/v1"),
        ("anthropic", "http://gate"),
        ("gemini", "http://gate"),
    ],
)
def test_base_url_has_the_path_that_clients_of_the_dialect_expect(dialect: str, url: str):
    """`env` overrides it."""
    keys = {"command": ["t", "{prompt}"], "dialect": dialect, "base_url_env": ["A", "B"], "token_env": ["K"]}
    (launch,) = agent(**keys, env={"B": "{base_url}/else"}).orders(task("x")).launches
    assert launch.env == {"A": url, "B": "http://gate/else", "K": "t"}


def test_home_files():
    """With placeholders and literal braces."""
    orders = agent(command=["t", "{prompt}"], home_files={".t/c.json": '{{"model": "{model}"}}'}).orders(task("x"))
    assert orders.home_files == {".t/c.json": b'{"model": "m"}'}


def test_resume_command_is_used_from_the_second_prompt_on():
    """The first prompt uses `command`."""
    mine = agent(command=["t", "{prompt}"], resume_command=["t", "-c", "{prompt}"])
    assert [launch.argv for launch in mine.orders(task("a", "b", "c")).launches] == [
        ("t", "a"), ("t", "-c", "b"), ("t", "-c", "c"),
    ]  # fmt: skip


def test_a_relative_program_is_relative_to_the_configuration(tmp_path: Path):
    """`./agent` does not depend on the current folder, and it is readable in the sandbox."""
    (tmp_path / "agent").write_text("#!/bin/sh\n")
    (tmp_path / "agent").chmod(0o755)
    (tmp_path / "data").mkdir()
    table = Table({"command": ["./agent", "{prompt}"], "reads": ["data"]}, where=tmp_path / "demeanor.toml")
    mine = make_agent("mine", "command", table)
    assert mine.missing() is None
    (launch,) = mine.orders(task("x")).launches
    assert launch.argv[0] == str(tmp_path / "agent")
    assert {str(tmp_path / "agent"), str(tmp_path / "data")} <= set(launch.reads)
    assert str(tmp_path) not in launch.reads


def test_the_version_command_is_relative_to_the_configuration_too(tmp_path: Path):
    """And {project} is its folder."""
    for words in (["./agent", "--version"], ["{project}/agent", "--version"]):
        table = Table({"command": ["x", "{prompt}"], "version_command": words}, where=tmp_path / "demeanor.toml")
        program = tmp_path / "agent"
        program.write_text("#!/bin/sh\necho 1.2\n")
        program.chmod(0o755)
        assert make_agent("mine", "command", table).version() == "1.2"


PATHS = {
    "tool": "item.name",
    "arguments": "item.input",
    "id": ["item.id", "id"],
    "result": "item.output",
    "failed": "item.error",
    "text": ["message", "parts[0].text"],
    "thought": "thinking",
}


def read(*lines: str, left_out: int = 0, **paths: Any) -> tuple[Event, ...]:
    """The events in these lines."""
    mine = agent(command=["t", "{prompt}"], output="jsonl", events=paths or PATHS)
    text = "\n".join(lines)
    return mine.read_log((ProcessEnd(stdout=Output(text=text, left_out=left_out)),), {})


def test_events_are_found_by_their_paths():
    """A call and its result may be in one line or in two; other lines are skipped."""
    thought, first, second, said = read(
        "starting …",
        '{"thinking": "hm"}',
        '{"item": {"id": 1, "name": "write", "input": "{\\"path\\": \\"a\\"}"}}',
        '{"item": {"id": 1, "output": "ok"}}',
        '{"item": {"id": "2", "name": "bash", "input": {"command": "x"}, "output": {"code": 1}, "error": true}}',
        '{"type": "usage", "tokens": 3}',
        '{"parts": [{"text": "Done."}]}',
    )
    assert thought == Thought(turn=1, text="hm")
    assert isinstance(first, Called)
    assert (first.turn, first.tool, first.kind, first.arguments) == (1, "write", "edit", {"path": "a"})
    assert (first.result, first.succeeded, first.witness) == ("ok", True, "log")
    assert isinstance(second, Called)
    assert (second.turn, second.result, second.succeeded) == (2, '{"code": 1}', False)
    assert said == Said(turn=3, text="Done.")


def test_a_condition_selects_the_lines_of_a_field():
    """The user's messages have the same shape as the agent's; a status says whether a tool failed."""
    first, second, said = read(
        '{"type": "user", "text": "Hi."}',
        '{"type": "tool", "name": "ls", "out": "x", "status": "error"}',
        '{"type": "tool", "name": "ls", "out": "x", "status": "ok"}',
        '{"type": "assistant", "text": "Done."}',
        '{"type": "summary", "text": "A summary."}',
        tool={"path": "name", "when": {"type": "tool"}},
        result="out",
        failed={"when": {"status": ["error", "timeout"]}},
        text=[{"path": "text", "when": {"type": "assistant"}}],
    )
    assert isinstance(first, Called)
    assert isinstance(second, Called)
    assert (first.succeeded, second.succeeded) == (False, True)
    assert isinstance(said, Said)
    assert said.text == "Done."


def test_events_can_be_in_session_files():
    """Then the output is the final answer, and the files are collected from HOME."""
    mine = agent(command=["t", "{prompt}"], session_files=[".t/*.jsonl"], events={"tool": "t"})
    assert mine.orders(task("x")).leavings == (".t/*.jsonl",)
    end = ProcessEnd(stdout=Output(text='{"t": "not this"}'))
    (call,) = mine.read_log((end,), {".t/1.jsonl": b'{"t": "ls"}'})
    assert isinstance(call, Called)
    assert call.tool == "ls"


def test_events_need_no_ids():
    """A result then belongs to the call before it; success is unknown without a path for it."""
    (call,) = read('{"t": "ls"}', '{"r": "a.txt"}', tool="t", result="r")
    assert isinstance(call, Called)
    assert (call.tool, call.result, call.succeeded) == ("ls", "a.txt", None)


def test_truncated_output_is_an_error():
    """Events may be missing from it."""
    with pytest.raises(ValueError, match="truncated"):
        read('{"message": "x"}', left_out=9)


KEYS = st.sampled_from(["item", "id", "name", "input", "output", "error", "message", "parts", "text"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_no_line_crashes_the_reader(value: Any):
    """Any value at any path."""
    read(json.dumps({"item": value, "message": value, "id": value}))


def test_unsupported_scenarios_are_reported():
    """An eval that needs them is skipped with this reason."""
    mine = agent(command=["t", "{prompt}"])
    prior = PriorMessage(role="user", text="hi")
    assert "can't do this (messages)" in str(unable(mine, Scenario(prompts=("x",), messages=(prior,))))
    script = Approval(rules={"edit": ("allow", "deny")})
    assert "can't do this (deny)" in str(unable(mine, Scenario(prompts=("x",), approval=script)))
    assert unable(mine, Scenario(prompts=("x", "y"))) is None


def test_only_plain_text_can_be_its_last_message():
    """JSON lines are a log of events, so an empty answer stays empty."""
    events = agent(command=["tool", "{prompt}"], output="jsonl", events={"tool": "name"})
    assert (prints_events(events), prints_events(agent(command=["tool", "{prompt}"]))) == (True, False)
