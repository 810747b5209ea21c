"""The native agent's loop: ask the model, run the tools that it calls, send the results, until it is done."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demeanor.agents.native_agent.chat import Chat, ChatReply
from demeanor.agents.native_agent.tools import ASK_USER, FINISH, TOOLS, NativeTool, ToolError, run_tool
from demeanor.core.values.approval import Approver
from demeanor.core.values.steering import Steering, steered_event
from demeanor.core.values.user_channel import UserChannel

_NO_PERMISSION_NEEDED = {"read", "search", "think"}


@dataclass(kw_only=True, slots=True)
class Conversation:
    """The state of a conversation."""

    chat: Chat
    """The model."""

    workspace: Path
    """The folder to work in."""

    approver: Approver
    """Answers requests for permission, by the eval's `approval`."""

    emit: Callable[[Mapping[str, Any]], None]
    """Called with each event, as it happens."""

    max_turns: int = 25
    """Maximum model answers per prompt."""

    turn: int = 0
    """Model answers so far."""

    user: UserChannel | None = None
    """The user, who may say more after the last prompt, and answers questions; None if there is only the prompts."""

    last_text: str = ""
    """The last message to the user."""

    steering: Steering = field(default_factory=lambda: Steering(()))
    """What the user says while it works."""


def run(conversation: Conversation, prompts: Sequence[str], prior: Sequence[Mapping[str, Any]]) -> bool:
    """Run all prompts; False if the model did not finish one of them within `max_turns`."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]
    messages += earlier_messages(prior)
    unsaid = list(prompts)
    while unsaid:
        messages.append({"role": "user", "content": unsaid.pop(0)})
        finished, steered = _run_prompt(conversation, messages)
        if not finished:
            return False
        unsaid = [*steered, *unsaid]
        if not unsaid and conversation.user is not None:
            said = conversation.user.reply(conversation.last_text)
            unsaid = [said] if said is not None else []
    return True


def _run_prompt(conversation: Conversation, messages: list[dict[str, Any]]) -> tuple[bool, list[str]]:
    """The turns of one prompt: whether the model finished, and what the user says next, if they interrupted."""
    tools = [tool.schema() for tool in _tools(conversation).values()]
    for _ in range(conversation.max_turns):
        conversation.turn += 1
        answer = conversation.chat.ask(messages, tools)
        messages.append(_message(answer, conversation.turn))
        if answer.thinking:
            conversation.emit({"type": "thought", "turn": conversation.turn, "text": answer.thinking})
        if answer.text:
            _say(conversation, answer.text)
        ended = not answer.calls
        for index, call in enumerate(answer.calls):
            ended = _call(conversation, call, messages) or ended
            if said := _interruption(conversation):
                _cancel(messages, answer.calls[index + 1 :])
                return True, [text for text in said if text]
        conversation.steering.answered()
        if said := _interruption(conversation):
            return True, [text for text in said if text]
        hints = _hints(conversation, "prompt" if ended else "hint")
        messages += [{"role": "user", "content": hint} for hint in hints if not ended]
        if ended:
            return True, hints
    return False, []


def _interruption(conversation: Conversation) -> list[str]:
    """What the user says by an interruption that is due; an empty text if they say nothing. Hints wait."""
    steering = conversation.steering
    due = steering.due()
    first = next((message for message in due if message.get("interrupt")), None)
    steering.open = [message for message in due if message is not first] + steering.open
    if first is None:
        return []
    conversation.emit(steered_event(first, conversation.turn, "interrupt"))
    return [first.get("say", "")]


def _hints(conversation: Conversation, delivery: str) -> list[str]:
    """What the user says now."""
    due = conversation.steering.due()
    for message in due:
        conversation.emit(steered_event(message, conversation.turn, delivery))
    return [message["say"] for message in due if message.get("say")]


def _cancel(messages: list[dict[str, Any]], calls: Sequence[Mapping[str, str]]) -> None:
    """Give each call that was not run a result, since the API demands one."""
    for call in calls:
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "error: the user interrupted"})


def earlier_messages(prior: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """An earlier conversation in the format of the chat API; each call is followed by its result."""
    number = 0
    for message in prior:
        calls = [(f"prior_{number + place}", call) for place, call in enumerate(message.get("calls", ()), 1)]
        number += len(calls)
        functions = [
            {"name": call["tool"], "arguments": json.dumps(call.get("arguments", {}), ensure_ascii=False)}
            for _, call in calls
        ]
        own: dict[str, Any] = {"role": message["role"], "content": message.get("text") or None}
        if calls:
            pairs = zip(calls, functions, strict=True)
            own["tool_calls"] = [
                {"id": name, "type": "function", "function": function} for (name, _), function in pairs
            ]
        yield own
        for name, call in calls:
            error = "error: " if call.get("failed") else ""
            yield {"role": "tool", "tool_call_id": name, "content": error + call.get("result", "")}


def _tools(conversation: Conversation) -> Mapping[str, NativeTool]:
    """The tools on offer; a question can be asked only if there is a user who answers."""
    user = conversation.user
    if user is None:
        return TOOLS

    def ask(workspace: Path, arguments: Mapping[str, str]) -> str:
        return user.answer(arguments["question"]) or "the user did not answer"

    description = "Ask the user a question and wait for the answer."
    tool = NativeTool(
        name=ASK_USER, kind="think", description=description, parameters={"question": "the question"}, run=ask
    )
    return {**TOOLS, ASK_USER: tool}


def _say(conversation: Conversation, text: str) -> None:
    conversation.last_text = text
    conversation.emit({"type": "said", "turn": conversation.turn, "text": text})


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


def _call(conversation: Conversation, call: Mapping[str, str], messages: list[dict[str, Any]]) -> bool:
    """Run one tool and append its result to the messages; True if it was the tool that ends the work."""
    name, raw, tools = call["name"], call["arguments"], _tools(conversation)
    started = time.monotonic()
    try:
        arguments = json.loads(raw or "{}")
    except ValueError:
        arguments = None
    permission = _permission(conversation, call["id"], name, arguments)
    succeeded, result, exit_code = _run_tool(conversation, name, arguments, raw, permission)
    event = {
        "type": "called",
        "turn": conversation.turn,
        "id": call["id"],
        "tool": name,
        "kind": tools[name].kind if name in tools else "other",
        "arguments": arguments if isinstance(arguments, dict) else {},
        "raw": "" if isinstance(arguments, dict) else raw,
        "result": result,
        "succeeded": succeeded,
        "seconds": round(time.monotonic() - started, 4),
        "witness": "log",
        "permission": permission,
        **({} if exit_code is None else {"exit_code": exit_code}),
    }
    conversation.emit(event)
    conversation.steering.called(name, str(event["kind"]))
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    if name == FINISH and succeeded:
        _say(conversation, result)
        return True
    return False


def _run_tool(
    conversation: Conversation, name: str, arguments: Any, raw: str, permission: str
) -> tuple[bool, str, int | None]:
    """Whether the tool succeeded, its result, and the exit code of a command that ended."""
    tools = _tools(conversation)
    tool = tools.get(name)
    if tool is None:
        return False, f"error: there is no tool {name!r}; the tools are: {', '.join(tools)}", None
    if arguments is None:
        return False, f"error: the arguments are not valid JSON: {raw[:200]}", None
    if permission == "deny":
        return False, "error: the user did not allow this", None
    try:
        result = run_tool(tool, conversation.workspace, arguments)
        return True, result, 0 if tool.kind == "execute" else None
    except ToolError as error:
        return False, f"error: {error}", error.exit_code


def _permission(conversation: Conversation, call: str, name: str, arguments: Any) -> str:
    """Ask for permission to use a tool that can change something: `allow`, `deny`, or `unasked` for the others."""
    tool = _tools(conversation).get(name)
    if tool is None or not isinstance(arguments, dict) or tool.kind in _NO_PERMISSION_NEEDED:
        return "unasked"
    answer = conversation.approver.answer(name, tool.kind)
    asked = {"type": "asked", "turn": conversation.turn, "id": call, "tool": name, "kind": tool.kind, "answer": answer}
    conversation.emit({**asked, "arguments": arguments})
    return answer


# The system prompt. It is always the same, so that a provider's prompt cache can help.
#
# The examples all have one form (`User:`, `You: TOOL {…}`, `Result:`); for a local model they are turned into
# messages.

SYSTEM = """\
You are a coding agent working in the user's folder through the tools on offer.

- Do what the user asks, with tools. Saying that something is done does not do it.
- Read a file before you edit it. Change nothing that you were not asked to change.
- To put text into a new file, use write_file. To change a part of a file, use edit_file.
- If the user only asks a question, read the files it is about, then answer; leave all files as they are.
- When the work is done, call finish with a short answer for the user.

Examples:

User: Put the words call Anna into todo.txt.
You: write_file {"path": "todo.txt", "content": "call Anna"}
Result: wrote 9 characters to todo.txt
You: finish {"answer": "I wrote it into todo.txt."}

User: When does the boat leave? It stands in plan.txt.
You: read_file {"path": "plan.txt"}
Result: The boat leaves at nine.
You: finish {"answer": "The boat leaves at nine."}

User: Change soup to salad in menu.txt.
You: read_file {"path": "menu.txt"}
Result: Today we serve soup.
You: edit_file {"path": "menu.txt", "old": "soup", "new": "salad"}
Result: edited menu.txt
You: finish {"answer": "The menu says salad now."}

User: Get rid of temp.log.
You: shell {"command": "rm temp.log"}
Result: (no output)
You: finish {"answer": "temp.log is gone."}
"""
