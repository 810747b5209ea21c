"""Kimi Code. Installed with its own Node 22. Its session files are read as its log: its output has no errors in it."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text, json_objects
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_file
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package, with_helpers, with_own_node
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import jsonl_file
from demeanor.agents.settings import json_file, toml_file
from demeanor.agents.tool_denial import REFUSAL, denied_tools
from demeanor.core.text.json_values import as_dict, as_number, as_text
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".kimi-code"
_LOG = f"{_FOLDER}/sessions/*/*/agents/main/wire.jsonl"
_SESSION = "session_00000000-0000-4000-8000-000000000001"
_LONG_AGO = 1_767_225_600_000
_TOOLS = ("Bash", "Edit", "FetchURL", "Glob", "Grep", "Read", "ReadMediaFile", "WebSearch", "Write")
_PROVIDERS = {
    "openai-chat": ("openai", "/v1"),
    "openai-responses": ("openai_responses", "/v1"),
    "anthropic": ("anthropic", ""),
    "gemini": ("google-genai", ""),
}


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt; the later ones continue the session of the workspace."""
    files = {f"{_FOLDER}/config.toml": toml_file(_config(task, setup), setup.settings)}
    env = {
        "KIMI_CODE_HOME": str(task.home / _FOLDER),
        "KIMI_CODE_NO_AUTO_UPDATE": "1",
        "DEMEANOR_TOKEN": task.token,
    }
    if task.messages:
        files |= _session_files(task)
    launches = []
    for index, prompt in enumerate(task.prompts):
        session = ["--continue"] if index else []
        if task.messages:
            session = [f"--session={_SESSION}"]
        words = ["--model=demeanor", "--output-format=stream-json", *session, f"--prompt={prompt}"]
        argv = with_helpers((*with_own_node(setup.program), *words), RECIPE.package, setup.program)
        launches.append(Launch(argv=argv, env=env))
    return Orders(launches=tuple(launches), home_files=files, leavings=(_LOG,))


def _session_files(task: Task) -> dict[str, bytes]:
    """A session with the prior messages, as Kimi Code stores it."""
    digest = hashlib.sha256(str(task.workspace).encode()).hexdigest()[:12]
    folder = f"{_FOLDER}/sessions/wd_{task.workspace.name}_{digest}/{_SESSION}"
    main = {"homedir": str(task.home / folder / "agents/main"), "type": "main"}
    times = {"createdAt": _LONG_AGO, "updatedAt": _LONG_AGO}
    state = {"id": _SESSION, "version": 2, "cwd": str(task.workspace), "agents": {"main": main}, **times}
    index = {"sessionId": _SESSION, "sessionDir": str(task.home / folder), "workDir": str(task.workspace)}
    lines = [
        {
            "type": "context.append_message",
            "agentId": "main",
            "message": {"role": prior.role, "content": [{"type": "text", "text": prior.text}], "toolCalls": []},
            "time": _LONG_AGO,
        }
        for prior in task.messages
    ]
    head = {"type": "metadata", "protocol_version": "1.5", "created_at": _LONG_AGO}
    return {
        f"{folder}/agents/main/wire.jsonl": jsonl_file((head, *lines)),
        f"{folder}/state.json": json_file(state),
        f"{_FOLDER}/session_index.jsonl": jsonl_file((index,)),
    }


def _config(task: Task, setup: Setup) -> dict[str, Any]:
    kind, path = _PROVIDERS[setup.dialect]
    forbidden = "|".join(map(re.escape, denied_tools(task.approval, _TOOLS, _KINDS)))
    refuse = f"printf %s {shlex.quote(REFUSAL)} >&2; exit 2"
    return {
        "default_model": "demeanor",
        "telemetry": False,
        "auto_session_title": False,
        "providers": {
            "demeanor": {"type": kind, "base_url": f"{task.base_url}{path}", "api_key_env": "DEMEANOR_TOKEN"}
        },
        "models": {"demeanor": {"provider": "demeanor", "model": task.model, "max_context_size": 128_000}},
        "loop_control": {"max_attempts_per_step": setup.retries + 1},
        **({"hooks": [{"event": "PreToolUse", "matcher": f"^({forbidden})$", "command": refuse}]} if forbidden else {}),
    }


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """The steps of the main agent. Sub-agents have files of their own, and prior messages are not steps."""
    log = LogBuilder(RECIPE.tool_kinds, shells=RECIPE.shells)
    for content in leavings.values():
        for line in json_objects(content.decode(errors="replace")):
            if line.get("type") == "context.append_loop_event":
                _add_event(log, as_dict(line.get("event")))
    return log.events()


def _add_event(log: LogBuilder, event: dict[str, Any]) -> None:
    match event.get("type"):
        case "step.begin":
            log.next_turn()
        case "content.part":
            part = as_dict(event.get("part"))
            log.add_thought(as_text(part.get("think")))
            log.add_text(as_text(part.get("text")))
        case "tool.call":
            log.add_call(as_text(event.get("toolCallId")), as_text(event.get("name")), as_dict(event.get("args")))
        case "tool.result":
            result = as_dict(event.get("result"))
            milliseconds = as_number(result.get("durationMs"))
            log.add_result(
                as_text(event.get("toolCallId")),
                joined_text(result.get("output")),
                succeeded=result.get("isError") is not True,
                seconds=None if milliseconds is None else milliseconds / 1000,
            )


_KINDS = {
    "FetchURL": Kind.FETCH,
    "ReadMediaFile": Kind.READ,
    "TaskOutput": Kind.EXECUTE,
    "TaskStop": Kind.EXECUTE,
    "TodoList": Kind.THINK,
    "EnterPlanMode": Kind.THINK,
    "ExitPlanMode": Kind.THINK,
    "CreateGoal": Kind.THINK,
    "GetGoal": Kind.THINK,
    "UpdateGoal": Kind.THINK,
}


def _mcp(servers: Servers) -> Overrides:
    return Overrides(home_files={f"{_FOLDER}/mcp.json": server_file(servers, http={"transport": "http"})})


RECIPE = Recipe(
    name="kimi-code",
    title="Kimi Code",
    package=Package(
        manager="npm",
        name="@moonshot-ai/kimi-code",
        version="2.1.0",
        program="node_modules/.bin/kimi",
        also=("node-{platform}@22.23.3", "@vscode/ripgrep-{platform}@1.18.0"),
        helpers=("node_modules/@vscode/ripgrep-{platform}/bin/rg",),
    ),
    dialects=("openai-chat", "openai-responses", "anthropic", "gemini"),
    orders=_orders,
    read_log=_read_log,
    shells=("Bash",),
    tool_kinds=_KINDS,
    no_modes="Kimi Code has its modes only in a terminal",
    mcp=_mcp,
)
read = reader(RECIPE)
