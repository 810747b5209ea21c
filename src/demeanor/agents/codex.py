"""Codex: speaks OpenAI's Responses API only; its session file tells more than what it prints."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from demeanor.agents.jsonl import number, rows, table, text
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.package import Package
from demeanor.agents.recipe import Recipe, Setup, reader
from demeanor.agents.settings import json_file, own_settings, toml_file
from demeanor.agents.tool_denial import denied, hooks
from demeanor.core.agent import Orders, Task
from demeanor.core.process import Launch, ProcessEnd
from demeanor.core.scenario import Approval
from demeanor.core.trajectory import Event, Kind

_FOLDER = ".codex"
_SESSIONS = f"{_FOLDER}/sessions/2020/01/01"
_ROLLOUTS = f"{_FOLDER}/sessions/*/*/*/rollout-*.jsonl"
_LONG_AGO = "2020-01-01T00:00:00.000Z"
_HOOK_NAMES = {"exec_command": "Bash"}
"""What its hooks call a tool, where that is another name than the model's."""


def _orders(task: Task, setup: Setup) -> Orders:
    """One run per prompt, all of one session; an earlier conversation is a session that is there already."""
    files = {f"{_FOLDER}/config.toml": toml_file(_settings(task, setup), setup.settings, own_settings(task))}
    forbidden = _forbidden(task.approval)
    if forbidden:
        files[f"{_FOLDER}/hooks.json"] = json_file(hooks(_HOOK_NAMES.get(tool, tool) for tool in forbidden))
    session = str(uuid.uuid5(uuid.NAMESPACE_OID, f"demeanor/{task.seed}"))
    if task.messages:
        files[f"{_SESSIONS}/rollout-2020-01-01T00-00-00-{session}.jsonl"] = _conversation(task, session)
    launches: list[Launch] = []
    for prompt in task.prompts:
        resume = ["resume", session] if task.messages else ["resume", "--last"] if launches else []
        words = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        words += ["--dangerously-bypass-hook-trust", *resume] if forbidden else resume
        env = {"CODEX_HOME": str(task.home / _FOLDER), "DEMEANOR_TOKEN": task.token}
        launches.append(Launch(argv=(*setup.program, *words, "--", prompt), env=env))
    return Orders(launches=tuple(launches), home_files=files, leavings=(_ROLLOUTS,))


def _forbidden(approval: Approval) -> tuple[str, ...]:
    """What it may not use. It edits with its shell too, so that goes with editing unless a rule speaks for it.

    Its own read-only sandbox is no way out: within another sandbox it can't be set up, and no command runs at all.
    """
    found = denied(approval, ("exec_command", "apply_patch"), _KINDS)
    spoken_for = "allow" in (approval.rules.get("exec_command"), approval.rules.get(Kind.EXECUTE))
    if "apply_patch" not in found or spoken_for:
        return found
    return tuple(dict.fromkeys((*found, "exec_command")))


def _settings(task: Task, setup: Setup) -> dict[str, Any]:
    provider = {
        "name": "Demeanor",
        "base_url": f"{task.base_url}/v1",
        "env_key": "DEMEANOR_TOKEN",
        "wire_api": "responses",
        "request_max_retries": setup.retries,
        "stream_max_retries": setup.retries,
    }
    said = task.params.get("append_system_prompt")
    return {
        "model": task.model,
        "model_provider": "demeanor",
        "model_providers": {"demeanor": provider},
        "web_search": "disabled",
        "check_for_update_on_startup": False,
        "analytics": {"enabled": False},
        "feedback": {"enabled": False},
        "features": {"plugins": False, "apps": False, "plugin_sharing": False, "plugin_discovery_prefetch": False},
        **({"developer_instructions": str(said)} if said is not None else {}),
    }


