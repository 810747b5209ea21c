"""Codex: how it is started, and how its log is read."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import given, settings

from demeanor.agents.recipes.codex import RECIPE
from demeanor.core.values.errors import BadInput
from demeanor.core.values.scenario import Answer, Approval
from demeanor.core.values.trajectory import Called, Concluded, Kind, Said
from tests.agents.helpers import (
    BASE_URL,
    PRIOR,
    broken_lines,
    each_value_replaced,
    end,
    home_json,
    option,
    orders,
    sample,
)

_ROLLOUT = ".codex/sessions/2026/11/16/rollout-2026-11-16T00-06-48-x.jsonl"
_BYPASS = "--dangerously-bypass-approvals-and-sandbox"


def test_it_asks_nothing_and_uses_the_gateway_only():
    """No permission prompts, no telemetry, no downloads."""
    found = orders(RECIPE)
    (launch,) = found.launches
    config = tomllib.loads(found.home_files[".codex/config.toml"].decode())
    provider = config["model_providers"][config["model_provider"]]
    assert launch.argv[-2:] == ("--", "Do it.")
    assert {"exec", "--json", _BYPASS} <= set(launch.argv)
    assert provider["base_url"] == f"{BASE_URL}/v1"
    assert launch.env[provider["env_key"]] == "demeanor-token"
    assert (provider["request_max_retries"], provider["stream_max_retries"]) == (2, 2)
    assert config["model"] == "large"
    assert not any((config["analytics"]["enabled"], config["feedback"]["enabled"], config["features"]["plugins"]))


def test_a_second_prompt_resumes_the_session():
    """The last session in HOME, which is the only one."""
    first, second = orders(RECIPE, "One.", "Two.").launches
    assert "resume" not in first.argv
    assert second.argv[-4:] == ("resume", "--last", "--", "Two.")


def test_prior_messages_are_a_session_file():
    """Codex finds it by its id."""
    found = orders(RECIPE, messages=PRIOR)
    session = option(found.launches[0], "resume")
    (content,) = (text for path, text in found.home_files.items() if path.endswith(f"{session}.jsonl"))
    info, *messages = (json.loads(line)["payload"] for line in content.decode().splitlines())
    assert info["cwd"] == "/bench/workspace"
    assert [(one["role"], one["content"][0]["type"]) for one in messages] == [
        ("user", "input_text"),
        ("assistant", "output_text"),
    ]


@pytest.mark.parametrize(
    ("rules", "refused"),
    [
        ({"edit": "deny"}, ["Bash", "apply_patch"]),
        ({"edit": "deny", "execute": "allow"}, ["apply_patch"]),
        ({"apply_patch": "deny", "exec_command": "allow"}, ["apply_patch"]),
        ({"execute": "deny"}, ["Bash"]),
    ],
)
def test_denying_edits_denies_the_shell_too(rules: dict[str, Answer], refused: list[str]):
    """Unless a rule allows commands."""
    assert _refused(orders(RECIPE, approval=Approval(rules=rules))) == refused


def test_hooks_use_their_own_tool_names():
    """Hooks call the shell Bash; the model calls it exec_command."""
    found = orders(RECIPE, approval=Approval(rules={"execute": "deny"}))
    assert {_BYPASS, "--dangerously-bypass-hook-trust"} <= set(found.launches[0].argv)
    assert _refused(found) == ["Bash"]


def _refused(found: object) -> list[str]:
    (hook,) = home_json(found, ".codex/hooks.json")["hooks"]["PreToolUse"]  # type: ignore[arg-type]
    return [name for name in ("Bash", "apply_patch", "view_image") if re.search(hook["matcher"], name)]


def test_settings_are_merged():
    """The configuration overrides the adapter, the eval overrides both."""
    given = {
        "settings": {"model_reasoning_effort": "low", "features": {"plugins": True}, "notify": ["a", {"b": 1.5}]},
        "params": {"settings": {"model_reasoning_effort": "high"}, "append_system_prompt": 'Say "é".\x7f\n'},
    }
    config = tomllib.loads(orders(RECIPE, **given).home_files[".codex/config.toml"].decode())
    assert config["model_reasoning_effort"] == "high"
    assert (config["features"]["plugins"], config["features"]["apps"]) == (True, False)
    assert config["notify"] == ["a", {"b": 1.5}]
    assert config["developer_instructions"] == 'Say "é".\x7f\n'


def test_settings_of_an_eval_must_be_a_table():
    """The message names the key."""
    with pytest.raises(BadInput, match=r"params\.settings: expected a table"):
        orders(RECIPE, params={"settings": "model=x"})


def test_its_session_file_is_read():
    """Calls have the ids and arguments of the model API, and the outcome of their commands."""
    events = RECIPE.read_log((), {_ROLLOUT: sample("codex.jsonl").encode()})
    calls = [event for event in events if isinstance(event, Called)]
    assert [(call.turn, call.id, call.tool, call.kind) for call in calls] == [
        (1, "call_1", "exec_command", Kind.EXECUTE),
        (3, "call_2", "exec_command", Kind.EXECUTE),
    ]
    assert all(
        call.succeeded and call.arguments["cmd"] and "exited with code 0" in (call.result or "") for call in calls
    )
    assert calls[0].seconds == pytest.approx(5.1e-6, rel=0.1)
    assert [event.text for event in events if isinstance(event, Said)] == [
        "First done: the word is plover.",
        "Second done.",
    ]


def test_prior_messages_are_not_events():
    """Lines before the first turn are not part of this trial."""
    ours = orders(RECIPE, messages=PRIOR).home_files
    (prior,) = (content for path, content in ours.items() if "rollout" in path)
    assert RECIPE.read_log((), {_ROLLOUT: prior}) == ()
    assert len(RECIPE.read_log((), {_ROLLOUT: prior + sample("codex.jsonl").encode()})) == 4


def test_a_refused_call_did_not_succeed():
    """The session file says so only in the text of the result."""
    call = {"call_id": "c", "name": "apply_patch"}
    refusal = "Command blocked by PreToolUse hook: no"
    lines = [
        ("turn_context", {}),
        ("response_item", {"type": "custom_tool_call", **call}),
        ("response_item", {"type": "custom_tool_call_output", **call, "output": refusal}),
    ]
    content = "\n".join(json.dumps({"type": kind, "payload": payload}) for kind, payload in lines)
    (found,) = RECIPE.read_log((), {_ROLLOUT: content.encode()})
    assert isinstance(found, Called)
    assert (found.succeeded, found.kind) == (False, Kind.EDIT)


@settings(max_examples=30)
@given(broken_lines(sample("codex.jsonl")))
def test_a_broken_session_file_does_not_crash_the_reader(text: str):
    """Random changes of real lines."""
    turn = '{"type": "turn_context", "payload": {}}\n'
    RECIPE.read_log((end(text),), {_ROLLOUT: (turn + text).encode("utf-8", "surrogatepass")})


def test_no_value_crashes_the_reader():
    """Each value of real lines, replaced one at a time."""
    for text in each_value_replaced(sample("codex.jsonl")):
        RECIPE.read_log((), {_ROLLOUT: text.encode()})


def test_a_tool_in_a_namespace_has_the_name_that_it_has_on_the_wire():
    """So that the call in the log and the exchange are the same call."""
    call = {
        "type": "function_call",
        "name": "spawn_agent",
        "namespace": "multi_agent_v1",
        "call_id": "c",
        "arguments": "{}",
    }
    rows = [{"type": "turn_context", "payload": {}}, {"type": "response_item", "payload": call}]
    log = "\n".join(json.dumps(row) for row in rows).encode()
    (event,) = RECIPE.read_log((), {"sessions/rollout-1.jsonl": log})
    assert isinstance(event, Called)
    assert event.tool == "multi_agent_v1__spawn_agent"


def test_a_sub_agents_session_file_is_not_the_agents():
    """Its calls are its own; the agent's result is the one that its own session names."""

    def session(source: object, text: str, name: str) -> bytes:
        rows = [
            ("session_meta", {"id": name, "source": source}),
            ("turn_context", {}),
            ("response_item", {"type": "function_call", "name": "exec_command", "call_id": "c1", "arguments": "{}"}),
            ("response_item", {"type": "function_call_output", "call_id": "c1", "output": text}),
            (
                "response_item",
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
            ),
            ("event_msg", {"type": "task_complete", "last_agent_message": text}),
        ]
        return "\n".join(json.dumps({"type": kind, "payload": payload}) for kind, payload in rows).encode()

    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "t"}}}
    leavings = {"rollout-1.jsonl": session("exec", "Done.", "t"), "rollout-2.jsonl": session(spawned, "Report.", "u")}
    events = RECIPE.read_log((), leavings)
    assert [(event.type, getattr(event, "sub_agent", 0), event.turn) for event in events] == [
        ("called", 0, 1),
        ("said", 0, 2),
        ("called", 1, 2),
        ("aside", 1, 2),
        ("concluded", 0, 2),
    ]
    assert [event.text for event in events if isinstance(event, Concluded)] == ["Done."]
