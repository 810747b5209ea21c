"""opencode. Slow to start, and needs much memory. Imports prior messages, and refuses tools by its own permissions.

The prompt comes from a file, because a prompt in the arguments would reach the model in quotation marks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.agents.jsonl import json_lines
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import merged
from demeanor.agents.tool_denial import denied_tools
from demeanor.core.text.json_values import as_dict, as_number, as_text, as_whole
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.scenario import Approval
from demeanor.core.values.trajectory import Event

_CONFIG = ".config/demeanor/opencode.json"
_PRIOR = ".config/demeanor/prior.json"
_SESSION = "ses_demeanor0000000000000000"
_START = 'PATH="${1:+$1:}$PATH"; export PATH; shift; exec "$@" < "$0"'
_LONG_AGO = 1_767_225_600_000
_MODULES = {"openai-chat": "@ai-sdk/openai-compatible", "anthropic": "@ai-sdk/anthropic"}
_PERMISSIONS = {
    "read": ("read",),
    "edit": ("edit", "write", "apply_patch"),
    "bash": ("bash",),
    "glob": ("glob",),
    "grep": ("grep",),
    "webfetch": ("webfetch",),
    "websearch": ("websearch",),
    "todowrite": ("todowrite",),
    "task": ("task",),
    "skill": ("skill",),
}
"""Its permissions → the tools that need them."""


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, all in one session; prior messages are imported as that session first."""
    files = {_CONFIG: json.dumps(merged(_config(task, setup), setup.settings)).encode()}
    env = {
        "OPENCODE_CONFIG": str(task.home / _CONFIG),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_SHARE": "1",
        "DEMEANOR_TOKEN": task.token,
    }
    launches = []
    if task.messages:
        files[_PRIOR] = json.dumps(_session(task)).encode()
        launches.append(Launch(argv=(*setup.program, "import", str(task.home / _PRIOR)), env=env))
    for index, prompt in enumerate(task.prompts):
        name = f".config/demeanor/prompt-{index + 1}.txt"
        files[name] = prompt.encode()
        words = ["run", "--format", "json", "--thinking", "--model", f"demeanor/{task.model}"]
        if task.messages:
            words += ["--session", _SESSION]
        else:
            words += ["--continue"] if index else ["--title", "demeanor"]
        if agent := task.params.get("agent") or setup.approval_mode:
            words += ["--agent", str(agent)]
        shell = ("/bin/sh", "-c", _START, str(task.home / name), _search_folder(setup))
        launches.append(Launch(argv=(*shell, *setup.program, *words), env=env))
    return Orders(launches=tuple(launches), home_files=files)


def _search_folder(setup: Setup) -> str:
    """The folder of `rg`, which its tools `glob` and `grep` start; empty if it was not installed by Demeanor."""
    folder = RECIPE.package.installation_of(Path(setup.program[-1])) if setup.program else None
    helpers = RECIPE.package.helpers_in(folder) if folder else ()
    return str(helpers[0].parent) if helpers else ""


def _config(task: Task, setup: Setup) -> dict[str, Any]:
    model = {"name": task.model, "tool_call": True, "reasoning": True, "limit": {"context": 128_000, "output": 16_384}}
    provider = {
        "npm": _MODULES[setup.dialect],
        "name": "demeanor",
        "options": {"baseURL": f"{task.base_url}/v1", "apiKey": "{env:DEMEANOR_TOKEN}"},
        "models": {task.model: model},
    }
    return {
        "provider": {"demeanor": provider},
        "permission": _permissions(task.approval),
        "experimental": {"continue_loop_on_deny": True},
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
    }


def _permissions(approval: Approval) -> dict[str, str]:
    """`ask` means refused, because there is no terminal. With `deny` the model would not even see the tool."""
    forbidden = set(denied_tools(approval, (tool for tools in _PERMISSIONS.values() for tool in tools), {}))
    ask = {name: "ask" for name, tools in _PERMISSIONS.items() if forbidden & {name, *tools}}
    return {"*": "allow", **dict.fromkeys(forbidden, "ask"), **ask}


