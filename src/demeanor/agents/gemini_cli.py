"""Gemini CLI: speaks the Gemini API only; its exit code is the last HTTP status, or what is left of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import json_lines, table, text
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import json_file, own_settings, toml_value
from demeanor.agents.tool_denial import REFUSAL, denied
from demeanor.core.agent import Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind

_FOLDER = ".gemini"
_EARLIER = f"{_FOLDER}/earlier.json"
_LONG_AGO = "2020-01-01T00:00:00.000Z"
_TOOLS = (
    "glob",
    "google_web_search",
    "grep_search",
    "list_directory",
    "read_file",
    "read_many_files",
    "replace",
    "run_shell_command",
    "web_fetch",
    "write_file",
)


def _orders(task: Task, setup: Setup) -> Orders:
    """One run per prompt, all of one session; an earlier conversation is a session to begin with."""
    files = {f"{_FOLDER}/settings.json": json_file(_settings(setup), setup.settings, own_settings(task))}
    forbidden = denied(task.approval, _TOOLS, _KINDS)
    if forbidden:
        files[f"{_FOLDER}/policies/approval.toml"] = _policy(forbidden)
    if task.messages:
        files[_EARLIER] = _conversation(task)
    session = str(uuid.uuid5(uuid.NAMESPACE_OID, f"demeanor/{task.seed}"))
    launches: list[Launch] = []
    for prompt in task.prompts:
        if launches:
            kept = ("--resume", "latest")
        else:
            kept = ("--session-file", str(task.home / _EARLIER)) if task.messages else ("--session-id", session)
        words = ("--model", task.model, "--approval-mode", "yolo", "--skip-trust", "--output-format", "stream-json")
        launches.append(Launch(argv=(*setup.program, *words, *kept, f"--prompt={prompt}"), env=_env(task)))
    return Orders(launches=tuple(launches), home_files=files)


def _env(task: Task) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": task.token,
        "GOOGLE_GEMINI_BASE_URL": task.base_url,
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_NO_RELAUNCH": "true",  # else it starts itself once more, and the first of the two ignores signals
    }


def _settings(setup: Setup) -> dict[str, Any]:
    return {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "maxAttempts": setup.retries + 1,
        },
    }


def _policy(forbidden: tuple[str, ...]) -> bytes:
    """A rule that refuses tools; one that does not look at arguments would hide them from the model instead."""
    return (
        "[[rule]]\n"
        f"toolName = {toml_value(forbidden)}\n"
        'argsPattern = ".*"\n'
        'decision = "deny"\n'
        "priority = 999\n"
        f"denyMessage = {toml_value(REFUSAL)}\n"
    ).encode()


def _conversation(task: Task) -> bytes:
    types = {"user": "user", "assistant": "gemini"}
    messages = [
        {"id": str(number), "timestamp": _LONG_AGO, "type": types[message.role], "content": message.text}
        for number, message in enumerate(task.messages)
    ]
    about = {"sessionId": "earlier", "projectHash": "", "startTime": _LONG_AGO, "lastUpdated": _LONG_AGO}
    return json.dumps({**about, "messages": messages}, ensure_ascii=False).encode()


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`message` lines hold pieces of what is said; pieces in a row belong together."""
    story = LogBuilder(_KINDS)
    said: list[str] = []
    names: dict[str, str] = {}  # it puts the tool's name before the id that the model gave to a call
    answered = True
    for line in json_lines(ends):
        kind = line.get("type")
        by_model = kind == "tool_use" or (kind == "message" and line.get("role") == "assistant")
        if by_model and answered:
            story.next_turn()
        if kind == "message" and by_model:
            said.append(text(line.get("content")))
        else:
            story.said("".join(said))
            said.clear()
        answered = answered if kind not in _TOLD else not by_model
        if kind == "tool_use":
            name = text(line.get("tool_name"))
            call = text(line.get("tool_id")).removeprefix(f"{name}__")
            names[text(line.get("tool_id"))] = call
            story.called(call, name, table(line.get("parameters")))
        elif kind == "tool_result":
            output = line.get("output") or table(line.get("error")).get("message")
            call = names.get(text(line.get("tool_id")), "")
            story.answered(call, text(output), succeeded=line.get("status") == "success")
    story.said("".join(said))
    return story.events()


_TOLD = ("message", "tool_use", "tool_result")

_KINDS = {
    "enter_plan_mode": Kind.THINK,
    "exit_plan_mode": Kind.THINK,
    "list_background_processes": Kind.EXECUTE,
    "read_background_output": Kind.EXECUTE,
}

RECIPE = Recipe(
    name="gemini-cli",
    title="Gemini CLI",
    package=Package(
        manager="npm",
        name="@google/gemini-cli",
        version="0.61.0",
        program="node_modules/.bin/gemini",
        needs="node >= 20",
    ),
    dialects=("gemini",),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    params=("settings",),
)
read = reader(RECIPE)
