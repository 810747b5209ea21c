"""goose. It exits with 0 even if every model call failed, so an exit code of 0 proves nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from demeanor.agents.jsonl import joined_text, json_lines
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.mcp_servers import Servers
from demeanor.agents.overrides import Overrides
from demeanor.agents.packages.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.sessions import prior_ids
from demeanor.agents.tool_denial import denied_tools
from demeanor.core.text.json_values import as_dict, as_dicts, as_text, as_whole
from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.scenario import PriorMessage
from demeanor.core.values.trajectory import Event, Kind

_SESSION = "demeanor"
_PRIOR = "prior.json"
_DEVELOPER = {"type": "platform", "name": "developer", "description": "developer"}
_LONG_AGO = 1_767_225_600
_CONFIG = ".config/goose/config.yaml"
_PERMISSIONS = ".config/goose/permission.yaml"
_TOOLS = ("edit", "read_image", "shell", "tree", "write")


def _orders(task: Task, setup: Setup) -> Orders:
    """One launch per prompt, all in one session; prior messages are imported as that session first."""
    files = {_CONFIG: json.dumps(dict(setup.settings)).encode()} if setup.settings else {}
    forbidden = denied_tools(task.approval, _TOOLS, {})
    env = {**_env(task, setup), "GOOSE_MODE": setup.approval_mode or ("approve" if forbidden else "auto")}
    launches = [_run(task, setup, index, env) for index in range(len(task.prompts))]
    if task.messages:
        files[_PRIOR] = json.dumps(_session(task)).encode()
        launches.insert(0, Launch(argv=(*setup.program, "session", "import", str(task.home / _PRIOR)), env=env))
    if forbidden:
        files[_PERMISSIONS] = json.dumps(_permissions(forbidden)).encode()
    return Orders(launches=tuple(launches), home_files=files)


def _run(task: Task, setup: Setup, index: int, env: Mapping[str, str]) -> Launch:
    resume = ("--resume",) if index or task.messages else ()
    alone = len(task.prompts) == 1 and not task.messages and not task.user
    session = ("--no-session",) if alone else ("--name", _SESSION, *resume)
    words: tuple[str, ...] = (
        "run",
        "-q",
        *session,
        "--no-profile",
        "--with-builtin",
        "developer",
        "--output-format",
        "stream-json",
    )
    if "max_turns" in task.params:
        words = (*words, "--max-turns", str(task.params["max_turns"]))
    return Launch(argv=(*setup.program, *words, f"--text={task.prompts[index]}"), env=env)


def _env(task: Task, setup: Setup) -> dict[str, str]:
    return {
        "GOOSE_MODEL": task.model,
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_TELEMETRY_OFF": "1",
        "GOOSE_DISABLE_SESSION_NAMING": "true",
        **({} if setup.retries else {"GOOSE_PROVIDER_SKIP_BACKOFF": "true"}),
        **_provider(task, setup.dialect),
    }


def _provider(task: Task, dialect: str) -> dict[str, str]:
    if dialect == "anthropic":
        return {"GOOSE_PROVIDER": "anthropic", "ANTHROPIC_HOST": task.base_url, "ANTHROPIC_API_KEY": task.token}
    url = urlsplit(task.base_url)
    return {
        "GOOSE_PROVIDER": "openai",
        "OPENAI_HOST": f"{url.scheme}://{url.netloc}",
        "OPENAI_BASE_PATH": f"{url.path.strip('/')}/v1/chat/completions",
        "OPENAI_API_KEY": task.token,
    }


def _session(task: Task) -> dict[str, Any]:
    """A session as goose exports it; its name must be that of the session to resume."""
    parts = [part for number, message in enumerate(task.messages) for part in _parts(number, message)]
    messages = [
        {
            "role": role,
            "created": _LONG_AGO + number,
            "content": content,
            "metadata": {"userVisible": True, "agentVisible": True},
        }
        for number, (role, content) in enumerate(parts)
    ]
    when = datetime.fromtimestamp(_LONG_AGO, UTC).isoformat()
    return {
        "id": _SESSION,
        "name": _SESSION,
        "user_set_name": True,
        "working_dir": str(task.workspace),
        "created_at": when,
        "updated_at": when,
        "extension_data": {"enabled_extensions.v0": {"extensions": [_DEVELOPER]}},
        "conversation": messages,
        "message_count": len(messages),
    }


def _parts(number: int, prior: PriorMessage) -> list[tuple[str, list[dict[str, Any]]]]:
    """The role and the parts of a message; results of its tool calls are a message of the user."""
    calls = prior_ids(number, prior)
    own: list[dict[str, Any]] = [{"type": "text", "text": prior.text}] if prior.text else []
    for name, call in calls:
        value = {"name": call.tool, "arguments": dict(call.arguments)}
        own.append({"type": "toolRequest", "id": name, "toolCall": {"status": "success", "value": value}})
    results = []
    for name, call in calls:
        returned = {"content": [{"type": "text", "text": call.result}], "isError": call.failed}
        results.append({"type": "toolResponse", "id": name, "toolResult": {"status": "success", "value": returned}})
    return [(prior.role, own), *([("user", results)] if results else [])]


def _permissions(forbidden: Sequence[str]) -> dict[str, Any]:
    """Every tool is listed, because goose would wait for an answer about any other."""
    allowed = [tool for tool in _TOOLS if tool not in forbidden]
    return {"user": {"always_allow": allowed, "ask_before": [], "never_allow": list(forbidden)}}


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`message` events, each with parts of one message; a message of the model may come in several events."""
    log = LogBuilder(RECIPE.tool_kinds)
    for end in ends:
        answered = True
        for message in (as_dict(line.get("message")) for line in json_lines((end,)) if line.get("type") == "message"):
            by_model = message.get("role") == "assistant"
            if by_model and answered:
                log.next_turn()
            answered = not by_model
            for part in as_dicts(message.get("content")):
                add_part(log, part, as_text(message.get("id")))
    return log.events()


