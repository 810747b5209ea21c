"""pi. Never asks for permission. Its session file is read as its log: the size of its JSON output grows with the square
of each answer, and only its plain mode has a reliable exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text, json_objects
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import jsonl_file
from demeanor.agents.settings import merged
from demeanor.agents.tool_denial import REFUSAL, denied_tools
from demeanor.core.text.json_values import as_dict, as_dicts, as_text
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event

_FOLDER = ".pi/agent"
_SESSION = ".pi/demeanor.jsonl"  # pi moves a session file out of its own folder
_GATE = f"{_FOLDER}/gate.js"
_TOOLS = ("read", "bash", "edit", "write", "grep", "find", "ls")
_PRIOR = "prior-"
_LONG_AGO = "2026-01-01T00:00:00.000Z"
_APIS = {
    "openai-chat": ("openai-completions", "/v1"),
    "openai-responses": ("openai-responses", "/v1"),
    "anthropic": ("anthropic-messages", ""),
    "gemini": ("google-generative-ai", "/v1beta"),
}
_GATE_CODE = """\
const denied = new Set(%s);
export default function (pi) {
  pi.on("tool_call", async (event) => {
    if (denied.has(event.toolName)) return { block: true, reason: %s };
  });
}
"""


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, all with the same session file; prior messages are written into it first."""
    files = {
        f"{_FOLDER}/settings.json": json.dumps(merged(_settings(task, setup), setup.settings)).encode(),
        f"{_FOLDER}/models.json": json.dumps(_models(task, setup)).encode(),
    }
    words = ["-p", "--session", str(task.home / _SESSION), "--offline"]
    if task.messages:
        files[_SESSION] = _session(task)
    if forbidden := denied_tools(task.approval, _TOOLS, {}):
        files[_GATE] = (_GATE_CODE % (json.dumps(forbidden), json.dumps(REFUSAL))).encode()
        words += ["--extension", str(task.home / _GATE)]
    if "thinking" in task.params:
        words += ["--thinking", str(task.params["thinking"])]
    env = {
        "PI_CODING_AGENT_DIR": str(task.home / _FOLDER),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "PI_SKIP_VERSION_CHECK": "1",
        "DEMEANOR_TOKEN": task.token,
    }
    launches = [Launch(argv=(*setup.program, *words, _plain(prompt)), env=env) for prompt in task.prompts]
    return Orders(launches=tuple(launches), home_files=files, leavings=(_SESSION,))


def _plain(prompt: str) -> str:
    """A leading space keeps pi from reading the prompt as an option, a file or a command; it has no `--`."""
    return f" {prompt}" if prompt.startswith(("-", "@", "/")) else prompt


def _settings(task: Task, setup: Setup) -> dict[str, Any]:
    return {
        "defaultProvider": "demeanor",
        "defaultModel": task.model,
        "enableInstallTelemetry": False,
        "quietStartup": True,
        "retry": {"enabled": setup.retries > 0, "maxRetries": setup.retries, "provider": {"maxRetries": 0}},
    }


def _models(task: Task, setup: Setup) -> dict[str, Any]:
    api, path = _APIS[setup.dialect]
    model = {"id": task.model, "name": task.model, "reasoning": "thinking" in task.params, "input": ["text", "image"]}
    provider = {"baseUrl": f"{task.base_url}{path}", "api": api, "apiKey": "DEMEANOR_TOKEN", "models": [model]}
    return {"providers": {"demeanor": provider}}


def _session(task: Task) -> bytes:
    """A session file of pi."""
    zeros = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    usage = {**zeros, "totalTokens": 0, "cost": {**zeros, "total": 0}}
    model = {"api": "demeanor", "provider": "demeanor", "model": task.model, "usage": usage, "stopReason": "stop"}
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "demeanor", "timestamp": _LONG_AGO, "cwd": str(task.workspace)}
    ]
    for number, prior in enumerate(task.messages):
        message = {
            "role": prior.role,
            "content": [{"type": "text", "text": prior.text}],
            "timestamp": 1_767_225_600_000,
        }
        lines.append(
            {
                "type": "message",
                "id": f"{_PRIOR}{number}",
                "parentId": f"{_PRIOR}{number - 1}" if number else None,
                "timestamp": _LONG_AGO,
                "message": {**message, **(model if prior.role == "assistant" else {})},
            }
        )
    return jsonl_file(lines)


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """The messages of the session, without answers that ended in an error: pi discards those."""
    log = LogBuilder(RECIPE.tool_kinds, shells=RECIPE.shells)
    seen = set()
    for line in json_objects(leavings.get(_SESSION, b"").decode(errors="replace")):
        name = as_text(line.get("id"))
        if line.get("type") != "message" or name.startswith(_PRIOR) or name in seen:
            continue
        seen.add(name)
        message = as_dict(line.get("message"))
        if message.get("role") == "toolResult":
            result = joined_text(as_dicts(message.get("content")))
            log.add_result(as_text(message.get("toolCallId")), result, succeeded=message.get("isError") is not True)
        elif message.get("role") == "assistant" and as_text(message.get("stopReason")) not in {"error", "aborted"}:
            log.next_turn()
            for part in as_dicts(message.get("content")):
                _add_part(log, part)
    return log.events()


def _add_part(log: LogBuilder, part: dict[str, Any]) -> None:
    match part.get("type"):
        case "text":
            log.add_text(as_text(part.get("text")))
        case "thinking":
            log.add_thought(as_text(part.get("thinking")))
        case "toolCall":
            call = as_text(part.get("id")).partition("|")[0]
            log.add_call(call, as_text(part.get("name")), as_dict(part.get("arguments")))


RECIPE = Recipe(
    name="pi",
    title="pi",
    package=Package(
        manager="npm",
        name="@mariozechner/pi-coding-agent",
        version="0.73.1",
        program="node_modules/@mariozechner/pi-coding-agent/dist/cli.js",
        needs="node >= 20.6",
    ),
    dialects=("openai-chat", "anthropic", "openai-responses", "gemini"),
    orders=_orders,
    read_log=_read_log,
    shells=("bash",),
    prints_events=False,
    no_modes="pi never asks for permission",
    params=("thinking",),
    cannot={
        Ability.SUB_AGENTS: "it offers its model no tool that starts a sub-agent",
        Ability.MCP: "it has no client for MCP servers",
    },
)
read = reader(RECIPE)
