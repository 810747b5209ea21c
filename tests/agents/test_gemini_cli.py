"""Gemini CLI, as far as it can be tested without the program."""

from __future__ import annotations

import tomllib

from hypothesis import given, settings

from demeanor.agents.gemini_cli import RECIPE
from demeanor.core.trajectory import Called, Kind, Said
from tests.agents.lab import EARLIER, NO_EDITS, home_json, hostile, option, orders, printed, sample, spoiled


def test_it_works_alone_and_talks_to_the_gateway_only():
    """No question is asked, nothing is reported; the model is named, since it would choose one by asking another."""
    found = orders(RECIPE, "--version")
    (launch,) = found.launches
    settings = home_json(found, ".gemini/settings.json")
    assert launch.argv[-1] == "--prompt=--version"
    assert option(launch, "--approval-mode") == "yolo"
    assert option(launch, "--output-format") == "stream-json"
    assert option(launch, "--model") == "large"
    assert launch.env["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:4711/t/0123456789abcdef"
    assert launch.env["GEMINI_CLI_NO_RELAUNCH"] == "true"
    assert settings["privacy"]["usageStatisticsEnabled"] is settings["general"]["enableAutoUpdate"] is False
    assert settings["general"]["maxAttempts"] == 3


def test_a_second_prompt_resumes_the_session():
    """The latest one of its HOME, which has no other."""
    first, second = orders(RECIPE, "One.", "Two.").launches
    assert option(first, "--session-id") is not None
    assert option(second, "--resume") == "latest"


def test_an_earlier_conversation_is_a_session_to_begin_with():
    """The agent reads it from a file that it is told."""
    found = orders(RECIPE, messages=EARLIER)
    assert option(found.launches[0], "--session-file") == "/bench/home/.gemini/earlier.json"
    assert option(found.launches[0], "--session-id") is None
    said = home_json(found, ".gemini/earlier.json")["messages"]
    assert [(one["type"], one["content"]) for one in said] == [("user", "I like zebras."), ("gemini", "I like gnus.")]


def test_what_is_denied_is_refused_and_not_hidden():
    """A rule that looks at arguments leaves the tool on offer."""
    policy = orders(RECIPE, approval=NO_EDITS).home_files[".gemini/policies/approval.toml"]
    (rule,) = tomllib.loads(policy.decode())["rule"]
    assert rule["toolName"] == ["replace", "write_file"]
    assert (rule["decision"], rule["argsPattern"]) == ("deny", ".*")


def test_settings_are_laid_over_settings():
    """The configuration's over the adapter's, an eval's over both."""
    given = {"settings": {"general": {"maxAttempts": 9}}, "params": {"settings": {"ui": {"x": 1}}}}
    settings = home_json(orders(RECIPE, **given), ".gemini/settings.json")
    assert (settings["general"]["maxAttempts"], settings["ui"]) == (9, {"x": 1})
    assert settings["general"]["enableAutoUpdate"] is False


def test_what_it_prints_is_understood():
    """It puts a tool's name before the id that the model gave to a call."""
    events = RECIPE.read_log(printed(sample("gemini_cli")), {})
    calls = [event for event in events if isinstance(event, Called)]
    assert [(call.turn, call.id, call.tool, call.kind, call.succeeded) for call in calls] == [
        (1, "call_1", "read_file", Kind.READ, False),
        (2, "call_2", "write_file", Kind.EDIT, True),
        (4, "call_1", "write_file", Kind.EDIT, True),
    ]
    said = [(event.turn, event.text) for event in events if isinstance(event, Said)]
    assert said == [(3, "Went on."), (4, "I write it."), (5, "Thought and done.")]


def test_pieces_of_an_answer_are_one_saying():
    """They are printed as they come."""
    pieces = "\n".join(f'{{"type": "message", "role": "assistant", "content": "{word}"}}' for word in ("Hel", "lo."))
    assert RECIPE.read_log(printed(pieces), {}) == (Said(turn=1, text="Hello."),)


@settings(max_examples=30, deadline=None)
@given(hostile("gemini_cli"))
def test_hostile_output_is_read_or_refused(text: str):
    """Whatever it prints, the reader does not fall over."""
    RECIPE.read_log(printed(text), {})


def test_any_value_may_be_anything():
    """Each value of real lines in its turn."""
    for text in spoiled("gemini_cli"):
        RECIPE.read_log(printed(text), {})
