"""Cline: how it is started, and how its output is read."""

from __future__ import annotations

from hypothesis import given

from demeanor.core.values.agent import Ability
from tests.agents.helpers import NO_SHELL, agent, broken_lines, end, home_json, outline, sample, task

SETTINGS = ".cline/data/settings"


def test_no_daemon_no_update_no_telemetry():
    """A daemon would outlive the trial; updates and telemetry would use the network."""
    orders = agent("cline", settings={"compactionEnabled": False}).orders(task("-x"))
    (launch,) = orders.launches
    assert launch.env["CLINE_SESSION_BACKEND_MODE"] == "local"
    assert launch.env["CLINE_NO_AUTO_UPDATE"] == "1"
    switches = home_json(orders, f"{SETTINGS}/global-settings.json")
    assert switches == {"telemetryOptOut": True, "autoUpdateEnabled": False, "compactionEnabled": False}
    assert launch.argv[-2:] == ("--", "-x")
    assert launch.argv[launch.argv.index("--auto-approve") + 1] == "true"


def test_the_key_is_in_a_file_and_not_in_the_arguments():
    """Arguments are visible in the process list."""
    orders = agent("cline", dialect="anthropic").orders(task())
    provider = home_json(orders, f"{SETTINGS}/providers.json")["providers"]["anthropic"]["settings"]
    assert provider["apiKey"] == "demeanor-token"
    assert not any("demeanor-token" in word for word in orders.launches[0].argv)


def test_with_denied_tools_only_the_plug_in_approves():
    """If the plug-in can't be loaded, nothing is approved."""
    orders = agent("cline").orders(task(approval=NO_SHELL))
    (launch,) = orders.launches
    assert launch.argv[launch.argv.index("--auto-approve") + 1] == "false"
    assert b'new Set(["run_commands"])' in orders.home_files[".cline/plugins/gate.js"]


def test_its_output_is_read():
    """Recorded with invalid arguments and with reasoning."""
    events = agent("cline").read_log((end(sample("cline.jsonl")),), {})
    assert outline(events) == [
        (1, "editor", {}, False),
        (2, "editor", {"path": "hello.txt", "new_text": "Hello!\n"}, True),
        (3, "said", "Recovered."),
        (3, "thought", "Let me think about it."),
    ]


@given(broken_lines(sample("cline.jsonl")))
def test_broken_output_does_not_crash_the_reader(log: str):
    """Random changes of real lines."""
    agent("cline").read_log((end(log),), {})


def test_unsupported_abilities():
    """Sessions can be resumed only in its terminal interface."""
    assert set(agent("cline").cannot) == {Ability.TURNS, Ability.MESSAGES}
