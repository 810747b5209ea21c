"""Gemini CLI. Speaks the Gemini API only. Its exit code is the low byte of the last HTTP status."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from demeanor.agents.jsonl import json_lines, json_objects
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers, server_tables
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import LONG_AGO, prior_ids, session_id
from demeanor.agents.settings import json_file, toml_value
from demeanor.agents.tool_denial import REFUSAL, denied_tools
from demeanor.core.text.json_values import as_dict, as_dicts, as_text
from demeanor.core.values.agent import DEBUG_LOG, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.scenario import PriorCall
from demeanor.core.values.trajectory import Event, Kind

_FOLDER = ".gemini"
_PRIOR = f"{_FOLDER}/earlier.json"
_SESSIONS = f"{_FOLDER}/tmp/*/chats/*.jsonl"  # noqa: S108 - in its HOME
_TOOLS = (
    "glob",
    "google_web_search",
    "grep_search",
    "list_directory",
    "read_file",
    "read_many_files",
    "replace",
    "run_shell_command",
    "web_fetch",
    "write_file",
)


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, all in one session; prior messages are a session to start from."""
    files = {f"{_FOLDER}/settings.json": json_file(_settings(setup), setup.settings)}
    forbidden = denied_tools(task.approval, _TOOLS, _KINDS)
    if forbidden:
        files[f"{_FOLDER}/policies/approval.toml"] = _policy(forbidden)
    if task.messages:
        files[_PRIOR] = _session_file(task)
    launches: list[Launch] = []
    for prompt in task.prompts:
        if launches:
            session = ("--resume", "latest")
        elif task.messages:
            session = ("--session-file", str(task.home / _PRIOR))
        else:
            session = ("--session-id", session_id(task))
        mode = ("--approval-mode", setup.approval_mode or "yolo")
        words = ("--model", task.model, *mode, "--skip-trust", "--output-format", "stream-json")
        launches.append(Launch(argv=(*setup.program, *words, *session, f"--prompt={prompt}"), env=_env(task)))
    return Orders(launches=tuple(launches), home_files=files, leavings=(_SESSIONS,))


def _env(task: Task) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": task.token,
        "GOOGLE_GEMINI_BASE_URL": task.base_url,
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GEMINI_CLI_NO_RELAUNCH": "true",  # else it starts itself again, and the outer process ignores signals
    }


def _settings(setup: Setup) -> dict[str, Any]:
    return {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "maxAttempts": setup.retries + 1,
        },
    }


def _policy(forbidden: tuple[str, ...]) -> bytes:
    """A rule that refuses tools. A rule without `argsPattern` would hide them from the model instead."""
    return (
        "[[rule]]\n"
        f"toolName = {toml_value(forbidden)}\n"
        'argsPattern = ".*"\n'
        'decision = "deny"\n'
        "priority = 999\n"
        f"denyMessage = {toml_value(REFUSAL)}\n"
    ).encode()


def _prior_call(name: str, call: PriorCall) -> dict[str, Any]:
    """A tool call as it stores one."""
    response = {"id": name, "name": call.tool, "response": {"error" if call.failed else "output": call.result}}
    fields = {"id": name, "name": call.tool, "displayName": call.tool, "args": dict(call.arguments)}
    status = {"status": "error" if call.failed else "success", "timestamp": LONG_AGO}
    return {**fields, **status, "result": [{"functionResponse": response}]}


