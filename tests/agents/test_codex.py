"""Codex, as far as it can be tested without the program."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import given, settings

from demeanor.agents.codex import RECIPE
from demeanor.core.scenario import Answer, Approval
from demeanor.core.trajectory import Called, Kind, Said
from tests.agents.lab import EARLIER, home_json, hostile, option, orders, printed, sample, spoiled

_ROLLOUT = ".codex/sessions/2026/11/16/rollout-2026-11-16T00-06-48-x.jsonl"
_BYPASS = "--dangerously-bypass-approvals-and-sandbox"


def test_it_works_alone_and_talks_to_the_gateway_only():
    """No question is asked, nothing is reported or fetched."""
    found = orders(RECIPE)
    (launch,) = found.launches
    config = tomllib.loads(found.home_files[".codex/config.toml"].decode())
    provider = config["model_providers"][config["model_provider"]]
    assert launch.argv[-2:] == ("--", "Do it.")
    assert {"exec", "--json", _BYPASS} <= set(launch.argv)
    assert provider["base_url"] == "http://127.0.0.1:4711/t/0123456789abcdef/v1"
    assert launch.env[provider["env_key"]] == "hf-token"
    assert (provider["request_max_retries"], provider["stream_max_retries"]) == (2, 2)
    assert config["model"] == "large"
    assert not any((config["analytics"]["enabled"], config["feedback"]["enabled"], config["features"]["plugins"]))


def test_a_second_prompt_resumes_the_session():
    """The last one of its HOME, which has no other."""
    first, second = orders(RECIPE, "One.", "Two.").launches
    assert "resume" not in first.argv
    assert second.argv[-4:] == ("resume", "--last", "--", "Two.")


def test_an_earlier_conversation_is_a_session():
    """Its file is found by its id."""
    found = orders(RECIPE, messages=EARLIER)
    session = option(found.launches[0], "resume")
    (content,) = (text for path, text in found.home_files.items() if path.endswith(f"{session}.jsonl"))
    about, *said = (json.loads(line)["payload"] for line in content.decode().splitlines())
    assert about["cwd"] == "/bench/workspace"
    assert [(one["role"], one["content"][0]["type"]) for one in said] == [
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
def test_a_shell_is_no_way_around_a_forbidden_edit(rules: dict[str, Answer], refused: list[str]):
    """Unless a rule says that commands may be run."""
    assert _refused(orders(RECIPE, approval=Approval(rules=rules))) == refused


def test_commands_are_refused_under_the_name_that_hooks_know():
    """Hooks call it Bash, whatever the model calls it."""
    found = orders(RECIPE, approval=Approval(rules={"execute": "deny"}))
    assert {_BYPASS, "--dangerously-bypass-hook-trust"} <= set(found.launches[0].argv)
    assert _refused(found) == ["Bash"]


def _refused(found: object) -> list[str]:
    (hook,) = home_json(found, ".codex/hooks.json")["hooks"]["PreToolUse"]  # type: ignore[arg-type]
    return [name for name in ("Bash", "apply_patch", "view_image") if re.search(hook["matcher"], name)]


def test_settings_are_laid_over_settings():
    """The configuration's over the adapter's, an eval's over both."""
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
    with pytest.raises(ValueError, match=r"params\.settings must be a table"):
        orders(RECIPE, params={"settings": "model=x"})


def test_what_it_keeps_is_understood():
    """Calls with the ids and arguments of the wire, and how their commands ended."""
    events = RECIPE.read_log((), {_ROLLOUT: sample("codex").encode()})
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


def test_an_earlier_conversation_is_not_told_again():
    """What stands before the first turn was never said in this trial."""
    ours = orders(RECIPE, messages=EARLIER).home_files
    (earlier,) = (content for path, content in ours.items() if "rollout" in path)
    assert RECIPE.read_log((), {_ROLLOUT: earlier}) == ()
    assert len(RECIPE.read_log((), {_ROLLOUT: earlier + sample("codex").encode()})) == 4


def test_a_refused_call_did_not_succeed():
    """The model is told so in words only."""
    call = {"call_id": "c", "name": "apply_patch"}
    refusal = "Command blocked by PreToolUse hook: no"
    told = [
        ("turn_context", {}),
        ("response_item", {"type": "custom_tool_call", **call}),
        ("response_item", {"type": "custom_tool_call_output", **call, "output": refusal}),
    ]
    content = "\n".join(json.dumps({"type": kind, "payload": payload}) for kind, payload in told)
    (found,) = RECIPE.read_log((), {_ROLLOUT: content.encode()})
    assert isinstance(found, Called)
    assert (found.succeeded, found.kind) == (False, Kind.EDIT)


@settings(max_examples=30, deadline=None)
@given(hostile("codex"))
def test_hostile_files_are_read_or_refused(text: str):
    """Whatever it keeps, the reader does not fall over."""
    begun = '{"type": "turn_context", "payload": {}}\n'
    RECIPE.read_log(printed(text), {_ROLLOUT: (begun + text).encode("utf-8", "surrogatepass")})


def test_any_value_may_be_anything():
    """Each value of real lines in its turn."""
    for text in spoiled("codex"):
        RECIPE.read_log((), {_ROLLOUT: text.encode()})
