"""What the configuration adds to a recipe."""

from __future__ import annotations

from demeanor.agents.claude_code import RECIPE as CLAUDE
from demeanor.agents.gemini_cli import RECIPE as GEMINI
from demeanor.agents.recipe import RecipeAgent, Setup
from tests.agents.helpers import task


def test_arguments_are_added_before_a_double_dash():
    """Even if the prompt is `--` too; without one, at the end."""
    setup = Setup(program=("--", "claude"), dialect="anthropic")
    agent = RecipeAgent(name="a", recipe=CLAUDE, setup=setup, args=("--effort", "low"))
    assert agent.orders(task("--")).launches[0].argv[-4:] == ("--effort", "low", "--", "--")
    setup = Setup(program=("gemini",), dialect="gemini")
    agent = RecipeAgent(name="g", recipe=GEMINI, setup=setup, args=("--debug",))
    assert agent.orders(task("Hi.")).launches[0].argv[-2:] == ("--prompt=Hi.", "--debug")
