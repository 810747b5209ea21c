"""Mistral Vibe: how it is started, and how its session is read."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given

from demeanor.agents.recipes.vibe import RECIPE
from tests.agents.helpers import BASE_URL, NO_SHELL, PRIOR, agent, broken_lines, end, outline, sample, task

FOLDER = ".vibe/logs/session/unified/s1"
OUTPUT = '{"type": "message", "sessionId": "s1"}'
MANIFEST = {"checkpoint": {"chunks": ["c2"]}}
SESSION = {
    f"{FOLDER}/generations/0000000000000004/manifest.json": b'{"checkpoint": {"chunks": ["c1"]}}',
    f"{FOLDER}/generations/0000000000000021/manifest.json": json.dumps(MANIFEST).encode(),
    f"{FOLDER}/chunks/c2.json": f"[{','.join(sample('vibe.jsonl').splitlines())}]".encode(),
}
PRIOR_META = {".vibe/logs/session/session_20200101_000000_1/meta.json": b'{"total_messages": 2}'}


def test_the_key_is_in_an_environment_variable():
    """The file only names it. With a key for its own provider, it does not ask the system's keyring."""
    orders = agent("vibe", settings={"theme": "dark"}).orders(task("-x"))
    config = tomllib.loads(orders.home_files[".vibe/config.toml"].decode())
    (provider,) = config["providers"]
    (launch,) = orders.launches
    assert provider["api_base"] == f"{BASE_URL}/v1"
    assert launch.env[provider["api_key_env_var"]] == launch.env["MISTRAL_API_KEY"] == "demeanor-token"
    assert (config["enable_telemetry"], config["theme"]) == (False, "dark")
    assert launch.argv[-1] == "--prompt=-x"


def test_a_hook_denies_tools():
    """A failure of the hook denies them too."""
    orders = agent("vibe").orders(task(approval=NO_SHELL))
    (hook,) = tomllib.loads(orders.home_files[".vibe/hooks.toml"].decode())["hooks"]
    assert (hook["type"], hook["strict"]) == ("pre_tool", True)
    assert hook["match"] == "re:bash|process_start|run_typescript"
    assert '"decision": "deny"' in hook["command"]


def test_prior_messages_are_a_session_that_is_resumed():
    """Later prompts continue it."""
    orders = agent("vibe").orders(task("One.", "Two.", messages=PRIOR))
    (meta,) = (path for path in orders.home_files if path.endswith("/meta.json"))
    session = json.loads(orders.home_files[meta])["session_id"]
    assert f"--resume={session}" in orders.launches[0].argv
    assert "--continue" in orders.launches[1].argv
    assert meta.endswith(f"_{session[:8]}/meta.json")


def test_its_last_checkpoint_is_read_without_the_prior_messages():
    """Recorded with two prior messages."""
    events = agent("vibe").read_log((end(OUTPUT),), {**SESSION, **PRIOR_META})
    assert outline(events) == [
        (1, "write_file", {"path": "word.txt", "content": "heron\n"}, True),
        (2, "said", "It is in word.txt."),
    ]
    assert outline(agent("vibe").read_log((end(OUTPUT),), SESSION))[0] == (1, "said", "I will remember it.")


def test_without_a_checkpoint_its_log_is_empty():
    """It was killed before it wrote one; sessions of sub-agents are not its log."""
    assert agent("vibe").read_log((end(OUTPUT.replace("s1", "s2")),), SESSION) == ()
    assert agent("vibe").read_log((end(),), SESSION) == ()


@given(broken_lines(sample("vibe.jsonl")))
def test_a_broken_session_does_not_crash_the_reader(lines: str):
    """Random changes of a real session."""
    for text in (f"[{','.join(lines.splitlines())}]", *lines.splitlines()):
        try:
            agent("vibe").read_log((end(OUTPUT),), {**SESSION, f"{FOLDER}/chunks/c2.json": text.encode()})
        except ValueError:
            continue  # it is not JSON


def test_a_session_that_is_nested_too_deeply_is_an_unreadable_log():
    """Python's JSON reader would raise RecursionError."""
    with pytest.raises(ValueError, match="nested too deeply"):
        RECIPE.read_log((end(OUTPUT),), {**SESSION, f"{FOLDER}/chunks/c2.json": b"[" * 100_000})
