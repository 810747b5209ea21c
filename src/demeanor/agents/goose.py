"""goose: small and quick; exits with 0 when every model call has failed, so its exit says nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from demeanor.agents.jsonl import json_lines, rows, table, text
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.tool_denial import denied
from demeanor.core.agent import Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.trajectory import Event, Kind

_SESSION = "demeanor"
_PRIOR = "prior.json"
_DEVELOPER = {"type": "platform", "name": "developer", "description": "developer"}
_LONG_AGO = 1_767_225_600
_CONFIG = ".config/goose/config.yaml"
_PERMISSIONS = ".config/goose/permission.yaml"
_TOOLS = ("edit", "read_image", "shell", "tree", "write")


def _orders(task: Task, setup: Setup) -> Orders:
    """One run per prompt, all in one session; an earlier conversation is imported as that session first."""
    files = {_CONFIG: json.dumps(dict(setup.settings)).encode()} if setup.settings else {}
    forbidden = denied(task.approval, _TOOLS, {})
    env = {**_env(task, setup), "GOOSE_MODE": "approve" if forbidden else "auto"}
    launches = [_run(task, setup, index, env) for index in range(len(task.prompts))]
    if task.messages:
        files[_PRIOR] = json.dumps(_session(task)).encode()
        launches.insert(0, Launch(argv=(*setup.program, "session", "import", str(task.home / _PRIOR)), env=env))
    if forbidden:
        files[_PERMISSIONS] = json.dumps(_permissions(forbidden)).encode()
    return Orders(launches=tuple(launches), home_files=files)


def _run(task: Task, setup: Setup, index: int, env: Mapping[str, str]) -> Launch:
    resume = ("--resume",) if index or task.messages else ()
    alone = len(task.prompts) == 1 and not task.messages
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
    """A session as goose exports it; it must name the session that is resumed."""
    said = [
        {
            "role": message.role,
            "created": _LONG_AGO + number,
            "content": [{"type": "text", "text": message.text}],
            "metadata": {"userVisible": True, "agentVisible": True},
        }
        for number, message in enumerate(task.messages)
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
        "conversation": said,
        "message_count": len(said),
    }


def _permissions(forbidden: Sequence[str]) -> dict[str, Any]:
    """What is neither allowed nor denied by name would wait for a person."""
    allowed = [tool for tool in _TOOLS if tool not in forbidden]
    return {"user": {"always_allow": allowed, "ask_before": [], "never_allow": list(forbidden)}}


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`message` events, each with parts of one message; a message of the model may come in several pieces."""
    story = LogBuilder(RECIPE.tool_kinds)
    for end in ends:
        answered = True
        for message in (table(line.get("message")) for line in json_lines((end,)) if line.get("type") == "message"):
            by_model = message.get("role") == "assistant"
            if by_model and answered:
                story.next_turn()
            answered = not by_model
            for part in rows(message.get("content")):
                _tell(story, part, text(message.get("id")))
    return story.events()


def _tell(story: LogBuilder, part: dict[str, Any], message: str) -> None:
    match part.get("type"):
        case "text":
            story.said(text(part.get("text")), piece_of=message)
        case "thinking":
            story.thought(text(part.get("thinking")), piece_of=message)
        case "toolRequest":
            call = table(table(part.get("toolCall")).get("value"))
            story.called(text(part.get("id")), text(call.get("name")), table(call.get("arguments")))
        case "toolResponse":
            result = table(part.get("toolResult"))
            value = table(result.get("value"))
            pieces = rows(value.get("content") or result.get("value"))
            said = "\n".join(text(piece.get("text")) for piece in pieces) or text(result.get("error"))
            worked = result.get("status") == "success" and not value.get("isError")
            story.answered(text(part.get("id")), said, succeeded=worked)


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
    orders=_orders,
    read_log=_read_log,
    exit_ok=lambda end: None if end.exit_code == 0 else False,
    tool_kinds={"tree": Kind.SEARCH},
    params=("max_turns",),
)
read = reader(RECIPE)
