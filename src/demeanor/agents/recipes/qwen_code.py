"""Qwen Code. Installed with its own Node 22. It tries a failing provider seven times; that can't be configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from demeanor.agents.mcp_servers import Servers, server_tables
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package, with_own_node
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import linked_orders, prior_ids, read_stream_json
from demeanor.agents.settings import json_file
from demeanor.agents.tool_denial import denied_tools, deny_hooks
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.scenario import PriorMessage
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".qwen"
_TOOLS = (
    "edit",
    "glob",
    "grep_search",
    "list_directory",
    "notebook_edit",
    "read_file",
    "run_shell_command",
    "web_fetch",
    "write_file",
)


def _orders(task: Task, setup: Setup) -> Orders:
    """Its settings contain a hook that refuses what is denied."""
    orders = linked_orders(
        task,
        folder=f"{_FOLDER}/projects/{{project}}/chats",
        version=RECIPE.package.version,
        message=_message,
        launch=partial(_launch, task, setup),
    )
    hooks = deny_hooks(denied_tools(task.approval, _TOOLS, _KINDS))
    settings = json_file(_settings(setup), hooks, setup.settings)
    return replace(orders, home_files={**orders.home_files, f"{_FOLDER}/settings.json": settings})


def _launch(task: Task, setup: Setup, prompt: str, options: tuple[str, ...]) -> Launch:
    auth, variables = _PROVIDERS[setup.dialect]
    words = ["--auth-type", auth, "--model", task.model, "--approval-mode", setup.approval_mode or "yolo"]
    words += ["--output-format", "stream-json"]
    values = {"base_url": task.base_url, "token": task.token, "model": task.model}
    env = {name: template.format(**values) for name, template in variables.items()}
    env |= {"QWEN_CODE_NO_RELAUNCH": "true", "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
    return Launch(argv=(*with_own_node(setup.program), *words, *options, f"--prompt={prompt}"), env=env)


_PROVIDERS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "openai-chat": (
        "openai",
        {"OPENAI_BASE_URL": "{base_url}/v1", "OPENAI_API_KEY": "{token}", "OPENAI_MODEL": "{model}"},
    ),
    "anthropic": (
        "anthropic",
        {"ANTHROPIC_BASE_URL": "{base_url}", "ANTHROPIC_API_KEY": "{token}", "ANTHROPIC_MODEL": "{model}"},
    ),
    "gemini": (
        "gemini",
        {"GOOGLE_GEMINI_BASE_URL": "{base_url}", "GEMINI_API_KEY": "{token}", "GEMINI_MODEL": "{model}"},
    ),
    "openai-responses": (
        "openai-responses",
        {"OPENAI_BASE_URL": "{base_url}/v1", "OPENAI_API_KEY": "{token}", "OPENAI_MODEL": "{model}"},
    ),
}


def _settings(setup: Setup) -> dict[str, Any]:
    return {
        "security": {"auth": {"selectedType": _PROVIDERS[setup.dialect][0]}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        "telemetry": {"enabled": False},
        "model": {"generationConfig": {"maxRetries": 0}},  # its own seven tries around these can't be changed
    }


def _message(number: int, prior: PriorMessage) -> list[dict[str, Any]]:
    """The lines of a message: results of its tool calls follow as a line of their own."""
    calls = prior_ids(number, prior)
    parts: list[dict[str, Any]] = [{"text": prior.text}] if prior.text else []
    parts += [{"functionCall": {"id": name, "name": call.tool, "args": dict(call.arguments)}} for name, call in calls]
    message = {"role": "user" if prior.role == "user" else "model", "parts": parts}
    lines: list[dict[str, Any]] = [{"type": prior.role, "message": message}]
    if calls:
        results = [
            {"functionResponse": {"id": name, "name": call.tool, "response": {_outcome(call.failed): call.result}}}
            for name, call in calls
        ]
        lines.append({"type": "tool_result", "message": {"role": "user", "parts": results}})
    return lines


def _outcome(failed: bool) -> str:
    return "error" if failed else "output"


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    return read_stream_json(ends, _KINDS, RECIPE.shells)


_KINDS = {
    "list_agents": Kind.SEARCH,
    "get_goal": Kind.THINK,
    "update_goal": Kind.THINK,
    "exit_plan_mode": Kind.THINK,
}


def _mcp(servers: Servers) -> Overrides:
    return Overrides(settings={"mcpServers": server_tables(servers, http={}, url="httpUrl", trust=True)})


RECIPE = Recipe(
    name="qwen-code",
    title="Qwen Code",
    package=Package(
        manager="npm",
        name="@qwen-code/qwen-code",
        version="0.24.4",
        program="node_modules/.bin/qwen",
        also=("node-{platform}@22.23.3",),
        helpers=("node_modules/@qwen-code/qwen-code/vendor/ripgrep/*/rg",),
    ),
    dialects=("openai-chat", "openai-responses", "anthropic", "gemini"),
    debug=Overrides(env={"QWEN_DEBUG_LOG_FILE": "1"}),
    debug_files=(".qwen/debug/*.txt",),
    orders=_orders,
    read_log=_read_log,
    shells=("run_shell_command",),
    tool_kinds=_KINDS,
    approval_modes=("auto", "auto-edit", "default", "plan", "yolo"),
    params=("append_system_prompt", "system_prompt"),
    mcp=_mcp,
    resumes_calls=True,
)
read = reader(RECIPE)