def _conversation(task: Task, session: str) -> bytes:
    """A session file: who it belongs to, then one message per line."""
    about = {
        "id": session,
        "session_id": session,
        "timestamp": _LONG_AGO,
        "cwd": str(task.workspace),
        "originator": "codex_exec",
        "cli_version": RECIPE.package.version,
        "source": "exec",
        "model_provider": "demeanor",
    }
    lines: list[tuple[str, dict[str, Any]]] = [("session_meta", about)]
    for message in task.messages:
        kind = "input_text" if message.role == "user" else "output_text"
        content = [{"type": kind, "text": message.text}]
        lines.append(("response_item", {"type": "message", "role": message.role, "content": content}))
    shown = ({"timestamp": _LONG_AGO, "type": kind, "payload": payload} for kind, payload in lines)
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in shown).encode()


def _read_log(ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
    """`response_item` lines hold what went to and fro between it and the model; events tell how a command ended."""
    story = LogBuilder(_KINDS)
    for name in sorted(leavings):
        begun, answered = False, True
        for kind, payload in _lines(leavings[name]):
            begun = begun or kind == "turn_context"  # what stands before the first is an earlier conversation
            if not begun:
                continue
            if kind == "response_item":
                by_model = payload.get("type") in _ANSWERS and payload.get("role", "assistant") == "assistant"
                if by_model and answered:
                    story.next_turn()
                answered = not by_model
                _tell(story, payload)
            elif kind == "token_usage_record":
                answered = True
            elif payload.get("type") == "item_completed":
                _end(story, table(payload.get("item")))
    return story.events()


def _lines(content: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in content.decode("utf-8", "replace").splitlines():
        try:
            found = table(json.loads(line))
        except (ValueError, RecursionError):
            continue
        yield text(found.get("type")), table(found.get("payload"))


_REFUSED = ("Command blocked by PreToolUse hook", "Tool call blocked by PreToolUse hook")
_ANSWERS = ("message", "reasoning", "function_call", "custom_tool_call")


def _tell(story: LogBuilder, item: dict[str, Any]) -> None:
    call = text(item.get("call_id"))
    match item.get("type"):
        case "message" if item.get("role") == "assistant":
            story.said("\n".join(text(part.get("text")) for part in rows(item.get("content"))))
        case "reasoning":
            story.thought("\n".join(text(part.get("text")) for part in rows(item.get("summary"))))
        case "function_call":
            story.called(call, text(item.get("name")), _arguments(text(item.get("arguments"))))
        case "custom_tool_call":
            story.called(call, text(item.get("name")), {"input": text(item.get("input"))})
        case "function_call_output" | "custom_tool_call_output":
            output = item.get("output")
            said = output if isinstance(output, str) else "\n".join(text(part.get("text")) for part in rows(output))
            story.answered(call, said, succeeded=False if said.startswith(_REFUSED) else None)


def _end(story: LogBuilder, item: dict[str, Any]) -> None:
    """How a command or a patch ended, where the model is told in words only."""
    if item.get("type") not in ("CommandExecution", "FileChange"):
        return
    took = table(item.get("duration"))
    whole, parts = number(took.get("secs")), number(took.get("nanos"))
    story.answered(
        text(item.get("id")),
        None,
        succeeded=item.get("status") == "completed" and item.get("exit_code") in (0, None),
        seconds=None if whole is None else whole + (parts or 0.0) / 1e9,
    )


def _arguments(raw: str) -> dict[str, Any]:
    try:
        return table(json.loads(raw))
    except (ValueError, RecursionError):
        return {}


_KINDS = {
    "write_stdin": Kind.EXECUTE,
    "view_image": Kind.READ,
    "get_goal": Kind.THINK,
    "create_goal": Kind.THINK,
    "update_goal": Kind.THINK,
}

RECIPE = Recipe(
    name="codex",
    title="Codex",
    package=Package(manager="npm", name="@openai/codex", version="0.166.0", program="node_modules/.bin/codex"),
    dialects=("openai-responses",),
    orders=_orders,
    read_log=_read_log,
    tool_kinds=_KINDS,
    params=("append_system_prompt", "settings"),
)
read = reader(RECIPE)