def add_part(log: LogBuilder, part: dict[str, Any], message: str) -> None:
    """Add a part of a message."""
    match part.get("type"):
        case "text":
            log.add_text(as_text(part.get("text")), message=message)
        case "thinking":
            log.add_thought(as_text(part.get("thinking")), message=message)
        case "toolRequest":
            call = as_dict(as_dict(part.get("toolCall")).get("value"))
            log.add_call(as_text(part.get("id")), as_text(call.get("name")), as_dict(call.get("arguments")))
        case "toolResponse":
            result = as_dict(part.get("toolResult"))
            value = as_dict(result.get("value"))
            pieces = as_dicts(value.get("content") or result.get("value"))
            output = joined_text(pieces) or as_text(result.get("error"))
            succeeded = result.get("status") == "success" and not value.get("isError")
            exit_code = as_whole(as_dict(value.get("structuredContent")).get("exit_code"))
            log.add_result(as_text(part.get("id")), output, succeeded=succeeded, exit_code=exit_code)


def _mcp(servers: Servers) -> Overrides:
    """It names a server over HTTP after its address."""
    return Overrides(
        args=tuple(
            f"--with-streamable-http-extension={words}"
            if isinstance(words, str)
            else f"--with-extension={name}:{shlex.join(words)}"
            for name, words in servers.items()
        )
    )


RECIPE = Recipe(
    name="goose",
    title="goose",
    package=Package(
        manager="npm",
        name="@aaif/goose-binary-{platform}",
        version="1.52.0",
        program="node_modules/@aaif/goose-binary-{platform}/bin/goose",
    ),
    dialects=("openai-chat", "anthropic"),
    debug=Overrides(env={"RUST_LOG": "debug"}),
    debug_files=(".local/state/goose/logs/*/*/*.log", ".local/state/goose/logs/*/*.log"),
    orders=_orders,
    read_log=_read_log,
    exit_ok=lambda end: None if end.exit_code == 0 else False,
    tool_kinds={"tree": Kind.SEARCH},
    approval_modes=("approve", "auto", "chat", "smart_approve"),
    params=("max_turns",),
    mcp=_mcp,
    resumes_calls=True,
    cannot={
        Ability.SUB_AGENTS: "it offers its model no tool that starts a sub-agent",
    },
)
read = reader(RECIPE)
