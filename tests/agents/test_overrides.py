"""What the configuration and an eval set for every agent."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.agents.registry import CODING_AGENTS, adapter
from demeanor.core.values.agent import tool_kinds
from demeanor.core.values.errors import BadInput
from demeanor.core.values.scenario import Approval, Scenario
from demeanor.core.values.trajectory import Kind
from tests.agents.helpers import agent, option, task

TABLE: dict[str, Any] = {
    "args": ["--in={workspace}"],
    "env": {"A": "{workspace}", "B": "1"},
    "home_files": {".x/y.json": '{{"root": "{workspace}"}}'},
    "tool_kinds": {"scribble": "edit"},
}
PARAMS: dict[str, Any] = {
    "args": ["--eval"],
    "env": {"B": "2"},
    "home_files": {".x/z": "{home}"},
    "tool_kinds": {"doodle": "edit"},
}


@pytest.mark.parametrize("name", CODING_AGENTS)
def test_every_coding_agent_accepts_the_same_keys(name: str):
    """In its table and, with the last word, in the params of an eval."""
    found = agent(name, **TABLE)
    orders = found.orders(task("Do it.", params=PARAMS))
    launch = orders.launches[-1]
    assert {"--in=/bench/workspace", "--eval"} <= set(launch.argv)
    assert (launch.env["A"], launch.env["B"]) == ("/bench/workspace", "2")
    assert orders.home_files[".x/y.json"] == b'{"root": "/bench/workspace"}'
    assert orders.home_files[".x/z"] == b"/bench/home"
    kinds = tool_kinds(found, Scenario(prompts=("Do it.",), params=PARAMS))
    assert kinds["scribble"] is kinds["doodle"] is Kind.EDIT
    assert found.params is not None
    assert {"settings", "approval_mode", *PARAMS} <= set(found.params)


@pytest.mark.parametrize("name", CODING_AGENTS)
def test_settings_of_an_eval_reach_a_file_of_every_agent(name: str):
    """They are merged over those of the configuration."""
    found = agent(name, settings={"one": {"a": "first", "b": "kept"}})
    orders = found.orders(task("Do it.", params={"settings": {"one": {"a": "second"}}}))
    texts = b"\n".join(orders.home_files.values())
    assert b"second" in texts
    assert b"kept" in texts
    assert b"first" not in texts


@pytest.mark.parametrize("name", CODING_AGENTS)
def test_an_approval_mode_changes_how_an_agent_is_started(name: str):
    """An unknown mode is an error; an agent without modes says why."""
    recipe = adapter(name).RECIPE
    if not recipe.approval_modes:
        with pytest.raises(BadInput, match=f"params.approval_mode: is not supported: {recipe.no_modes}"):
            agent(name).orders(task("Do it.", params={"approval_mode": "plan"}))
        assert recipe.no_modes
        return
    by_eval, by_table = (
        [agent(name).orders(task("Do it.", params={"approval_mode": mode})) for mode in recipe.approval_modes],
        [agent(name, approval_mode=mode).orders(task("Do it.")) for mode in recipe.approval_modes],
    )
    assert by_eval == by_table
    assert len({repr(orders) for orders in by_eval}) == len(recipe.approval_modes) > 1, "each mode differs"
    with pytest.raises(BadInput, match=r"demeanor.toml: approval_mode: unknown value 'plam'"):
        agent(name, approval_mode="plam")


def test_an_eval_overrides_the_mode_of_the_configuration():
    """Plan mode is a property of an eval."""
    claude = agent("claude-code", approval_mode="acceptEdits")
    assert option(claude.orders(task()).launches[0], "--permission-mode") == "acceptEdits"
    planned = claude.orders(task(params={"approval_mode": "plan"})).launches[0]
    assert option(planned, "--permission-mode") == "plan"
    assert "--dangerously-skip-permissions" not in planned.argv


def test_a_denied_kind_includes_the_tools_that_are_given_this_kind():
    """An MCP tool that deletes is denied with the kind `delete`."""
    found = agent("claude-code", tool_kinds={"mcp__db__drop": "delete"})
    orders = found.orders(task(approval=Approval(rules={"delete": "deny"})))
    assert b"mcp__db__drop" in orders.home_files[".claude/settings.json"]


def test_arguments_are_not_given_to_a_launch_that_imports_a_session():
    """goose imports prior messages with another command, which knows other options."""
    from tests.agents.helpers import PRIOR

    imported, asked = agent("goose", args=["--debug"]).orders(task(messages=PRIOR)).launches
    assert "--debug" not in imported.argv
    assert "--debug" in asked.argv


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"home_files": {"/etc/x": "a"}}, r"home_files./etc/x"),
        ({"home_files": {"x": "{workspac}"}}, r"home_files.x: unknown placeholder {workspac}\n  → did you mean {work"),
        ({"env": {"A": "{prompt}"}}, r"env.A: unknown placeholder {prompt}"),
        ({"args": "x"}, r"args: expected a list of strings"),
        ({"tool_kinds": {"x": "erase"}}, r"tool_kinds.x: unknown kind 'erase'"),
        ({"setings": {}}, r"setings: unknown key\n  → did you mean 'settings'"),
    ],
)
def test_mistakes_are_reported_with_file_key_and_remedy(table: dict[str, Any], message: str):
    """Before anything runs."""
    with pytest.raises(BadInput, match=r"demeanor.toml: " + message):
        agent("goose", **table)
