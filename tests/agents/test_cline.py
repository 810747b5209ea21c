"""Cline: how it is started, and what its output tells."""

from __future__ import annotations

from hypothesis import given

from demeanor.core.agent import Ability
from tests.agents.told import NO_SHELL, agent, end, hostile, in_file, outline, sample, task

SETTINGS = ".cline/data/settings"


def test_no_daemon_no_update_no_telemetry():
    """Each would outlive the trial, or leave the machine."""
    orders = agent("cline", settings={"compactionEnabled": False}).orders(task("-x"))
    (launch,) = orders.launches
    assert launch.env["CLINE_SESSION_BACKEND_MODE"] == "local"
    assert launch.env["CLINE_NO_AUTO_UPDATE"] == "1"
    switches = in_file(orders, f"{SETTINGS}/global-settings.json")
    assert switches == {"telemetryOptOut": True, "autoUpdateEnabled": False, "compactionEnabled": False}
    assert launch.argv[-2:] == ("--", "-x")
    assert launch.argv[launch.argv.index("--auto-approve") + 1] == "true"


def test_the_key_is_in_a_file_and_in_no_argument():
    """Arguments are seen by everybody."""
    orders = agent("cline", dialect="anthropic").orders(task())
    provider = in_file(orders, f"{SETTINGS}/providers.json")["providers"]["anthropic"]["settings"]
    assert provider["apiKey"] == "hf-token"
    assert not any("hf-token" in word for word in orders.launches[0].argv)


def test_where_something_is_denied_nothing_is_approved_but_by_the_plug_in():
    """A plug-in that can't be loaded must not mean that everything is allowed."""
    orders = agent("cline").orders(task(approval=NO_SHELL))
    (launch,) = orders.launches
    assert launch.argv[launch.argv.index("--auto-approve") + 1] == "false"
    assert b'new Set(["run_commands"])' in orders.home_files[".cline/plugins/gate.js"]


def test_its_output_tells_turns_calls_and_thoughts():
    """From runs with broken arguments, and with thinking."""
    events = agent("cline").read_log((end(sample("cline.jsonl")),), {})
    assert outline(events) == [
        (1, "editor", {}, False),
        (2, "editor", {"path": "hello.txt", "new_text": "Hello!\n"}, True),
        (3, "said", "Recovered."),
        (3, "thought", "Let me think about it."),
    ]


@given(hostile(sample("cline.jsonl")))
def test_no_log_breaks_the_reader(log: str):
    """Whatever it prints."""
    agent("cline").read_log((end(log),), {})


def test_it_says_what_it_cannot_do():
    """Its sessions are for people."""
    assert set(agent("cline").cannot) == {Ability.TURNS, Ability.MESSAGES}
