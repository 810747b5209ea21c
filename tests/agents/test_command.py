"""Any program as an agent, by configuration alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.agents import make_agent
from holdfast.core.agent import Agent, Task
from holdfast.core.errors import BadInput
from holdfast.core.process import Output, ProcessEnd
from holdfast.core.table import Table


def agent(**table: Any) -> Agent:
    """The agent of a table in the configuration."""
    return make_agent("mine", "command", Table(table, where="holdfast.toml", prefix="agents.mine."))


def task(*prompts: str) -> Task:
    """A task with everything that a place can stand for."""
    paths = {"workspace": Path("/w"), "home": Path("/h")}
    return Task(prompts=prompts, model="m", base_url="http://gate", token="t", seed=7, **paths)


def test_places_are_filled_and_prompts_arrive_verbatim():
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


def test_several_prompts_are_several_starts():
    """One after the other, in the same workspace."""
    assert len(agent(command=["tool", "{prompt}"]).orders(task("a", "b")).launches) == 2


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({"command": ["tool"]}, "the prompt reaches the agent nowhere"),
        ({"command": ["tool", "{promt}"]}, r"did you mean \{prompt\}"),
        ({"command": ["tool", "{prompt}", "{base_url}"]}, "agents.mine.dialect: is required"),
        ({"command": "tool {prompt}"}, "expected a list"),
        ({}, "agents.mine.command: is required"),
        ({"command": ["t", "{prompt}"], "exit_code": [0]}, "did you mean 'exit_codes'"),
        ({"command": ["t", "{prompt}"], "exit_codes": ["0"]}, "expected a list of whole numbers"),
        ({"command": ["t", "{prompt}"], "tool_kinds": {"x": "edits"}}, "unknown kind 'edits'"),
    ],
)
def test_a_mistake_in_the_table_is_one_clear_error(table: dict[str, Any], complaint: str):
    """File, key and remedy, before anything runs."""
    with pytest.raises(BadInput, match=complaint) as caught:
        agent(**table)
    assert "holdfast.toml: agents.mine." in str(caught.value)


def test_how_success_is_known():
    """By exit code, by output, or not at all."""
    plain = agent(command=["t", "{prompt}"])
    assert plain.exit_ok(ProcessEnd(exit_code=0)) is True
    assert plain.exit_ok(ProcessEnd(exit_code=1)) is False
    assert plain.exit_ok(ProcessEnd(signal=9)) is False
    assert agent(command=["t", "{prompt}"], ignore_exit_code=True).exit_ok(ProcessEnd(exit_code=1)) is None
    says = agent(command=["t", "{prompt}"], stdout_contains="DONE")
    assert says.exit_ok(ProcessEnd(exit_code=0)) is False
    assert says.exit_ok(ProcessEnd(exit_code=0, stdout=Output(text="DONE"))) is True


def test_only_named_variables_of_the_host_are_passed(monkeypatch: pytest.MonkeyPatch):
    """An allow-list, not a leak."""
    monkeypatch.setenv("WANTED", "1")
    monkeypatch.setenv("SECRET", "2")
    (launch,) = agent(command=["t", "{prompt}"], pass_env=["WANTED", "ABSENT"]).orders(task("x")).launches
    assert launch.env == {"WANTED": "1"}


def test_a_program_that_is_not_there_is_told_with_the_remedy():
    """Before a trial is wasted on it."""
    missing = agent(command=["no-such-program-here", "{prompt}"]).missing()
    assert missing == "'no-such-program-here' is not on PATH; install it, or correct agents.mine.command"
    assert agent(command=["sh", "{prompt}"]).missing() is None
