"""OpenHands. Exits with 0 even if every model call failed. Its log is a folder with one file per event."""

from __future__ import annotations

import json
import re
import shlex
import uuid
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text, json_arguments
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_file
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import session_id
from demeanor.agents.settings import json_file
from demeanor.agents.tool_denial import REFUSAL, denied_tools
from demeanor.core.text.json_values import as_dict, as_text, as_whole
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".openhands"
_TOOLS = ("file_editor", "glob", "grep", "terminal")


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, all in one conversation. A name that does not exist yet starts a new one."""
    conversation = uuid.UUID(session_id(task))
    files = {f"{_FOLDER}/agent_settings.json": json_file(_settings(task, setup), setup.settings)}
    if forbidden := denied_tools(task.approval, _TOOLS, _KINDS):
        files[f"{_FOLDER}/hooks.json"] = json_file(_hooks(forbidden))
    env = {
        "OPENHANDS_PERSISTENCE_DIR": str(task.home / _FOLDER),
        "OPENHANDS_SUPPRESS_BANNER": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "GIT_ALLOW_PROTOCOL": "file",  # it would clone a repository with skills
        "TMUX_TMPDIR": str(task.home),  # trials must not share a terminal server
        "PYTHONDONTWRITEBYTECODE": "1",
        "LLM_API_KEY": task.token,
    }
    words = ("--headless", "--json", "--always-approve", "--exit-without-confirmation", "--override-with-envs")
    launches = [
        Launch(argv=(*setup.program, *words, f"--resume={conversation}", f"--task={prompt}"), env=env)
        for prompt in task.prompts
    ]
    log = f"{_FOLDER}/conversations/{conversation.hex}/events/*.json"
    return Orders(launches=tuple(launches), home_files=files, leavings=(log,))


def _settings(task: Task, setup: Setup) -> dict[str, Any]:
    """Its model; the key is in an environment variable."""
    model = {
        "model": f"openai/{task.model}",
        "base_url": f"{task.base_url}/v1",
        "usage_id": "agent",
        "num_retries": setup.retries + 1,
        "retry_min_wait": 1,
        "retry_multiplier": 1,
    }
    return {"kind": "Agent", "llm": model, "tools": []}


def _hooks(forbidden: tuple[str, ...]) -> dict[str, Any]:
    """A hook that denies these tools: the exit code 2 blocks a call."""
    answer = shlex.quote(json.dumps({"decision": "deny", "reason": REFUSAL}))
    hook = {"type": "command", "command": f"printf %s {answer}; exit 2"}
    return {"pre_tool_use": [{"matcher": f"({'|'.join(map(re.escape, forbidden))})", "hooks": [hook]}]}


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """The events in the order of their files. The calls of one answer have its id."""
    log = LogBuilder(RECIPE.tool_kinds)
    answer = None
    for path in sorted(leavings):
        event = _json(leavings, path)
        if (response := event.get("llm_response_id")) and response != answer:
            log.next_turn()
            answer = response
        match event.get("kind"):
            case "MessageEvent" if event.get("source") == "agent":
                message = as_dict(event.get("llm_message"))
                log.add_thought(as_text(message.get("reasoning_content")))
                log.add_text(joined_text(message.get("content")))
            case "ActionEvent":
                _add_call(log, event)
            case "ObservationEvent":
                _add_result(log, event)
            case "AgentErrorEvent" | "UserRejectObservation":
                output = as_text(event.get("error")) or as_text(event.get("rejection_reason"))
                log.add_result(as_text(event.get("tool_call_id")), output, succeeded=False)
    return log.events()


def _add_result(log: LogBuilder, event: dict[str, Any]) -> None:
    """A result. The exit code -1 means that the command still runs."""
    seen = as_dict(event.get("observation"))
    output, exit_code = joined_text(seen.get("content")), as_whole(seen.get("exit_code"))
    log.add_result(
        as_text(event.get("tool_call_id")),
        output,
        succeeded=not seen.get("is_error"),
        exit_code=None if exit_code == -1 else exit_code,
    )


def _json(leavings: Mapping[str, bytes], path: str) -> dict[str, Any]:
    try:
        return as_dict(json.loads(leavings[path]))
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deeply") from error


def _add_call(log: LogBuilder, event: dict[str, Any]) -> None:
    """A call. The message of `finish` is its answer."""
    log.add_thought(as_text(event.get("reasoning_content")))
    log.add_text(joined_text(event.get("thought")))
    arguments = json_arguments(as_dict(event.get("tool_call")).get("arguments"))
    log.add_call(as_text(event.get("tool_call_id")), as_text(event.get("tool_name")), arguments)
    if event.get("tool_name") == "finish":
        log.add_text(as_text(arguments.get("message")))


_KINDS = {"task_tracker": Kind.THINK}


def _mcp(servers: Servers) -> Overrides:
    return Overrides(home_files={f"{_FOLDER}/mcp.json": server_file(servers, http={"transport": "http"})})


RECIPE = Recipe(
    name="openhands",
    title="OpenHands",
    package=Package(
        manager="pip",
        name="openhands",
        version="1.16.0",
        program="bin/openhands",
        needs="python >= 3.12, < 3.13",
    ),
    dialects=("openai-chat",),
    orders=_orders,
    read_log=_read_log,
    exit_ok=lambda end: None if end.exit_code == 0 else False,
    tool_kinds=_KINDS,
    cannot={Ability.MESSAGES: "a stored conversation contains its system prompt, which only OpenHands can write"},
    no_modes="OpenHands always approves without a terminal",
    mcp=_mcp,
    start_seconds=180.0,
)
read = reader(RECIPE)
