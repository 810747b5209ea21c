"""The client as a separate process, with a real agent that speaks the protocol."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from demeanor.agents.registry import make_agent
from demeanor.config.table import Table
from demeanor.core.values.agent import Task
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.scenario import Approval
from demeanor.core.values.trajectory import Asked, Called, Event, ModelFailed, Said, Thought

AGENT = str(Path(__file__).with_name("agent.py"))


@dataclass
class Session:
    """The result of a session."""

    code: int
    events: tuple[Event, ...]
    errors: str

    @property
    def said(self) -> list[str]:
        """The texts of the agent."""
        return [event.text for event in self.events if isinstance(event, Said)]


class Client:
    """Starts the client as the adapter does."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.home = folder / "work", folder / "home"
        self.workspace.mkdir()
        self.home.mkdir()

    def start(self, *prompts: list[Any], approval: Approval | None = None, **table: Any) -> subprocess.Popen[str]:
        """Start the client; each prompt is a list of steps for the agent."""
        keys = {"command": [sys.executable, AGENT], **table}
        agent = make_agent("mine", "acp", Table(keys, where="demeanor.toml", prefix="agents.mine."))
        task = Task(
            prompts=tuple(map(json.dumps, prompts)), model="m", workspace=self.workspace, home=self.home,
            base_url="", token="", seed=0, approval=approval or Approval(),
        )  # fmt: skip
        self.agent = agent
        orders = agent.orders(task)
        for path, content in orders.home_files.items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_bytes(content)
        (launch,) = orders.launches
        env = {"PATH": os.environ["PATH"], **launch.env}
        return subprocess.Popen(
            launch.argv, env=env, cwd=self.workspace, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *prompts: list[Any], **more: Any) -> Session:
        """Run the client until it exits."""
        process = self.start(*prompts, **more)
        out, errors = process.communicate(timeout=300)
        end = ProcessEnd(exit_code=process.returncode, stdout=Output(text=out, total_bytes=len(out)))
        return Session(process.returncode, self.agent.read_log((end,), {}), errors)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """A client with its own workspace."""
    return Client(tmp_path)


def test_updates_become_events(client: Client):
    """Chunks are joined; a call has its name, kind, arguments, result and success."""
    steps = [["think", "hm"], ["plan", "look", "leap"], ["call", "grep", "search", {"q": "x"}, "found"],
             ["say", "do"], ["say", "ne"]]  # fmt: skip
    thought, plan, called, said = client.run(steps).events
    assert isinstance(thought, Thought)
    assert thought.text == "hm"
    assert isinstance(plan, Thought)
    assert plan.text == "Plan:\n- look\n- leap"
    assert isinstance(called, Called)
    assert (called.tool, called.kind, called.arguments) == ("grep", "search", {"q": "x"})
    assert (called.result, called.succeeded, called.permission) == ("found", True, "unasked")
    assert said == Said(turn=2, text="done")


def test_permission_is_given_once(client: Client):
    """Never `allow_always`: the next request must come too."""
    asked, called = client.run([["write", "a.txt", "hi"]]).events
    assert isinstance(asked, Asked)
    assert (asked.tool, asked.kind, asked.answer) == ("write_file", "edit", "allow")
    assert asked.arguments == {"path": "a.txt", "content": "hi"}
    assert isinstance(called, Called)
    assert (called.id, called.permission, called.succeeded) == (asked.id, "allow", True)
    assert (client.workspace / "a.txt").read_text() == "hi"


@pytest.mark.parametrize("rules", [{"write_file": "deny"}, {"edit": "deny"}])
def test_permission_is_denied_by_name_or_by_kind(client: Client, rules: Mapping[str, Any]):
    """The agent gets a rejection and does not write the file."""
    session = client.run([["write", "a.txt", "hi"]], approval=Approval(rules=rules))
    asked, called = session.events
    assert isinstance(asked, Asked)
    assert asked.answer == "deny"
    assert isinstance(called, Called)
    assert (called.permission, called.succeeded) == ("deny", False)
    assert "o-reject_once" in str(called.result)
    assert not (client.workspace / "a.txt").exists()


@pytest.mark.parametrize(("before", "after"), [("edit", ""), ("other", "edit")])
def test_a_kind_that_the_request_leaves_out_is_taken_from_other_updates(client: Client, before: str, after: str):
    """The call told it before, or tells it while the request waits."""
    asked, called = client.run([["late", "a.txt", before, after]], approval=Approval(rules={"edit": "deny"})).events
    assert isinstance(asked, Asked)
    assert (asked.tool, asked.kind, asked.answer) == ("scribe", "edit", "deny")
    assert isinstance(called, Called)
    assert called.permission == "deny"
    assert not (client.workspace / "a.txt").exists()


