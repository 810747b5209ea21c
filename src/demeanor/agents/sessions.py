"""Parts that Claude Code, Qwen Code, Gemini CLI and Codex share: sessions, their files, and the stream-json output.

Claude Code prints `stream-json` and keeps each session as a file of linked messages; Qwen Code does the same.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from demeanor.agents.jsonl import joined_text, json_lines
from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.stream_host import STEERED
from demeanor.core.text.json_values import as_dict, as_dicts, as_text
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.process import Launch, ProcessEnd
from demeanor.core.values.scenario import PriorCall, PriorMessage
from demeanor.core.values.trajectory import Event, Kind

LONG_AGO = "2020-01-01T00:00:00.000Z"
"""The time of every prior message, so that two trials get the same session file."""

_SYSTEM_PROMPT_OPTIONS = {
    "append_system_prompt": "--append-system-prompt",
    "system_prompt": "--system-prompt",
}
"""`params` of an eval → the option that Claude Code and Qwen Code have for it."""


def session_id(task: Task) -> str:
    """The id of a trial's session: a UUID that depends on the seed only."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"demeanor/{task.seed}"))


def jsonl_file(lines: Iterable[Mapping[str, Any]]) -> bytes:
    """A file with one JSON object per line."""
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()


def linked_orders(
    task: Task,
    *,
    folder: str,
    version: str,
    message: Callable[[int, PriorMessage], Sequence[Mapping[str, Any]]],
    launch: Callable[[str, tuple[str, ...]], Launch],
) -> Orders:
    """One launch per prompt, all in one session; prior messages are a session that exists already.

    `folder` has the sessions of all workspaces; `{project}` is the name of this one. `message` are the
    lines that the agent stores of a prior message, and `launch` starts it with a prompt and further options.
    """
    session = session_id(task)
    words = [
        f"{option}={task.params[param]}" for param, option in _SYSTEM_PROMPT_OPTIONS.items() if param in task.params
    ]
    launches = [
        launch(prompt, (*words, "--resume" if task.messages or index else "--session-id", session))
        for index, prompt in enumerate(task.prompts)
    ]
    project = folder.format(project=re.sub(r"[^A-Za-z0-9]", "-", str(task.workspace)))
    files = {f"{project}/{session}.jsonl": _linked_session(task, session, version, message)} if task.messages else {}
    return Orders(launches=tuple(launches), home_files=files)


def _linked_session(
    task: Task, session: str, version: str, message: Callable[[int, PriorMessage], Sequence[Mapping[str, Any]]]
) -> bytes:
    """A session file with the prior messages, each linked to the one before."""
    lines = [line for number, prior in enumerate(task.messages) for line in message(number, prior)]
    ids = [str(uuid.uuid5(uuid.UUID(session), str(number))) for number in range(len(lines))]
    common = {"sessionId": session, "timestamp": LONG_AGO, "cwd": str(task.workspace), "version": version}
    return jsonl_file(
        {"uuid": own, "parentUuid": parent, **common, **line}
        for line, own, parent in zip(lines, ids, (None, *ids[:-1]), strict=True)
    )


def prior_ids(number: int, prior: PriorMessage) -> list[tuple[str, PriorCall]]:
    """The tool calls of a prior message, each with an id that depends on its place only."""
    return [(f"call_prior_{number}_{place}", call) for place, call in enumerate(prior.calls)]


def read_stream_json(
    ends: Iterable[ProcessEnd], kinds: Mapping[str, Kind], shells: Collection[str]
) -> tuple[Event, ...]:
    """Read `stream-json`: consecutive `assistant` lines are parts of one answer, `user` lines hold tool results.

    Lines of a sub-agent name the call that started it. The last `result` line of the last process has the result.
    """
    log = LogBuilder(kinds, shells=shells)
    result = ""
    for end in ends:
        answered, result = True, ""
        for line in json_lines((end,)):
            by_model = line.get("type") == "assistant"
            message = as_dict(line.get("message"))
            if message.get("model") == "<synthetic>":  # the program's own text about an error
                continue
            sub_agent = log.sub_agent(as_text(line.get("agent_id")), as_text(line.get("parent_tool_use_id")))
            if not sub_agent:
                if by_model and answered:
                    log.next_turn()
                answered = not by_model if line.get("type") in ("assistant", "user", "result") else answered
            if line.get("type") == STEERED:
                said = as_dict(line.get("event"))
                log.add_steered(as_text(said.get("text")), as_text(said.get("after")), as_text(said.get("delivery")))
            if line.get("type") == "result":
                result = as_text(line.get("result")) if line.get("is_error") is False else ""
            for part in as_dicts(message.get("content")):
                in_background = is_in_background(line.get("tool_use_result"))
                add_part(log, part, by_model=by_model, sub_agent=sub_agent, in_background=in_background)
    log.conclude(result)
    return log.events()


def is_in_background(result: Any) -> bool:
    """Whether a command of Claude Code still runs, by what it records beside the result: it also moves slow ones."""
    return "backgroundTaskId" in as_dict(result)


def add_part(
    log: LogBuilder, part: dict[str, Any], *, by_model: bool, sub_agent: int, in_background: bool = False
) -> None:
    """Add a part of a message as Anthropic's API has it. How a command ends that runs in the background is unknown."""
    match part.get("type"):
        case "text" if by_model:
            log.add_text(as_text(part.get("text")), sub_agent=sub_agent)
        case "thinking" if by_model:
            log.add_thought(as_text(part.get("thinking")), sub_agent=sub_agent)
        case "tool_use" if by_model:
            arguments = as_dict(part.get("input"))
            log.add_call(as_text(part.get("id")), as_text(part.get("name")), arguments, sub_agent=sub_agent)
        case "tool_result":
            result, call = joined_text(part.get("content")), as_text(part.get("tool_use_id"))
            succeeded = None if in_background else not part.get("is_error")
            log.add_result(call, result, succeeded=succeeded, sub_agent=sub_agent)
