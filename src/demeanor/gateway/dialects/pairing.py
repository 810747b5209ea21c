"""Pairs tool calls with their results, because some providers refuse what others tolerate.

A translated conversation must satisfy the strictest provider: every call has a unique id and exactly one result, the
results come directly after the turn with the calls, before any other user content, and each contains the tool's name.
Nothing is dropped: a result without a call becomes text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from demeanor.core.values.messages import Message, Part, Role, Text, Thinking, ToolCall, ToolResult

SYSTEM = frozenset({"system", "developer"})
"""The roles that instruct the model."""

CONVERSATION_CONTINUES = "(the conversation goes on)"
"""Inserted as a user message before a conversation that starts with the assistant."""

NO_RESULT = "(no result was kept for this call)"
"""The result of a call that never got one."""


def pair_results(messages: Iterable[Message]) -> tuple[Message, ...]:
    """`messages` with exactly one result for every call, directly after the turn that made it."""
    output: list[Message] = []
    open_calls = _OpenCalls()
    for message in messages:
        if message.role == "assistant":
            output.extend(open_calls.flush() if open_calls.has_followup else ())
            turn = replace(message, parts=tuple(open_calls.add_call(part) for part in _merge_thinking(message.parts)))
            if output and output[-1].role == "assistant":
                output[-1] = replace(output[-1], parts=output[-1].parts + turn.parts)
            else:
                output.append(turn)
        elif message.role == "user" or open_calls.calls or open_calls.other_messages:
            open_calls.add_message(message)
        else:
            output.append(message)
    output.extend(open_calls.flush(last=True))
    return tuple(output)


def alternate_turns(
    messages: Iterable[Message], *, accepts: Callable[[Part], bool]
) -> tuple[list[Text], tuple[Message, ...]]:
    """The system prompt, and a conversation in which user and assistant alternate, the user is first and none is empty.

    `accepts` tells which parts the target accepts. Later system messages keep their position as user messages.
    """
    output = list(pair_results(messages))
    system: list[Text] = []
    while output and output[0].role in SYSTEM:
        system += [part for part in output.pop(0).parts if isinstance(part, Text) and accepts(part)]
    turns: list[Message] = []
    for message in output:
        role: Role = "assistant" if message.role == "assistant" else "user"
        parts = tuple(filter(accepts, message.parts))
        if parts and not turns and role == "assistant":
            turns.append(Message(role="user", parts=(Text(text=CONVERSATION_CONTINUES),)))
        if parts and turns and turns[-1].role == role:
            turns[-1] = replace(turns[-1], parts=turns[-1].parts + parts)
        elif parts:
            turns.append(replace(message, role=role, parts=parts))
    return system, tuple(turns)


def join_texts(parts: list[Text]) -> list[Text]:
    """Several texts joined into one."""
    return [Text(text="\n\n".join(part.text for part in parts))] if len(parts) > 1 else parts


def _merge_thinking(parts: Iterable[Part]) -> list[Part]:
    """`parts` with the pieces of one thought merged: some dialects send summary and encrypted content separately."""
    output: list[Part] = []
    for part in parts:
        last = output[-1] if output else None
        if isinstance(part, Thinking) and isinstance(last, Thinking) and part.id is not None and part.id == last.id:
            output[-1] = Thinking(
                text=last.text + part.text,
                signature=part.signature or last.signature,
                encrypted=part.encrypted or last.encrypted,
                summary=last.summary + part.summary,
                id=part.id,
            )
        else:
            output.append(part)
    return output


@dataclass(slots=True)
class _OpenCall:
    original_id: str
    call: ToolCall
    result: ToolResult | None = None


class _OpenCalls:
    """The calls of the last assistant turn, and the messages since."""

    def __init__(self) -> None:
        self.calls: list[_OpenCall] = []
        self.other_messages: list[Message] = []
        self.seen: set[str] = set()

    @property
    def has_followup(self) -> bool:
        """Whether there was a message since the calls."""
        return bool(self.other_messages) or any(call.result for call in self.calls)

    def add_call(self, part: Part) -> Part:
        """Add a part of an assistant turn; a call gets a unique id."""
        if not isinstance(part, ToolCall):
            return part
        stem = part.id or "call"
        name, turn = stem, 1
        while name in self.seen:
            turn += 1
            name = f"{stem}_{turn}"
        self.seen.add(name)
        call = part if name == part.id else replace(part, id=name)
        self.calls.append(_OpenCall(original_id=part.id, call=call))
        return call

    def add_message(self, message: Message) -> None:
        """Take the results out of a message, and keep its other parts for after the results."""
        other_parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                open_call = self._match(part)
                if open_call is None:
                    other_parts.extend(_as_text(part))
                else:
                    call = open_call.call
                    open_call.result = replace(part, call_id=call.id, name=call.name)
            else:
                other_parts.append(part)
        if other_parts or not message.parts:
            self.other_messages.append(replace(message, parts=tuple(other_parts)))

    def flush(self, *, last: bool = False) -> list[Message]:
        """The results of the open calls, followed by the other messages."""
        due = self.has_followup or not last
        results = tuple(call.result or _missing_result(call.call) for call in self.calls) if due else ()
        output = [Message(role="user", parts=results)] if results else []
        output += self.other_messages
        self.calls, self.other_messages = [], []
        return output

    def _match(self, result: ToolResult) -> _OpenCall | None:
        for call in self.calls:
            named = result.name in {None, "", call.call.name}
            if call.result is None and (call.original_id == result.call_id if result.call_id else named):
                return call
        return None


def _missing_result(call: ToolCall) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, parts=(Text(text=NO_RESULT),), is_error=True)


def _as_text(result: ToolResult) -> list[Part]:
    label = result.name or result.call_id or "a tool"
    return [Text(text=f"[result of {label}]"), *result.parts]
