"""Mistral Vibe. Prior messages are written as a session of an earlier version, which it imports when it resumes it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text, json_arguments, json_lines
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_tables
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import LONG_AGO, jsonl_file, session_id
from demeanor.agents.settings import json_file, toml_file
from demeanor.agents.tool_denial import REFUSAL, denied_tools
from demeanor.core.text.json_values import as_dict, as_dicts, as_text, as_whole
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".vibe"
_SESSIONS = f"{_FOLDER}/logs/session"
_LOG = (
    f"{_SESSIONS}/session_*/meta.json",
    f"{_SESSIONS}/unified/*/generations/*/manifest.json",
    f"{_SESSIONS}/unified/*/chunks/*.json",
)
_TOOLS = ("bash", "edit", "glob", "grep", "process_start", "read_file", "run_typescript", "web_fetch", "write_file")


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt; the later ones continue the last session."""
    files = {f"{_FOLDER}/config.toml": toml_file(_config(task, setup), setup.settings)}
    if forbidden := denied_tools(task.approval, _TOOLS, _KINDS):
        files[f"{_FOLDER}/hooks.toml"] = toml_file(_hooks(forbidden))
    if task.messages:
        files |= _session_files(task)
    env = {
        "VIBE_HOME": str(task.home / _FOLDER),
        "DEMEANOR_TOKEN": task.token,
        "MISTRAL_API_KEY": task.token,  # without one it looks for it in the system's keyring
    }
    launches = []
    for index, prompt in enumerate(task.prompts):
        resume = [f"--resume={session_id(task)}"] if task.messages else []
        if index:
            resume = ["--continue"]
        mode = ["--agent", setup.approval_mode] if setup.approval_mode else ["--auto-approve"]
        words = [*mode, "--trust", "--output", "streaming", *resume, f"--prompt={prompt}"]
        launches.append(Launch(argv=(*setup.program, *words), env=env))
    return Orders(launches=tuple(launches), home_files=files, leavings=_LOG)


def _config(task: Task, setup: Setup) -> dict[str, Any]:
    provider = {
        "name": "demeanor",
        "api_base": f"{task.base_url}/v1",
        "api_key_env_var": "DEMEANOR_TOKEN",
        "api_style": "openai",
        "backend": "generic",
    }
    return {
        "active_model": "demeanor",
        "enable_telemetry": False,
        "enable_update_checks": False,
        "enable_auto_update": False,
        "enable_connectors": False,
        "session_logging": {"generate_titles": False},
        "api_retry_max_elapsed_time": 5.0 * setup.retries,
        "providers": [provider],
        "models": [{"name": task.model, "provider": "demeanor", "alias": "demeanor"}],
    }


def _hooks(forbidden: tuple[str, ...]) -> dict[str, Any]:
    """A hook that denies these tools; a failure of the hook denies them too."""
    answer = shlex.quote(json.dumps({"decision": "deny", "reason": REFUSAL}))
    names = "|".join(map(re.escape, forbidden))
    hook = {"name": "approval", "type": "pre_tool", "match": f"re:{names}", "strict": True}
    return {"hooks": [{**hook, "command": f"printf %s {answer}"}]}


def _session_files(task: Task) -> dict[str, bytes]:
    session = session_id(task)
    folder = f"{_SESSIONS}/session_20200101_000000_{session[:8]}"
    meta = {
        "session_id": session,
        "start_time": LONG_AGO,
        "end_time": LONG_AGO,
        "git_commit": None,
        "git_branch": None,
        "username": "demeanor",
        "environment": {"working_directory": str(task.workspace)},
        "total_messages": len(task.messages),
    }
    messages = ({"role": prior.role, "content": prior.text} for prior in task.messages)
    return {f"{folder}/meta.json": json_file(meta), f"{folder}/messages.jsonl": jsonl_file(messages)}


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """The conversation in the last checkpoint of the main session, without the prior messages.

    Its output is made for people: it has other names for tools and arguments, and no ids.
    """
    log = LogBuilder(RECIPE.tool_kinds)
    session = next((as_text(line.get("sessionId")) for line in json_lines(ends) if line.get("sessionId")), "")
    folder = f"{_SESSIONS}/unified/{session}"
    manifests = sorted(path for path in leavings if path.startswith(f"{folder}/") and path.endswith("/manifest.json"))
    chunks = as_dict(_json(leavings, manifests[-1]).get("checkpoint")).get("chunks") if manifests else None
    messages = [
        as_dict(entry.get("message"))
        for chunk in (chunks if isinstance(chunks, list) else ())
        for entry in as_dicts(_json(leavings, f"{folder}/chunks/{chunk}.json").get("value"))
    ]
    for message in messages[_count_prior(leavings) :]:
        _add_message(log, message)
    return log.events()


def _json(leavings: Mapping[str, bytes], path: str) -> dict[str, Any]:
    """The content of a file; a list as its `value`."""
    try:
        data = json.loads(leavings.get(path, b"{}"))
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error
    return {"value": data} if isinstance(data, list) else as_dict(data)


def _count_prior(leavings: Mapping[str, bytes]) -> int:
    numbers = (
        _json(leavings, path).get("total_messages") for path in leavings if path.startswith(f"{_SESSIONS}/session_")
    )
    return next((number for number in numbers if isinstance(number, int)), 0)


def _add_message(log: LogBuilder, message: dict[str, Any]) -> None:
    parts = as_dicts(message.get("content"))
    if message.get("role") == "tool":
        call, result = as_text(message.get("tool_call_id")), joined_text(parts)
        exit_code = as_whole(json_arguments(result).get("returncode")) if message.get("name") == "bash" else None
        log.add_result(call, result, succeeded=message.get("outcome") == "success", exit_code=exit_code)
    elif message.get("role") == "assistant":
        log.next_turn()
        for part in parts:
            match part.get("type"):
                case "text":
                    log.add_text(as_text(part.get("text")))
                case "reasoning":
                    log.add_thought(joined_text(part.get("content")))
                case "tool_call":
                    arguments = as_dict(as_dict(part.get("arguments")).get("value"))
                    log.add_call(as_text(part.get("id")), as_text(part.get("name")), arguments)


_KINDS = {
    "process_start": Kind.EXECUTE,
    "run_typescript": Kind.EXECUTE,
    "search_tool_functions": Kind.SEARCH,
    "todo": Kind.THINK,
    "unified_harness_scratchpad": Kind.THINK,
}


def _mcp(servers: Servers) -> Overrides:
    tables = server_tables(servers, http={"transport": "streamable-http"})
    return Overrides(
        settings={"mcp_servers": [{"name": name, "transport": "stdio", **table} for name, table in tables.items()]}
    )


RECIPE = Recipe(
    name="vibe",
    title="Mistral Vibe",
    package=Package(
        manager="pip", name="mistral-vibe", version="3.0.2", program="bin/vibe", needs="python >= 3.12, < 3.14"
    ),
    dialects=("openai-chat",),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    approval_modes=("accept-edits", "ask", "auto-approve", "smart-approve"),
    mcp=_mcp,
    cannot={
        Ability.MCP: "its model calls MCP tools from TypeScript code, not as tools of their own",
        Ability.SUB_AGENTS: "it offers its model no tool that starts a sub-agent",
    },
)
read = reader(RECIPE)
