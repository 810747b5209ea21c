"""GitHub Copilot CLI. Needs no login: it runs offline, with the gateway as its provider. Its session file is its log.

The program unpacks 235 MB into its cache when it is started first. The installation does this once for all trials.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.agents.jsonl import json_objects
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_file
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import LONG_AGO, jsonl_file, session_id
from demeanor.agents.settings import json_file
from demeanor.agents.tool_denial import REFUSAL, denied_tools
from demeanor.core.text.json_values import as_dict, as_dicts, as_text, as_whole
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".copilot"
_TOOLS = ("apply_patch", "bash", "create", "edit", "glob", "grep", "view", "web_fetch", "write_bash")
_PRIOR = "00000000-0000-4000-8000-"
"""How the ids of prior events begin; they must be UUIDs."""

_PROVIDERS = {
    "openai-chat": ("openai", "completions", "/v1"),
    "openai-responses": ("openai", "responses", "/v1"),
    "anthropic": ("anthropic", "completions", ""),
}


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, all in one session; prior messages are a session that exists already."""
    session = session_id(task)
    folder = f"{_FOLDER}/session-state/{session}"
    files = {f"{_FOLDER}/settings.json": json_file(_settings(task), setup.settings)}
    if task.messages:
        files[f"{folder}/events.jsonl"] = _session(task, session)
    mode = ("--mode", setup.approval_mode) if setup.approval_mode else ()
    words = ("--session-id", session, *mode, "--allow-all", "--no-auto-update", "--output-format", "json")
    env = _env(task, setup)
    launches = [
        Launch(argv=(*setup.program, *words, "--log-level", "none", f"--prompt={prompt}"), env=env)
        for prompt in task.prompts
    ]
    return Orders(launches=tuple(launches), home_files=files, leavings=(f"{folder}/events.jsonl",))


def _env(task: Task, setup: Setup) -> dict[str, str]:
    kind, wire, path = _PROVIDERS[setup.dialect]
    unpacked = _unpacked(setup.program)
    return {
        "COPILOT_HOME": str(task.home / _FOLDER),
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_MODEL": task.model,
        "COPILOT_PROVIDER_TYPE": kind,
        "COPILOT_PROVIDER_WIRE_API": wire,
        "COPILOT_PROVIDER_BASE_URL": f"{task.base_url}{path}",
        "COPILOT_PROVIDER_API_KEY": task.token,
        **({"COPILOT_CLI_DIST_DIR": str(unpacked)} if unpacked else {}),
    }


def _unpacked(program: tuple[str, ...]) -> Path | None:
    """The folder into which the program was unpacked when it was installed."""
    paths = (path for parent in Path(program[-1]).parents for path in parent.glob("cache/copilot/pkg/*/*"))
    return next(paths, None) if program else None


def _settings(task: Task) -> dict[str, Any]:
    forbidden = "|".join(map(re.escape, denied_tools(task.approval, _TOOLS, _KINDS)))
    if not forbidden:
        return {}
    answer = {"permissionDecision": "deny", "permissionDecisionReason": REFUSAL}
    hook = {"type": "command", "bash": f"printf %s {shlex.quote(json.dumps(answer))}", "matcher": f"^({forbidden})$"}
    return {"hooks": {"preToolUse": [hook]}}


def _session(task: Task, session: str) -> bytes:
    """A session with the prior messages, as Copilot stores it."""
    start = {
        "sessionId": session,
        "version": 1,
        "producer": "copilot-agent",
        "copilotVersion": RECIPE.package.version,
        "startTime": LONG_AGO,
        "context": {"cwd": str(task.workspace)},
    }
    events: list[tuple[str, dict[str, Any]]] = [("session.start", start)]
    for number, prior in enumerate(task.messages):
        data = {"content": prior.text, "messageId": _prior_id(number)}
        events.append((f"{prior.role}.message", data | ({"toolRequests": []} if prior.role == "assistant" else {})))
    return jsonl_file(
        {
            "type": kind,
            "data": data,
            "id": _prior_id(number),
            "timestamp": LONG_AGO,
            "parentId": _prior_id(number - 1) if number else None,
        }
        for number, (kind, data) in enumerate(events)
    )


def _prior_id(number: int) -> str:
    return f"{_PRIOR}{number:012}"


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """The events of the session, without prior ones and those of sub-agents."""
    log = LogBuilder(RECIPE.tool_kinds)
    for content in leavings.values():
        for line in json_objects(content.decode(errors="replace")):
            data = as_dict(line.get("data"))
            if as_text(line.get("id")).startswith(_PRIOR) or line.get("agentId") or data.get("parentToolCallId"):
                continue
            match line.get("type"):
                case "assistant.message":
                    _add_answer(log, data)
                case "tool.execution_complete":
                    _add_result(log, data)
    return log.events()


def _add_answer(log: LogBuilder, data: dict[str, Any]) -> None:
    log.next_turn()
    log.add_thought(as_text(data.get("reasoningText")))
    log.add_text(as_text(data.get("content")))
    for call in as_dicts(data.get("toolRequests")):
        log.add_call(as_text(call.get("toolCallId")), as_text(call.get("name")), as_dict(call.get("arguments")))


def _add_result(log: LogBuilder, data: dict[str, Any]) -> None:
    output = as_text(as_dict(data.get("result")).get("content")) or as_text(as_dict(data.get("error")).get("message"))
    exit_code = as_whole(as_dict(data.get("shellExecution")).get("exitCode"))
    call, succeeded = as_text(data.get("toolCallId")), data.get("success") is True
    log.add_result(call, output, succeeded=succeeded, exit_code=exit_code)


_KINDS = {
    "read_bash": Kind.EXECUTE,
    "write_bash": Kind.EXECUTE,
    "stop_bash": Kind.EXECUTE,
    "list_bash": Kind.EXECUTE,
    "report_intent": Kind.THINK,
    "fetch_copilot_cli_documentation": Kind.FETCH,
}


def _mcp(servers: Servers) -> Overrides:
    return Overrides(home_files={f"{_FOLDER}/mcp-config.json": server_file(servers, type="local", tools=["*"])})


RECIPE = Recipe(
    name="copilot",
    title="GitHub Copilot CLI",
    package=Package(
        manager="npm",
        name="@github/copilot-{platform}",
        version="1.0.102",
        program="node_modules/@github/copilot-{platform}/copilot",
        first_run=("--help",),
    ),
    dialects=("openai-chat", "openai-responses", "anthropic"),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    approval_modes=("autopilot", "interactive", "plan"),
    mcp=_mcp,
)
read = reader(RECIPE)
