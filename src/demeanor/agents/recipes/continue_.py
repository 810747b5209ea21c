"""Continue (`cn`). Prints only its answers, so its session file is read as its log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text, json_arguments
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_tables
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import json_file
from demeanor.core.text.json_values import as_dict, as_dicts, as_text
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".continue"
_SESSION = f"{_FOLDER}/sessions/demeanor.json"
_CONFIG = f"{_FOLDER}/demeanor.yaml"
_PROVIDERS = {"openai-chat": "openai", "anthropic": "anthropic"}


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, all in one session; prior messages are a session that exists already."""
    files = {_CONFIG: json_file(_config(task, setup), setup.settings)}
    if task.messages:
        files[_SESSION] = json_file(_session(task))
    env = {
        "CONTINUE_GLOBAL_DIR": str(task.home / _FOLDER),
        "CONTINUE_CLI_TEST_SESSION_ID": "demeanor",
        "CONTINUE_CLI_ENABLE_TELEMETRY": "0",
        "CONTINUE_METRICS_ENABLED": "0",
    }
    words = ["--print", f"--{setup.approval_mode or 'auto'}", "--config", str(task.home / _CONFIG)]
    launches = []
    for index, prompt in enumerate(task.prompts):
        resume = ["--resume"] if index or task.messages else []
        launches.append(Launch(argv=(*setup.program, *words, *resume, "--", prompt), env=env))
    return Orders(launches=tuple(launches), home_files=files, leavings=(_SESSION,))


def _config(task: Task, setup: Setup) -> dict[str, Any]:
    model = {
        "name": task.model,
        "provider": _PROVIDERS[setup.dialect],
        "model": task.model,
        "apiBase": f"{task.base_url}/v1",
        "apiKey": task.token,
        "roles": ["chat"],
        "capabilities": ["tool_use"],
    }
    return {"name": "demeanor", "version": "1.0.0", "schema": "v1", "models": [model]}


def _session(task: Task) -> dict[str, Any]:
    history = [
        {"message": {"role": prior.role, "content": prior.text}, "contextItems": [], "prior": True}
        for prior in task.messages
    ]
    return {
        "sessionId": "demeanor",
        "title": "demeanor",
        "workspaceDirectory": str(task.workspace),
        "history": history,
    }


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """The answers in the history of the session, without the prior ones."""
    log = LogBuilder(RECIPE.tool_kinds)
    for item in as_dicts(_history(leavings.get(_SESSION, b"{}"))):
        message = as_dict(item.get("message"))
        if message.get("role") != "assistant" or item.get("prior"):
            continue
        log.next_turn()
        log.add_text(joined_text(message.get("content")))
        for state in as_dicts(item.get("toolCallStates")):
            _add_call(log, state)
    return log.events()


def _history(content: bytes) -> Any:
    try:
        return as_dict(json.loads(content)).get("history")
    except RecursionError as error:
        raise ValueError("the session is nested too deeply") from error


def _add_call(log: LogBuilder, state: dict[str, Any]) -> None:
    call = as_text(state.get("toolCallId"))
    function = as_dict(as_dict(state.get("toolCall")).get("function"))
    log.add_call(call, as_text(function.get("name")), json_arguments(function.get("arguments")))
    output = "\n".join(as_text(part.get("content")) for part in as_dicts(state.get("output")))
    if state.get("status") in {"done", "errored", "canceled"}:
        log.add_result(call, output, succeeded=state.get("status") == "done")


_KINDS = {"Checklist": Kind.THINK, "CheckBackgroundJob": Kind.EXECUTE, "AskQuestion": Kind.OTHER}


def _mcp(servers: Servers) -> Overrides:
    tables = [
        {"name": name, **table} for name, table in server_tables(servers, http={"type": "streamable-http"}).items()
    ]
    return Overrides(settings={"mcpServers": tables})


RECIPE = Recipe(
    name="continue",
    title="Continue",
    package=Package(
        manager="npm",
        name="@continuedev/cli",
        version="1.5.47",
        program="node_modules/@continuedev/cli/dist/cn.js",
        needs="node >= 20",
    ),
    dialects=("openai-chat", "anthropic"),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    approval_modes=("auto", "readonly"),
    prints_events=False,
    cannot={
        Ability.SUB_AGENTS: "it offers its model no tool that starts a sub-agent",
        Ability.DENY: "it hides a denied tool from the model, so an attempt to use it could not be seen",
        Ability.EXIT_CODE: "it records no exit codes, and many failing commands as done",
        Ability.CUT: "it takes an answer that breaks off for a complete one",
    },
    mcp=_mcp,
)
read = reader(RECIPE)
