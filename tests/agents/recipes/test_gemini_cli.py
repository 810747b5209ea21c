"""Gemini CLI: how it is started, and how its log is read."""

from __future__ import annotations

import tomllib

from hypothesis import given, settings

from demeanor.agents.recipes.gemini_cli import RECIPE
from demeanor.core.values.trajectory import Called, Kind, Said
from tests.agents.helpers import (
    BASE_URL,
    NO_EDITS,
    PRIOR,
    broken_lines,
    each_value_replaced,
    end,
    home_json,
    option,
    orders,
    sample,
)


def test_it_asks_nothing_and_uses_the_gateway_only():
    """No permission prompts and no telemetry. The model is explicit, because it would ask another model to choose."""
    found = orders(RECIPE, "--version")
    (launch,) = found.launches
    settings = home_json(found, ".gemini/settings.json")
    assert launch.argv[-1] == "--prompt=--version"
    assert option(launch, "--approval-mode") == "yolo"
    assert option(launch, "--output-format") == "stream-json"
    assert option(launch, "--model") == "large"
    assert launch.env["GOOGLE_GEMINI_BASE_URL"] == BASE_URL
    assert launch.env["GEMINI_CLI_NO_RELAUNCH"] == "true"
    assert settings["privacy"]["usageStatisticsEnabled"] is settings["general"]["enableAutoUpdate"] is False
    assert settings["general"]["maxAttempts"] == 3


def test_a_second_prompt_resumes_the_session():
    """The latest session in HOME, which is the only one."""
    first, second = orders(RECIPE, "One.", "Two.").launches
    assert option(first, "--session-id") is not None
    assert option(second, "--resume") == "latest"


def test_prior_messages_are_a_session_file():
    """The first launch names it."""
    found = orders(RECIPE, messages=PRIOR)
    assert option(found.launches[0], "--session-file") == "/bench/home/.gemini/earlier.json"
    assert option(found.launches[0], "--session-id") is None
    messages = home_json(found, ".gemini/earlier.json")["messages"]
    assert [(one["type"], one["content"]) for one in messages] == [("user", "My name is Zebra."), ("gemini", "Hello.")]


def test_denied_tools_are_refused_and_not_hidden():
    """A rule with `argsPattern` keeps the tool visible to the model."""
    policy = orders(RECIPE, approval=NO_EDITS).home_files[".gemini/policies/approval.toml"]
    (rule,) = tomllib.loads(policy.decode())["rule"]
    assert rule["toolName"] == ["replace", "write_file"]
    assert (rule["decision"], rule["argsPattern"]) == ("deny", ".*")


def test_settings_are_merged():
    """The configuration overrides the adapter, the eval overrides both."""
    given = {"settings": {"general": {"maxAttempts": 9}}, "params": {"settings": {"ui": {"x": 1}}}}
    settings = home_json(orders(RECIPE, **given), ".gemini/settings.json")
    assert (settings["general"]["maxAttempts"], settings["ui"]) == (9, {"x": 1})
    assert settings["general"]["enableAutoUpdate"] is False


def test_its_output_is_read():
    """It prefixes the model's call id with the tool's name."""
    events = RECIPE.read_log((end(sample("gemini_cli.jsonl")),), {})
    calls = [event for event in events if isinstance(event, Called)]
    assert [(call.turn, call.id, call.tool, call.kind, call.succeeded) for call in calls] == [
        (1, "call_1", "read_file", Kind.READ, False),
        (2, "call_2", "write_file", Kind.EDIT, True),
        (4, "call_1", "write_file", Kind.EDIT, True),
    ]
    said = [(event.turn, event.text) for event in events if isinstance(event, Said)]
    assert said == [(3, "Went on."), (4, "I write it."), (5, "Thought and done.")]


def test_pieces_of_a_text_are_joined():
    """They are end as they come."""
    pieces = "\n".join(f'{{"type": "message", "role": "assistant", "content": "{word}"}}' for word in ("Hel", "lo."))
    assert RECIPE.read_log((end(pieces),), {}) == (Said(turn=1, text="Hello."),)


@settings(max_examples=30)
@given(broken_lines(sample("gemini_cli.jsonl")))
def test_broken_output_does_not_crash_the_reader(text: str):
    """Random changes of real lines."""
    RECIPE.read_log((end(text),), {})


def test_no_value_crashes_the_reader():
    """Each value of real lines, replaced one at a time."""
    for text in each_value_replaced(sample("gemini_cli.jsonl")):
        RECIPE.read_log((end(text),), {})
