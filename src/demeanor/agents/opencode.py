"""opencode: slow to start and hungry; it can be told prior conversations, and answers of «no», by its own means.

Its prompt comes from a file: a prompt among its arguments would arrive in quotation marks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import json_lines, number, table, text
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import laid_over
from demeanor.agents.tool_denial import denied
from demeanor.core.agent import Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.scenario import Approval
from demeanor.core.trajectory import Event

_CONFIG = ".config/demeanor/opencode.json"
_PRIOR = ".config/demeanor/prior.json"
_SESSION = "ses_demeanor0000000000000000"
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
"""What it can be asked for → the tools that need it."""


def _orders(task: Task, setup: Setup) -> Orders:
    """One run per prompt, all in one session; an earlier conversation is imported as that session first."""
    files = {_CONFIG: json.dumps(laid_over(_config(task, setup), setup.settings)).encode()}
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
        if "agent" in task.params:
            words += ["--agent", str(task.params["agent"])]
        shell = ("/bin/sh", "-c", 'exec "$@" < "$0"', str(task.home / name))
        launches.append(Launch(argv=(*shell, *setup.program, *words), env=env))
    return Orders(launches=tuple(launches), home_files=files)


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
    """What must be asked for is refused, since nobody is there; a tool denied outright would not even be offered."""
    forbidden = set(denied(approval, (tool for tools in _PERMISSIONS.values() for tool in tools), {}))
    asked_for = {name: "ask" for name, tools in _PERMISSIONS.items() if forbidden & {name, *tools}}
    return {"*": "allow", **dict.fromkeys(forbidden, "ask"), **asked_for}


def _session(task: Task) -> dict[str, Any]:
    """A session as it exports one."""
    info = {
        "id": _SESSION,
        "slug": "demeanor",
        "projectID": "global",
        "directory": str(task.workspace),
        "title": "demeanor",
        "version": RECIPE.package.version,
        "time": {"created": _LONG_AGO, "updated": _LONG_AGO},
    }
    messages = []
    for place, prior in enumerate(task.messages):
        about: dict[str, Any] = {
            "id": _name("msg", place),
            "sessionID": _SESSION,
            "role": prior.role,
            "agent": "build",
        }
        if prior.role == "user":
            about |= {
                "model": {"providerID": "demeanor", "modelID": task.model},
                "time": {"created": _LONG_AGO + place},
            }
        else:
            about |= _by_model(task, place)
        part = {"id": _name("prt", place), "sessionID": _SESSION, "messageID": about["id"], "type": "text"}
        messages.append({"info": about, "parts": [{**part, "text": prior.text}]})
    return {"info": info, "messages": messages}


def _by_model(task: Task, place: int) -> dict[str, Any]:
    return {
        "parentID": _name("msg", max(place - 1, 0)),
        "mode": "build",
        "path": {"cwd": str(task.workspace), "root": str(task.workspace)},
        "cost": 0,
        "tokens": {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}},
        "modelID": task.model,
        "providerID": "demeanor",
        "finish": "stop",
        "time": {"created": _LONG_AGO + place, "completed": _LONG_AGO + place},
    }


def _name(kind: str, place: int) -> str:
    """An id; it sorts by them."""
    return f"{kind}_{place:012d}00000000000000"


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """One event per part of an answer, told when it is complete."""
    story = LogBuilder(RECIPE.tool_kinds)
    for line in json_lines(ends):
        part = table(line.get("part"))
        match line.get("type"):
            case "step_start":
                story.next_turn()
            case "text":
                story.said(text(part.get("text")))
            case "reasoning":
                story.thought(text(part.get("text")))
            case "tool_use":
                _used(story, part)
    return story.events()


def _used(story: LogBuilder, part: dict[str, Any]) -> None:
    state, call, tool = table(part.get("state")), text(part.get("callID")), text(part.get("tool"))
    given = table(state.get("input"))
    if tool == "invalid":  # what it makes of a call that it can't read
        tool, given = text(given.get("tool")), {}
    story.called(call, tool, given)
    began, ended = (number(table(state.get("time")).get(name)) for name in ("start", "end"))
    took = None if began is None or ended is None else (ended - began) / 1000
    worked = state.get("status") == "completed" and part.get("tool") != "invalid"
    story.answered(call, text(state.get("output")) or text(state.get("error")), succeeded=worked, seconds=took)


RECIPE = Recipe(
    name="opencode",
    title="opencode",
    package=Package(
        manager="npm",
        name="opencode-{platform}",
        version="1.18.33",
        program="node_modules/opencode-{platform}/bin/opencode",
    ),
    dialects=("openai-chat", "anthropic"),
    orders=_orders,
    read_log=_read_log,
    params=("agent",),
)
read = reader(RECIPE)
