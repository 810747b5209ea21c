"""What the configuration adds to a recipe."""

from __future__ import annotations

from pathlib import Path

from demeanor.agents.overrides import Overrides
from demeanor.agents.recipe import RecipeAgent, Setup
from demeanor.agents.recipes.claude_code import RECIPE as CLAUDE
from demeanor.agents.recipes.gemini_cli import RECIPE as GEMINI
from demeanor.agents.registry import make_agent
from demeanor.config.table import Table
from tests.agents.helpers import task


def test_arguments_are_added_before_a_double_dash():
    """Even if the prompt is `--` too; without one, at the end."""
    setup = Setup(program=("--", "claude"), dialect="anthropic")
    agent = RecipeAgent(name="a", recipe=CLAUDE, setup=setup, overrides=Overrides(args=("--effort", "low")))
    assert agent.orders(task("--")).launches[0].argv[-4:] == ("--effort", "low", "--", "--")
    setup = Setup(program=("gemini",), dialect="gemini")
    agent = RecipeAgent(name="g", recipe=GEMINI, setup=setup, overrides=Overrides(args=("--debug",)))
    assert agent.orders(task("Hi.")).launches[0].argv[-2:] == ("--prompt=Hi.", "--debug")


def test_paths_are_relative_to_the_configuration(tmp_path: Path):
    """Arguments, `reads`, and {project} in variables; files that are named are readable."""
    for name in ("data", "prompt.md", "more.md"):
        (tmp_path / name).write_text("x")
    settings = {
        "program": ["sh"],
        "args": ["--system", "./prompt.md"],
        "env": {"MORE": "{project}/more.md"},
        "reads": ["data"],
    }
    mine = make_agent("mine", "pi", Table(settings, where=tmp_path / "demeanor.toml"))
    (launch,) = mine.orders(task("x")).launches
    assert str(tmp_path / "prompt.md") in launch.argv
    assert launch.env["MORE"] == str(tmp_path / "more.md")
    assert {str(tmp_path / name) for name in ("data", "prompt.md", "more.md")} <= set(launch.reads)