def _session(task: Task) -> dict[str, Any]:
    """A session as it exports one."""
    session = {
        "id": _SESSION,
        "slug": "demeanor",
        "projectID": "global",
        "directory": str(task.workspace),
        "title": "demeanor",
        "version": RECIPE.package.version,
        "time": {"created": _LONG_AGO, "updated": _LONG_AGO},
    }
    messages = []
    for index, prior in enumerate(task.messages):
        info: dict[str, Any] = {
            "id": _id("msg", index),
            "sessionID": _SESSION,
            "role": prior.role,
            "agent": "build",
        }
        if prior.role == "user":
            info |= {
                "model": {"providerID": "demeanor", "modelID": task.model},
                "time": {"created": _LONG_AGO + index},
            }
        else:
            info |= _assistant_fields(task, index)
        part = {"id": _id("prt", index), "sessionID": _SESSION, "messageID": info["id"], "type": "text"}
        messages.append({"info": info, "parts": [{**part, "text": prior.text}]})
    return {"info": session, "messages": messages}


def _assistant_fields(task: Task, index: int) -> dict[str, Any]:
    return {
        "parentID": _id("msg", max(index - 1, 0)),
        "mode": "build",
        "path": {"cwd": str(task.workspace), "root": str(task.workspace)},
        "cost": 0,
        "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        "modelID": task.model,
        "providerID": "demeanor",
        "finish": "stop",
        "time": {"created": _LONG_AGO + index, "completed": _LONG_AGO + index},
    }


def _id(kind: str, index: int) -> str:
    """An id; opencode sorts by ids."""
    return f"{kind}_{index:012d}00000000000000"


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """One event per complete part of an answer."""
    log = LogBuilder(RECIPE.tool_kinds)
    for line in json_lines(ends):
        part = as_dict(line.get("part"))
        match line.get("type"):
            case "step_start":
                log.next_turn()
            case "text":
                log.add_text(as_text(part.get("text")))
            case "reasoning":
                log.add_thought(as_text(part.get("text")))
            case "tool_use":
                add_tool_use(log, part)
    return log.events()


def add_tool_use(log: LogBuilder, part: dict[str, Any]) -> None:
    """Add a tool call with its result."""
    state, call, tool = as_dict(part.get("state")), as_text(part.get("callID")), as_text(part.get("tool"))
    arguments = as_dict(state.get("input"))
    if tool == "invalid":  # a call that it could not read
        tool, arguments = as_text(arguments.get("tool")), {}
    log.add_call(call, tool, arguments)
    start, end = (as_number(as_dict(state.get("time")).get(name)) for name in ("start", "end"))
    seconds = None if start is None or end is None else (end - start) / 1000
    succeeded = state.get("status") == "completed" and part.get("tool") != "invalid"
    output = as_text(state.get("output")) or as_text(state.get("error"))
    exit_code = as_whole(as_dict(state.get("metadata")).get("exit"))
    log.add_result(call, output, succeeded=succeeded, exit_code=exit_code, seconds=seconds)


def _mcp(servers: Servers) -> Overrides:
    """With a time limit in milliseconds: the default is five seconds."""
    tables = {
        name: {"type": "remote", "url": words, "timeout": 120_000}
        if isinstance(words, str)
        else {"type": "local", "command": list(words), "timeout": 120_000}
        for name, words in servers.items()
    }
    return Overrides(settings={"mcp": tables})


RECIPE = Recipe(
    name="opencode",
    title="opencode",
    package=Package(
        manager="npm",
        name="opencode-{platform}",
        version="1.18.33",
        program="node_modules/opencode-{platform}/bin/opencode",
        also=("@vscode/ripgrep-{platform}@1.18.0",),
        helpers=("node_modules/@vscode/ripgrep-{platform}/bin/rg",),
    ),
    dialects=("openai-chat", "anthropic"),
    debug=Overrides(args=("--print-logs", "--log-level", "DEBUG")),
    orders=_orders,
    read_log=_read_log,
    approval_modes=("build", "plan"),
    params=("agent",),
    mcp=_mcp,
    start_seconds=120.0,
)
read = reader(RECIPE)
