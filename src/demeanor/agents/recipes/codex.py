"""Codex. Speaks OpenAI's Responses API only. Its session file has more detail than its output, so that is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text, json_arguments
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_tables
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import LONG_AGO, jsonl_file, prior_ids, session_id
from demeanor.agents.settings import json_file, toml_file
from demeanor.agents.tool_denial import denied_tools, deny_hooks
from demeanor.core.text.json_values import as_dict, as_number, as_text, as_whole
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.messages import full_tool_name
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.scenario import Approval
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".codex"
_SESSIONS = f"{_FOLDER}/sessions/2020/01/01"
_ROLLOUTS = f"{_FOLDER}/sessions/*/*/*/rollout-*.jsonl"
_HOOK_NAMES = {"exec_command": "Bash"}
"""Tools whose name in hooks is not the name that the model uses."""


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, all in one session; prior messages are a session that exists already."""
    files = {f"{_FOLDER}/config.toml": toml_file(_settings(task, setup), setup.settings)}
    forbidden = _forbidden(task.approval)
    if forbidden:
        files[f"{_FOLDER}/hooks.json"] = json_file(deny_hooks(_HOOK_NAMES.get(tool, tool) for tool in forbidden))
    session = session_id(task)
    if task.messages:
        files[f"{_SESSIONS}/rollout-2020-01-01T00-00-00-{session}.jsonl"] = _session_file(task, session)
    launches: list[Launch] = []
    for prompt in task.prompts:
        resume = ["resume", "--last"] if launches else []
        if task.messages:
            resume = ["resume", session]
        words = ["exec", "--json", "--skip-git-repo-check", *_mode(setup)]
        words += ["--dangerously-bypass-hook-trust", *resume] if forbidden else resume
        env = {"CODEX_HOME": str(task.home / _FOLDER), "DEMEANOR_TOKEN": task.token}
        launches.append(Launch(argv=(*setup.program, *words, "--", prompt), env=env))
    return Orders(launches=tuple(launches), home_files=files, leavings=(_ROLLOUTS,))


def _mode(setup: Setup) -> tuple[str, ...]:
    """Without a terminal it never asks; its modes are those of its own sandbox."""
    if setup.approval_mode:
        return ("--sandbox", setup.approval_mode)
    return ("--dangerously-bypass-approvals-and-sandbox",)


def _forbidden(approval: Approval) -> tuple[str, ...]:
    """The tools that it must not use. It can edit files with its shell too, so denying edits denies the shell as well,
    unless a rule allows it.

    Its own read-only sandbox is not an alternative: it can't be set up inside ours, and then no command runs at all.
    """
    denied = denied_tools(approval, ("exec_command", "apply_patch"), _KINDS)
    shell_allowed = "allow" in (approval.rules.get("exec_command"), approval.rules.get(Kind.EXECUTE))
    if "apply_patch" not in denied or shell_allowed:
        return denied
    return tuple(dict.fromkeys((*denied, "exec_command")))


def _settings(task: Task, setup: Setup) -> dict[str, Any]:
    provider = {
        "name": "Demeanor",
        "base_url": f"{task.base_url}/v1",
        "env_key": "DEMEANOR_TOKEN",
        "wire_api": "responses",
        "request_max_retries": setup.retries,
        "stream_max_retries": setup.retries,
    }
    instructions = task.params.get("append_system_prompt")
    return {
        "model": task.model,
        "model_provider": "demeanor",
        "model_providers": {"demeanor": provider},
        "web_search": "disabled",
        "check_for_update_on_startup": False,
        "analytics": {"enabled": False},
        "feedback": {"enabled": False},
        "features": {"plugins": False, "apps": False, "plugin_sharing": False, "plugin_discovery_prefetch": False},
        **({"developer_instructions": str(instructions)} if instructions is not None else {}),
    }


