"""Claude Code: speaks the Anthropic API only; keeps its sessions as files that others can write too."""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Mapping
from typing import Any

from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import json_file, own_settings
from demeanor.agents.stream_json import read_stream_json
from demeanor.agents.tool_denial import denied, hooks
from demeanor.core.agent import Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind

_FOLDER = ".claude"
_TOOLS = ("Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write")
_LONG_AGO = "2020-01-01T00:00:00.000Z"


def _orders(task: Task, setup: Setup) -> Orders:
    """One run per prompt, all of one session; an earlier conversation is a session that is there already."""
    session = str(uuid.uuid5(uuid.NAMESPACE_OID, f"demeanor/{task.seed}"))
    files = {
        f"{_FOLDER}/settings.json": json_file(
            hooks(denied(task.approval, _TOOLS, _KINDS)), setup.settings, own_settings(task)
        )
    }
    if task.messages:
        place = re.sub(r"[^A-Za-z0-9]", "-", str(task.workspace))
        files[f"{_FOLDER}/projects/{place}/{session}.jsonl"] = _conversation(task, session)
    launches: list[Launch] = []
    for prompt in task.prompts:
        known = bool(task.messages or launches)
        launches.append(_launch(task, setup, prompt, ("--resume" if known else "--session-id", session)))
    return Orders(launches=tuple(launches), home_files=files)


def _launch(task: Task, setup: Setup, prompt: str, session: tuple[str, str]) -> Launch:
    words = ["--print", "--model", task.model, "--output-format", "stream-json", "--verbose", *session]
    words.append("--dangerously-skip-permissions")
    for param, option in (("append_system_prompt", "--append-system-prompt"), ("system_prompt", "--system-prompt")):
        if param in task.params:
            words += [option, str(task.params[param])]
    env = {
        "ANTHROPIC_BASE_URL": task.base_url,
        "ANTHROPIC_API_KEY": task.token,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": task.model,  # side requests and sub-agents go to the model under test too
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
        # As root it refuses to work without asking, unless it is told that something else keeps it in: the bench does.
        env["IS_SANDBOX"] = "1"
    return Launch(argv=(*setup.program, *words, "--", prompt), env=env)


def _conversation(task: Task, session: str) -> bytes:
    """A session file: one message per line, each naming the one before it."""
    lines = []
    parent = None
    for number, message in enumerate(task.messages):
        own = str(uuid.uuid5(uuid.UUID(session), str(number)))
        said: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.role == "assistant":
            said = {
                "id": f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": task.model,
                "content": [{"type": "text", "text": message.text}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 0, "output_tokens": 0},
            }
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(task.workspace),
            "sessionId": session,
            "version": RECIPE.package.version,
            "type": message.role,
            "message": said,
            "uuid": own,
            "timestamp": _LONG_AGO,
        }
        lines.append(json.dumps(line, ensure_ascii=False))
        parent = own
    return "".join(f"{line}\n" for line in lines).encode()


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    return read_stream_json(ends, _KINDS)


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

RECIPE = Recipe(
    name="claude-code",
    title="Claude Code",
    package=Package(
        manager="npm",
        name="@anthropic-ai/claude-code-{platform}",
        version="2.1.325",
        program="node_modules/@anthropic-ai/claude-code-{platform}/claude",
    ),
    dialects=("anthropic",),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    params=("append_system_prompt", "settings", "system_prompt"),
)
read = reader(RECIPE)
