"""aider: how it is started, and how its history is read."""

from __future__ import annotations

from hypothesis import given, strategies as st

from demeanor.core.values.agent import Ability
from demeanor.core.values.scenario import PriorMessage
from demeanor.core.values.trajectory import Called, Kind
from tests.agents.helpers import PRIOR, agent, end, home_json, outline, sample, task

HISTORY = ".aider/chat.md"


def test_no_questions_no_downloads_no_git():
    """With git it would create a repository and commit."""
    orders = agent("aider", settings={"map-tokens": 512}).orders(task("-x", params={"files": ["a.txt"]}))
    (launch,) = orders.launches
    config = home_json(orders, ".aider.conf.yml")
    assert config["yes-always"] is True
    assert not any(config[name] for name in ("git", "check-update", "detect-urls", "suggest-shell-commands"))
    assert config["analytics-disable"] is True
    assert config["map-tokens"] == 512
    assert orders.home_files[".aider/caches/model_prices_and_context_window.json"]
    assert "--file=a.txt" in launch.argv
    assert launch.argv[-1] == "--message=-x"


def test_history_is_restored_for_later_prompts_and_prior_messages():
    """And not for a first prompt without them."""
    first, second = agent("aider").orders(task("One.", "Two.")).launches
    assert "--restore-chat-history" not in first.argv
    assert "--restore-chat-history" in second.argv
    orders = agent("aider").orders(task(messages=(*PRIOR, PriorMessage(role="assistant", text="# Title\n> quoted"))))
    assert "--restore-chat-history" in orders.launches[0].argv
    history = orders.home_files[HISTORY].decode()
    assert "#### My name is Zebra.  \n\nHello.\n\n # Title\n > quoted" in history


def test_its_history_is_read_launch_by_launch():
    """Without aider's own remarks and without restored messages."""
    leavings = {HISTORY: sample("aider.md").encode()}
    thought, edit, call, answer = outline(agent("aider").read_log((end(), end()), leavings))
    assert thought == (1, "thought", "Let me think about it.")
    assert edit[2].startswith("Here:\n\nhello.txt\n```\n<<<<<<< SEARCH")
    assert edit[2].endswith("```")
    assert call[1] == "edit"
    assert answer == (2, "said", "For a file.")
    assert outline(agent("aider").read_log((end(),), leavings)) == [(1, "said", "For a file.")]


def test_applied_edits_are_calls():
    """aider has no tools, but it edits: `of_kind("edit")` must see that."""
    leavings = {HISTORY: sample("aider.md").encode()}
    (call,) = [event for event in agent("aider").read_log((end(), end()), leavings) if isinstance(event, Called)]
    assert (call.tool, call.kind, call.succeeded) == ("edit", Kind.EDIT, True)
    assert call.arguments == {"path": "hello.txt", "old": "", "new": "Hello!"}
    whole = "\n# aider chat started at x\n\n#### Do it.\n\na.txt\n```\nnew\n```\n\n> Applied edit to a.txt\n"
    (call,) = [one for one in agent("aider").read_log((end(),), {HISTORY: whole.encode()}) if isinstance(one, Called)]
    assert call.arguments["path"] == "a.txt"


@given(st.text(alphabet="#> \na<", max_size=60), st.integers(0, 3))
def test_a_broken_history_does_not_crash_the_reader(history: str, runs: int):
    """Random text with its markup characters."""
    agent("aider").read_log((end(),) * runs, {HISTORY: history.encode()})


def test_it_has_no_tools():
    """And its exit code 0 proves nothing."""
    expected = {
        Ability.PARALLEL,
        Ability.TOOL_ERROR,
        Ability.CALLS,
        Ability.EXIT_CODE,
        Ability.MALFORMED,
        Ability.DENY,
        Ability.CLEAN,
        Ability.SUB_AGENTS,
        Ability.MCP,
        Ability.SEARCH,
    }
    assert set(agent("aider").cannot) == expected
    assert agent("aider").exit_ok(end()) is None
