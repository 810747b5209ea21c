"""Claude Code. Speaks the Anthropic API only. Prior messages are written as one of its session files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from demeanor.agents.mcp_servers import Servers, server_file
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import linked_orders, prior_ids, read_stream_json
from demeanor.agents.settings import json_file
from demeanor.agents.streamed_input import streamed_orders
from demeanor.agents.tool_denial import denied_tools, deny_hooks
from demeanor.core.values.agent import DEBUG_LOG, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.scenario import PriorMessage
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".claude"
_SERVERS = f"{_FOLDER}/mcp-servers.json"
_TOOLS = ("Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write")


def _orders(task: Task, setup: Setup) -> Orders:
    """Its settings contain a hook that refuses what is denied."""
    orders = linked_orders(
        task,
        folder=f"{_FOLDER}/projects/{{project}}",
        version=RECIPE.package.version,
        message=partial(_message, task.model),
        launch=partial(_launch, task, setup),
    )
    hooks = deny_hooks(denied_tools(task.approval, _TOOLS, _KINDS))
    settings = json_file(hooks, setup.settings)
    return replace(orders, home_files={**orders.home_files, f"{_FOLDER}/settings.json": settings})


def _launch(task: Task, setup: Setup, prompt: str, options: tuple[str, ...]) -> Launch:
    words = ["--print", "--model", task.model, "--output-format", "stream-json", "--verbose", *options]
    mode = setup.approval_mode
    words += ["--permission-mode", mode] if mode else ["--dangerously-skip-permissions"]
    env = {
        "ANTHROPIC_BASE_URL": task.base_url,
        "ANTHROPIC_API_KEY": task.token,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": task.model,  # side requests and sub-agents use the model under test too
        "ANTHROPIC_DEFAULT_SONNET_MODEL": task.model,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": task.model,
        "CLAUDE_CONFIG_DIR": str(task.home / _FOLDER),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": str(setup.retries),
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }
    if os.geteuid() == 0:
        # As root it refuses --dangerously-skip-permissions unless it knows that it runs in a sandbox. It does.
        env["IS_SANDBOX"] = "1"
    return Launch(argv=(*setup.program, *words, "--", prompt), env=env)


def _message(model: str, number: int, prior: PriorMessage) -> list[dict[str, Any]]:
    """The lines of a message: results of its tool calls are a message of the user."""
    calls = prior_ids(number, prior)
    content: dict[str, Any] = {"role": prior.role, "content": prior.text}
    if prior.role == "assistant":
        uses = [
            {"type": "tool_use", "id": name, "name": call.tool, "input": dict(call.arguments)} for name, call in calls
        ]
        content = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [*([{"type": "text", "text": prior.text}] if prior.text else []), *uses],
            "stop_reason": "tool_use" if uses else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
    messages = [content]
    if calls:
        results = [
            {
                "type": "tool_result",
                "tool_use_id": name,
                "content": call.result,
                **({"is_error": True} if call.failed else {}),
            }
            for name, call in calls
        ]
        messages.append({"role": "user", "content": results})
    return [
        {"type": message["role"], "isSidechain": False, "userType": "external", "message": message}
        for message in messages
    ]


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    return read_stream_json(ends, _KINDS, RECIPE.shells)


_KINDS = {
    "NotebookEdit": Kind.EDIT,
    "BashOutput": Kind.EXECUTE,
    "KillShell": Kind.EXECUTE,
    "ToolSearch": Kind.SEARCH,
    "ListAgents": Kind.SEARCH,
    "EnterPlanMode": Kind.THINK,
    "ExitPlanMode": Kind.THINK,
    "TaskCreate": Kind.THINK,
    "TaskGet": Kind.THINK,
    "TaskList": Kind.THINK,
    "TaskUpdate": Kind.THINK,
}


def _mcp(servers: Servers) -> Overrides:
    return Overrides(args=("--mcp-config", f"{{home}}/{_SERVERS}"), home_files={_SERVERS: server_file(servers)})


RECIPE = Recipe(
    name="claude-code",
    title="Claude Code",
    package=Package(
        manager="npm",
        name="@anthropic-ai/claude-code-{platform}",
        version="2.1.327",
        program="node_modules/@anthropic-ai/claude-code-{platform}/claude",
    ),
    dialects=("anthropic",),
    debug=Overrides(args=("--debug-file", f"{{home}}/{DEBUG_LOG}")),
    orders=_orders,
    read_log=_read_log,
    shells=("Bash",),
    tool_kinds=_KINDS,
    approval_modes=("acceptEdits", "auto", "bypassPermissions", "dontAsk", "manual", "plan"),
    params=("append_system_prompt", "system_prompt"),
    mcp=_mcp,
    steer=streamed_orders,
    resumes_calls=True,
)
read = reader(RECIPE)