@pytest.mark.parametrize("answer", ["deny", "allow"])
def test_a_kind_that_is_never_told_is_other(client: Client, answer: str):
    """The rule for `other` applies, whatever the call turns out to be."""
    rules = {"edit": "allow" if answer == "deny" else "deny", "other": answer}
    asked, called = client.run([["late", "a.txt", "other", ""]], approval=Approval(rules=rules)).events
    assert isinstance(asked, Asked)
    assert (asked.kind, asked.answer) == ("other", answer)
    assert isinstance(called, Called)
    assert called.kind == "edit"
    assert (client.workspace / "a.txt").exists() is (answer == "allow")


def test_a_script_of_answers_is_followed_over_several_prompts(client: Client):
    """First deny, then allow, which is repeated; each rule has its own script."""
    steps = [["write", "a.txt", "1"], ["write", "b.txt", "2"]]
    approval = Approval(default="deny", rules={"edit": ("deny", "allow")})
    session = client.run(steps, [["write", "c.txt", "3"], ["write", "d.txt", "4", "rm", "delete"]], approval=approval)
    assert [event.answer for event in session.events if isinstance(event, Asked)] == ["deny", "allow", "allow", "deny"]
    assert sorted(path.name for path in client.workspace.iterdir()) == ["b.txt", "c.txt"]


def test_an_answer_that_is_not_offered_is_a_denial(client: Client):
    """The client answers `cancelled` and reports a denial."""
    asked, called = client.run([["write", "a.txt", "hi", "write_file", "edit", ["reject_always"]]]).events
    assert isinstance(asked, Asked)
    assert asked.answer == "deny"
    assert isinstance(called, Called)
    assert '"cancelled"' in str(called.result)


def test_only_files_inside_the_workspace_are_served(client: Client, tmp_path: Path):
    """Not through `..`, an absolute path or a link, for reading or writing; a FIFO does not block the client."""
    (tmp_path / "secret").write_text("secret")
    (client.workspace / "a.txt").write_text("one\ntwo\nthree\n")
    (client.workspace / "way-out").symlink_to(tmp_path)
    (client.workspace / "link").symlink_to(tmp_path / "secret")
    (client.workspace / "binary").write_bytes(b"\xff")
    os.mkfifo(client.workspace / "pipe")
    inside = str(client.workspace)
    outside = ["../secret", str(tmp_path / "secret"), f"{inside}/way-out/secret", "link", ".", "", "a\0b", 3]
    steps = [["read", f"{inside}/a.txt"], ["put", f"{inside}/new/b.txt", "b"], ["read", "absent"], ["read", "binary"],
             ["read", "pipe"]]  # fmt: skip
    steps += [["read", path] for path in outside] + [["put", path, "x"] for path in outside]
    session = client.run(steps, files=True)
    assert session.code == 0, session.errors
    answers = [json.loads(text) for text in session.said]
    assert answers[:2] == ["one\ntwo\nthree\n", "put"]
    assert [error["code"] for error in answers[2:5]] == [-32002, -32603, -32603]
    assert [error["code"] for error in answers[5:]] == [-32602] * 2 * len(outside)
    assert (client.workspace / "new/b.txt").read_text() == "b"
    assert (tmp_path / "secret").read_text() == "secret"


def test_file_requests_are_refused_without_files_true(client: Client):
    """And so is every unknown request."""
    session = client.run([["unknown", "fs/read_text_file"], ["say", " "], ["unknown", "terminal/create"]])
    assert session.said == ["-32601 -32601"]