def _session_file(task: Task) -> bytes:
    types = {"user": "user", "assistant": "gemini"}
    messages = [
        {"id": str(number), "timestamp": LONG_AGO, "type": types[message.role], "content": message.text}
        | (
            {"toolCalls": [_prior_call(name, call) for name, call in prior_ids(number, message)]}
            if message.calls
            else {}
        )
        for number, message in enumerate(task.messages)
    ]
    info = {"sessionId": "earlier", "projectHash": "", "startTime": LONG_AGO, "lastUpdated": LONG_AGO}
    return json.dumps({**info, "messages": messages}, ensure_ascii=False).encode()


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`message` lines hold pieces of text; consecutive pieces belong together. Exit codes are in its session only."""
    log = LogBuilder(_KINDS)
    codes = _exit_codes(leavings)
    pieces: list[str] = []
    ids: dict[str, str] = {}  # it prefixes the model's call id with the tool's name
    answered = True
    for line in json_lines(ends):
        kind = line.get("type")
        by_model = kind == "tool_use" or (kind == "message" and line.get("role") == "assistant")
        if by_model and answered:
            log.next_turn()
        if kind == "message" and by_model:
            pieces.append(as_text(line.get("content")))
        else:
            log.add_text("".join(pieces))
            pieces.clear()
        answered = answered if kind not in _COUNTED else not by_model
        if kind == "tool_use":
            name = as_text(line.get("tool_name"))
            call = as_text(line.get("tool_id")).removeprefix(f"{name}__")
            ids[as_text(line.get("tool_id"))] = call
            log.add_call(call, name, as_dict(line.get("parameters")))
        elif kind == "tool_result":
            output = line.get("output") or as_dict(line.get("error")).get("message")
            own = as_text(line.get("tool_id"))
            code = next(codes.get(own, iter(())), None)
            succeeded = line.get("status") == "success"
            log.add_result(ids.get(own, ""), as_text(output), succeeded=succeeded, exit_code=code)
    log.add_text("".join(pieces))
    return log.events()


def _exit_codes(leavings: Mapping[str, bytes]) -> dict[str, Iterator[int | None]]:
    """The exit codes of the calls in its session files, in order: an id may come again. A later line may repeat a
    message with more of its calls.
    """
    messages: dict[str, Any] = {}
    for path in sorted(leavings):
        for line in json_objects(leavings[path].decode("utf-8", "replace")):
            if "toolCalls" in line:
                messages[as_text(line.get("id"))] = line["toolCalls"]
    codes: dict[str, list[int | None]] = {}
    for call in (call for calls in messages.values() for call in as_dicts(calls)):
        codes.setdefault(as_text(call.get("id")), []).append(exit_code(call))
    return {call: iter(exits) for call, exits in codes.items()}


def result_text(call: Mapping[str, Any]) -> str:
    """What the model got as the result of a call in a session file."""
    parts = as_dicts(call.get("result"))
    outputs = (as_dict(as_dict(part.get("functionResponse")).get("response")) for part in parts)
    return "\n".join(as_text(output.get("output")) or as_text(output.get("error")) for output in outputs)


def exit_code(call: Mapping[str, Any]) -> int | None:
    """The exit code of a command in a session file; -1 after a signal, None if it has not ended or ran no command.

    The result names it after the command's output, unless it is 0. The output may contain such lines too, so it is
    skipped as far as it is known.
    """
    if call.get("name") != "run_shell_command":
        return None
    result = result_text(call).strip().removeprefix("<untrusted_context>\n")
    heads = (f"Output: {as_text(call.get('resultDisplay'))}", "Output: (empty)")
    head = next((head for head in heads if result.startswith(f"{head}\n")), "")
    end = _COMMAND_END.search(result, len(head))
    if end is None:
        return None
    if end["signal"]:
        return -1
    return int(end["code"] or 0)


_COMMAND_END = re.compile(
    r"(?:\nExit Code: (?P<code>-?\d{1,9}))?(?:\nSignal: (?P<signal>\w+))?(?:\nBackground PIDs: [\d, ]+)?"
    r"\nProcess Group PGID: \d+(?:\n</untrusted_context>)?\Z"
)
_COUNTED = ("message", "tool_use", "tool_result")

_KINDS = {
    "enter_plan_mode": Kind.THINK,
    "exit_plan_mode": Kind.THINK,
    "list_background_processes": Kind.EXECUTE,
    "read_background_output": Kind.EXECUTE,
}


def _mcp(servers: Servers) -> Overrides:
    return Overrides(settings={"mcpServers": server_tables(servers, http={}, url="httpUrl", trust=True)})


RECIPE = Recipe(
    name="gemini-cli",
    title="Gemini CLI",
    package=Package(
        manager="npm",
        name="@google/gemini-cli",
        version="0.61.0",
        program="node_modules/.bin/gemini",
        needs="node >= 20",
    ),
    dialects=("gemini",),
    debug=Overrides(env={"GEMINI_DEBUG_LOG_FILE": f"{{home}}/{DEBUG_LOG}"}),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    approval_modes=("auto_edit", "default", "plan", "yolo"),
    mcp=_mcp,
    resumes_calls=True,
)
read = reader(RECIPE)
