"""Gemini CLI. Speaks the Gemini API only. Its exit code is the low byte of the last HTTP status."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import json_lines
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_tables
from demeanor.agents.overrides import Overrides
from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import LONG_AGO, prior_ids, session_id
from demeanor.agents.settings import json_file, toml_value
from demeanor.agents.tool_denial import REFUSAL, denied_tools
from demeanor.core.text.json_values import as_dict, as_text
from demeanor.core.values.agent import DEBUG_LOG, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.scenario import PriorCall
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".gemini"
_PRIOR = f"{_FOLDER}/earlier.json"
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
    """One launch per prompt, all in one session; prior messages are a session to start from."""
    files = {f"{_FOLDER}/settings.json": json_file(_settings(setup), setup.settings)}
    forbidden = denied_tools(task.approval, _TOOLS, _KINDS)
    if forbidden:
        files[f"{_FOLDER}/policies/approval.toml"] = _policy(forbidden)
    if task.messages:
        files[_PRIOR] = _session_file(task)
    launches: list[Launch] = []
    for prompt in task.prompts:
        if launches:
            session = ("--resume", "latest")
        elif task.messages:
            session = ("--session-file", str(task.home / _PRIOR))
        else:
            session = ("--session-id", session_id(task))
        mode = ("--approval-mode", setup.approval_mode or "yolo")
        words = ("--model", task.model, *mode, "--skip-trust", "--output-format", "stream-json")
        launches.append(Launch(argv=(*setup.program, *words, *session, f"--prompt={prompt}"), env=_env(task)))
    return Orders(launches=tuple(launches), home_files=files)


def _env(task: Task) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": task.token,
        "GOOGLE_GEMINI_BASE_URL": task.base_url,
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_NO_RELAUNCH": "true",  # else it starts itself again, and the outer process ignores signals
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
    """A rule that refuses tools. A rule without `argsPattern` would hide them from the model instead."""
    return (
        "[[rule]]\n"
        f"toolName = {toml_value(forbidden)}\n"
        'argsPattern = ".*"\n'
        'decision = "deny"\n'
        "priority = 999\n"
        f"denyMessage = {toml_value(REFUSAL)}\n"
    ).encode()


def _prior_call(name: str, call: PriorCall) -> dict[str, Any]:
    """A tool call as it stores one."""
    response = {"id": name, "name": call.tool, "response": {"error" if call.failed else "output": call.result}}
    fields = {"id": name, "name": call.tool, "displayName": call.tool, "args": dict(call.arguments)}
    status = {"status": "error" if call.failed else "success", "timestamp": LONG_AGO}
    return {**fields, **status, "result": [{"functionResponse": response}]}


def _session_file(task: Task) -> bytes:
    types = {"user": "user", "assistant": "gemini"}
    messages = [
        {"id": str(number), "timestamp": LONG_AGO, "type": types[message.role], "content": message.text}
        | (
            {"toolCalls": [_prior_call(name, call) for name, call in prior_ids(number, message)]}
            if message.calls
            else {}
        )
        for number, message in enumerate(task.messages)
    ]
    info = {"sessionId": "earlier", "projectHash": "", "startTime": LONG_AGO, "lastUpdated": LONG_AGO}
    return json.dumps({**info, "messages": messages}, ensure_ascii=False).encode()


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`message` lines hold pieces of text; consecutive pieces belong together."""
    log = LogBuilder(_KINDS)
    pieces: list[str] = []
    ids: dict[str, str] = {}  # it prefixes the model's call id with the tool's name
    answered = True
    for line in json_lines(ends):
        kind = line.get("type")
        by_model = kind == "tool_use" or (kind == "message" and line.get("role") == "assistant")
        if by_model and answered:
            log.next_turn()
        if kind == "message" and by_model:
            pieces.append(as_text(line.get("content")))
        else:
            log.add_text("".join(pieces))
            pieces.clear()
        answered = answered if kind not in _COUNTED else not by_model
        if kind == "tool_use":
            name = as_text(line.get("tool_name"))
            call = as_text(line.get("tool_id")).removeprefix(f"{name}__")
            ids[as_text(line.get("tool_id"))] = call
            log.add_call(call, name, as_dict(line.get("parameters")))
        elif kind == "tool_result":
            output = line.get("output") or as_dict(line.get("error")).get("message")
            call = ids.get(as_text(line.get("tool_id")), "")
            log.add_result(call, as_text(output), succeeded=line.get("status") == "success")
    log.add_text("".join(pieces))
    return log.events()


_COUNTED = ("message", "tool_use", "tool_result")

_KINDS = {
    "enter_plan_mode": Kind.THINK,
    "exit_plan_mode": Kind.THINK,
    "list_background_processes": Kind.EXECUTE,
    "read_background_output": Kind.EXECUTE,
}


def _mcp(servers: Servers) -> Overrides:
    return Overrides(settings={"mcpServers": server_tables(servers, http={}, url="httpUrl", trust=True)})


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
    debug=Overrides(env={"GEMINI_DEBUG_LOG_FILE": f"{{home}}/{DEBUG_LOG}"}),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    approval_modes=("auto_edit", "default", "plan", "yolo"),
    mcp=_mcp,
    resumes_calls=True,
)
read = reader(RECIPE)