def test_invalid_and_huge_lines_are_skipped(client: Client):
    """They are reported on stderr, and the session continues."""
    steps = [["raw", "warning: hm\n"], ["raw", "[1]\n"], ["raw", "[" * 100_000 + "\n"], ["raw", "\n"],
             ["raw", "x" * 2**20, 40], ["raw", "\n"], ["say", "still here \ud800 \u2028"]]  # fmt: skip
    session = client.run(steps)
    assert session.said == ["still here ? \u2028"]
    assert "not a message of the protocol: warning: hm" in session.errors
    assert "more than" in session.errors


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([["say", "hi"], ["exit", 7]], "the agent exited (exit code 7) before it answered session/prompt"),
        ([["say", "hi"], ["error", "no model"]], "session/prompt with an error: -32603: no model ({'why': 'because'})"),
        ([["say", "hi"], ["stop", "max_tokens"]], "the agent ended its turn with 'max_tokens'"),
        ([["say", "hi"], ["stop", "cancelled"]], "the agent ended its turn with 'cancelled'"),
    ],
)
def test_an_unfinished_turn_is_a_failure(client: Client, steps: list[Any], message: str):
    """Earlier events are kept; the next prompt is not sent."""
    session = client.run(steps, [["say", "never"]])
    assert session.code == 1
    assert message in session.errors
    assert session.said == ["hi"]
    assert client.agent.exit_ok(ProcessEnd(exit_code=1)) is False
    assert client.agent.exit_ok(ProcessEnd(exit_code=0)) is None


def test_a_refusal_is_an_event_and_not_a_failure_of_the_program(client: Client):
    """A refusal may be the right choice; the checks decide."""
    session = client.run([["say", "no"], ["stop", "refusal"]])
    assert session.code == 0
    assert isinstance(session.events[-1], ModelFailed)
    assert session.events[-1].reason == "refusal"


def test_a_turn_that_is_cancelled_after_a_denial_is_finished(client: Client):
    """Some agents end the turn when the user denies a request."""
    steps = [["write", "a.txt", "x"], ["stop", "cancelled"]]
    assert client.run(steps, [["say", "on"]], approval=Approval(default="deny")).said == ["on"]


def test_events_so_far_are_kept_when_the_client_is_terminated(client: Client):
    """The sandbox sends SIGTERM at the deadline; an open call is reported without a result."""
    process = client.start([["call", "ls", "search", {}, "a"], ["begin", "shell"], ["sleep", 600]])
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=300)
    assert json.loads(first)["tool"] == "ls"
    assert process.returncode == 143
    if rest:  # the second call may not have arrived yet
        assert json.loads(rest)["succeeded"] is None


def test_another_version_of_the_protocol_is_refused(client: Client):
    """Before the first prompt."""
    session = client.run([["say", "hi"]], command=[sys.executable, AGENT, "2"])
    assert session.code == 1
    assert "speaks version 2 of the protocol" in session.errors


def test_a_server_over_http_needs_an_agent_that_can_connect_to_it(client: Client):
    """The agent announces it; otherwise the client says so before the first prompt."""
    servers = {"words": "http://127.0.0.1:1/mcp"}
    session = client.run([["servers"]], mcp_servers=servers, command=[sys.executable, AGENT, "1", "http"])
    assert session.said == ['[{"name": "words", "type": "http", "url": "http://127.0.0.1:1/mcp", "headers": []}]']
    session = client.run([["servers"]], mcp_servers=servers)
    assert session.code == 1
    assert "words: the agent can't connect to MCP servers over HTTP" in session.errors
    session = client.run([["servers"]], mcp_servers={"words": ["python3", "words.py"]})
    assert session.said == ['[{"name": "words", "command": "python3", "args": ["words.py"], "env": []}]']


def test_replayed_messages_of_a_loaded_session_are_not_events(client: Client):
    """Only messages after the prompt count."""
    session = client.run([["say", "now"]], session="s1")
    assert session.said == ["now"]


def test_a_mode_or_model_that_can_not_be_set_is_an_error(client: Client):
    """The agent must not run with another model without notice."""
    assert client.run([["say", "hi"]], mode="careful").code == 0
    failed = client.run([["say", "hi"]], session_model="{model}")
    assert failed.code == 1
    assert "the agent has no way to set the model, so 'm' can't be used" in failed.errors


def test_the_agent_does_not_inherit_the_clients_python_path(client: Client, tmp_path: Path):
    """A Python agent must not import Demeanor by accident; PYTHONPATH of the configuration is passed on."""
    script = tmp_path / "show.py"
    script.write_text("import os, sys\nsys.stderr.write(repr(os.environ.get('PYTHONPATH')) + os.environ['X'])\n")
    table = {"command": [sys.executable, str(script)], "env": {"X": "{model}"}}
    assert "None" + "m" in client.run([], **table).errors
    assert "'/p'm" in client.run([], **{**table, "env": {"X": "m", "PYTHONPATH": "/p"}}).errors


def test_a_program_that_can_not_be_started_is_an_error(client: Client, tmp_path: Path):
    """With its name and the reason."""
    session = client.run([], command=[str(tmp_path / "absent")])
    assert session.code == 1
    assert "absent: No such file" in session.errors