def _session_file(task: Task, session: str) -> bytes:
    """A session file: a line about the session, then one message per line."""
    about = {
        "id": session,
        "session_id": session,
        "timestamp": LONG_AGO,
        "cwd": str(task.workspace),
        "originator": "codex_exec",
        "cli_version": RECIPE.package.version,
        "source": "exec",
        "model_provider": "demeanor",
    }
    lines: list[tuple[str, dict[str, Any]]] = [("session_meta", about)]
    for number, message in enumerate(task.messages):
        kind = "input_text" if message.role == "user" else "output_text"
        content = [{"type": kind, "text": message.text}]
        if message.text:
            lines.append(("response_item", {"type": "message", "role": message.role, "content": content}))
        calls = prior_ids(number, message)
        for name, call in calls:
            arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
            requested = {"type": "function_call", "name": call.tool, "arguments": arguments, "call_id": name}
            lines.append(("response_item", requested))
        for name, call in calls:
            lines.append(("response_item", {"type": "function_call_output", "call_id": name, "output": call.result}))
    return jsonl_file({"timestamp": LONG_AGO, "type": kind, "payload": payload} for kind, payload in lines)


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`response_item` lines hold requests and answers of the model; events report how a command ended.

    A sub-agent has a session file of its own, whose first line names the thread of its parent.
    """
    log = LogBuilder(_KINDS)
    result = ""
    for name in sorted(leavings):
        begun, answered, sub_agent = False, True, 0
        for kind, payload in _lines(leavings[name]):
            if kind == "session_meta" and is_sub_agent(payload):
                sub_agent = log.sub_agent(as_text(payload.get("id")) or name)
            begun = begun or kind == "turn_context"  # lines before the first are prior messages
            if not begun:
                continue
            if kind == "response_item":
                by_model = payload.get("type") in ANSWERS and payload.get("role", "assistant") == "assistant"
                if by_model and answered and not sub_agent:
                    log.next_turn()
                answered = not by_model
                add_item(log, payload, sub_agent)
            elif kind == "token_usage_record":
                answered = True
            elif payload.get("type") == "item_completed":
                add_outcome(log, as_dict(payload.get("item")), sub_agent)
            elif payload.get("type") in ("task_started", "task_complete") and not sub_agent:
                result = as_text(payload.get("last_agent_message"))
    log.conclude(result)
    return log.events()


def is_sub_agent(session: dict[str, Any]) -> bool:
    """Whether the first line of a session file says that it is a sub-agent's."""
    return session.get("thread_source") == "subagent" or "subagent" in as_dict(session.get("source"))


def _lines(content: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in content.decode("utf-8", "replace").splitlines():
        try:
            data = as_dict(json.loads(line))
        except (ValueError, RecursionError):
            continue
        yield as_text(data.get("type")), as_dict(data.get("payload"))


_REFUSED = ("Command blocked by PreToolUse hook", "Tool call blocked by PreToolUse hook")
ANSWERS = ("message", "reasoning", "function_call", "custom_tool_call")
"""The types of items that a model answers with."""


def add_item(log: LogBuilder, item: dict[str, Any], sub_agent: int) -> None:
    """Add an item of the Responses API: a message, reasoning, a call or the output of one."""
    call = as_text(item.get("call_id"))
    match item.get("type"):
        case "message" if item.get("role") == "assistant":
            log.add_text(joined_text(item.get("content")), sub_agent=sub_agent)
        case "reasoning":
            log.add_thought(joined_text(item.get("summary")), sub_agent=sub_agent)
        case "function_call":
            log.add_call(call, _tool_name(item), json_arguments(item.get("arguments")), sub_agent=sub_agent)
        case "custom_tool_call":
            log.add_call(call, _tool_name(item), {"input": as_text(item.get("input"))}, sub_agent=sub_agent)
        case "function_call_output" | "custom_tool_call_output":
            result = joined_text(item.get("output"))
            refused = result.startswith(_REFUSED)
            log.add_result(call, result, succeeded=False if refused else None, sub_agent=sub_agent)


def _tool_name(item: dict[str, Any]) -> str:
    """The tool's name as on the wire: with that of its namespace, if it is in one."""
    namespace, name = as_text(item.get("namespace")), as_text(item.get("name"))
    return full_tool_name(namespace, name) if namespace else name


def add_outcome(log: LogBuilder, item: dict[str, Any], sub_agent: int) -> None:
    """How a command, a patch or another tool ended; the model gets this as text only."""
    if item.get("type") not in ("CommandExecution", "FileChange", "McpToolCall", "CollabAgentToolCall"):
        return
    duration = as_dict(item.get("duration"))
    whole, nanos = as_number(duration.get("secs")), as_number(duration.get("nanos"))
    log.add_result(
        as_text(item.get("id")),
        None,
        succeeded=item.get("status") == "completed",
        exit_code=as_whole(item.get("exit_code")),
        seconds=None if whole is None else whole + (nanos or 0.0) / 1e9,
        sub_agent=sub_agent,
    )


_KINDS = {
    "write_stdin": Kind.EXECUTE,
    "view_image": Kind.READ,
    "get_goal": Kind.THINK,
    "create_goal": Kind.THINK,
    "update_goal": Kind.THINK,
}


def _mcp(servers: Servers) -> Overrides:
    """Required servers are waited for; otherwise Codex leaves out those that do not start within a second."""
    return Overrides(settings={"mcp_servers": server_tables(servers, http={}, required=True, startup_timeout_sec=120)})


RECIPE = Recipe(
    name="codex",
    title="Codex",
    package=Package(manager="npm", name="@openai/codex", version="0.169.0", program="node_modules/.bin/codex"),
    dialects=("openai-responses",),
    debug=Overrides(env={"RUST_LOG": "debug"}),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    approval_modes=("danger-full-access", "read-only", "workspace-write"),
    params=("append_system_prompt",),
    mcp=_mcp,
    resumes_calls=True,
    cannot={
        Ability.DENY_KIND: "to a model that it does not know it offers its shell only, which edits files too",
    },
)
read = reader(RECIPE)
