"""Qwen Code: a newer Node than most machines have comes with it; asks a failing provider seven times, come what may."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import json_file, own_settings
from demeanor.agents.stream_json import read_stream_json
from demeanor.agents.tool_denial import denied, hooks
from demeanor.core.agent import Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind

_FOLDER = ".qwen"
_LONG_AGO = "2020-01-01T00:00:00.000Z"
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
    """One run per prompt, all of one session; an earlier conversation is a session that is there already."""
    session = str(uuid.uuid5(uuid.NAMESPACE_OID, f"demeanor/{task.seed}"))
    settings = (_settings(setup), hooks(denied(task.approval, _TOOLS, _KINDS)), setup.settings, own_settings(task))
    files = {f"{_FOLDER}/settings.json": json_file(*settings)}
    if task.messages:
        place = re.sub(r"[^A-Za-z0-9]", "-", str(task.workspace))
        files[f"{_FOLDER}/projects/{place}/chats/{session}.jsonl"] = _conversation(task, session)
    launches: list[Launch] = []
    for prompt in task.prompts:
        kept = "--resume" if task.messages or launches else "--session-id"
        launches.append(_launch(task, setup, prompt, (kept, session)))
    return Orders(launches=tuple(launches), home_files=files)


def _launch(task: Task, setup: Setup, prompt: str, session: tuple[str, str]) -> Launch:
    auth, variables = _PROVIDERS[setup.dialect]
    words = ["--auth-type", auth, "--model", task.model, "--approval-mode", "yolo", "--output-format", "stream-json"]
    for param, option in (("append_system_prompt", "--append-system-prompt"), ("system_prompt", "--system-prompt")):
        if param in task.params:
            words.append(f"{option}={task.params[param]}")
    places = {"base_url": task.base_url, "token": task.token, "model": task.model}
    env = {name: value.format(**places) for name, value in variables.items()}
    env |= {"QWEN_CODE_NO_RELAUNCH": "true", "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
    return Launch(argv=(*_program(setup), *words, *session, f"--prompt={prompt}"), env=env)


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


def _program(setup: Setup) -> tuple[str, ...]:
    """It needs Node 22: the one that was installed beside it, if there is one."""
    beside = Path(setup.program[-1]).with_name("node") if setup.program else Path()
    return (str(beside), *setup.program) if len(setup.program) == 1 and beside.is_file() else setup.program


def _settings(setup: Setup) -> dict[str, Any]:
    return {
        "security": {"auth": {"selectedType": _PROVIDERS[setup.dialect][0]}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        "telemetry": {"enabled": False},
        "model": {"generationConfig": {"maxRetries": 0}},  # its own seven tries around these can't be changed
    }


def _conversation(task: Task, session: str) -> bytes:
    """A session file: one message per line, each naming the one before it."""
    lines = []
    parent = None
    for number, message in enumerate(task.messages):
        own = str(uuid.uuid5(uuid.UUID(session), str(number)))
        role = "user" if message.role == "user" else "model"
        line = {
            "uuid": own,
            "parentUuid": parent,
            "sessionId": session,
            "timestamp": _LONG_AGO,
            "type": message.role,
            "cwd": str(task.workspace),
            "version": RECIPE.package.version,
            "message": {"role": role, "parts": [{"text": message.text}]},
        }
        lines.append(json.dumps(line, ensure_ascii=False))
        parent = own
    return "".join(f"{line}\n" for line in lines).encode()


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    return read_stream_json(ends, _KINDS)


_KINDS = {
    "list_agents": Kind.SEARCH,
    "get_goal": Kind.THINK,
    "update_goal": Kind.THINK,
    "exit_plan_mode": Kind.THINK,
}

RECIPE = Recipe(
    name="qwen-code",
    title="Qwen Code",
    package=Package(
        manager="npm",
        name="@qwen-code/qwen-code",
        version="0.24.4",
        program="node_modules/.bin/qwen",
        also=("node-{platform}@22.23.3",),
    ),
    dialects=("openai-chat", "openai-responses", "anthropic", "gemini"),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    params=("append_system_prompt", "settings", "system_prompt"),
)
read = reader(RECIPE)
