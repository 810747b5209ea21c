"""The native agent's conversation: ask the model, use the tools it names, tell it the results, until it is done."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor.native.chat import Chat, ChatReply
from demeanor.native.prompt import SYSTEM
from demeanor.native.tools import FINISH, TOOLS, ToolError, use

_HARMLESS = {"read", "search", "think"}


@dataclass(kw_only=True, slots=True)
class Talk:
    """A conversation being held."""

    chat: Chat
    """The model."""

    workspace: Path
    """The folder to work in."""

    approval: Mapping[str, Any]
    """`default` (allow or deny) and `rules` by tool name or kind: how requests for confirmation are answered."""

    tell: Callable[[Mapping[str, Any]], None]
    """Called with each event, as it happens."""

    max_turns: int = 25
    """Model answers per prompt."""

    turn: int = 0
    """Model answers so far."""

    answered: dict[str, int] = field(default_factory=dict)
    """How many requests each rule of the approval has answered so far."""


def hold(talk: Talk, prompts: Sequence[str], earlier: Sequence[Mapping[str, str]]) -> bool:
    """Hold the whole conversation; False where the model did not come to an end in time."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    messages += [{"role": message["role"], "content": message["text"]} for message in earlier]
    for prompt in prompts:
        messages.append({"role": "user", "content": prompt})
        if not _answer(talk, messages):
            return False
    return True


def _answer(talk: Talk, messages: list[dict[str, Any]]) -> bool:
    """One prompt's worth of turns; True when the model ended its turn."""
    tools = [tool.schema() for tool in TOOLS.values()]
    for _ in range(talk.max_turns):
        talk.turn += 1
        answer = talk.chat.ask(messages, tools)
        messages.append(_message(answer, talk.turn))
        if answer.thinking:
            talk.tell({"type": "thought", "turn": talk.turn, "text": answer.thinking})
        if answer.text:
            talk.tell({"type": "said", "turn": talk.turn, "text": answer.text})
        if not answer.calls:
            return True
        ended = [_call(talk, call, messages) for call in answer.calls]
        if any(ended):
            return True
    return False


def _message(answer: ChatReply, turn: int) -> dict[str, Any]:
    for number, call in enumerate(answer.calls, 1):
        call["id"] = call["id"] or f"call_{turn}_{number}"
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.calls:
        message["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for call in answer.calls
        ]
    return message


def _call(talk: Talk, call: Mapping[str, str], messages: list[dict[str, Any]]) -> bool:
    """Use one tool and tell the model the result; True where it was the tool that ends the work."""
    name, raw = call["name"], call["arguments"]
    started = time.monotonic()
    try:
        arguments = json.loads(raw or "{}")
    except ValueError:
        arguments = None
    permission = _permission(talk, call["id"], name, arguments)
    succeeded, result = _use(talk, name, arguments, raw, permission)
    event = {
        "type": "called",
        "turn": talk.turn,
        "id": call["id"],
        "tool": name,
        "kind": TOOLS[name].kind if name in TOOLS else "other",
        "arguments": arguments if isinstance(arguments, dict) else {},
        "raw": "" if isinstance(arguments, dict) else raw,
        "result": result,
        "succeeded": succeeded,
        "seconds": round(time.monotonic() - started, 4),
        "witness": "log",
        "permission": permission,
    }
    talk.tell(event)
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    if name == FINISH and succeeded:
        talk.tell({"type": "said", "turn": talk.turn, "text": result})
        return True
    return False


def _use(talk: Talk, name: str, arguments: Any, raw: str, permission: str) -> tuple[bool, str]:
    tool = TOOLS.get(name)
    if tool is None:
        return False, f"error: there is no tool {name!r}; there are: {', '.join(TOOLS)}"
    if arguments is None:
        return False, f"error: the arguments are no JSON: {raw[:200]}"
    if permission == "deny":
        return False, "error: the user did not allow this"
    try:
        return True, use(tool, talk.workspace, arguments)
    except ToolError as error:
        return False, f"error: {error}"


def _permission(talk: Talk, call: str, name: str, arguments: Any) -> str:
    """Ask the user, by the eval's approval, for what could do harm: `allow`, `deny`, or `unasked`."""
    tool = TOOLS.get(name)
    if tool is None or not isinstance(arguments, dict) or tool.kind in _HARMLESS:
        return "unasked"
    rules = talk.approval.get("rules", {})
    rule = name if rules.get(name) else tool.kind if rules.get(tool.kind) else "default"
    answers = rules.get(rule) or talk.approval.get("default", "allow")
    script = [answers] if isinstance(answers, str) else answers
    earlier = talk.answered.get(rule, 0)
    talk.answered[rule] = earlier + 1
    answer: str = script[min(earlier, len(script) - 1)]
    asked = {"type": "asked", "turn": talk.turn, "id": call, "tool": name, "kind": tool.kind, "answer": answer}
    talk.tell({**asked, "arguments": arguments})
    return answer
