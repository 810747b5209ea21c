"""Calls and their results, made to fit: what one provider tolerates, another refuses.

A conversation that is told in another dialect than it was held in must satisfy the strictest reader: every call has an
id of its own and exactly one result, results stand directly behind the turn that called, before anything else the user
says, and each knows its tool's name. Nothing is dropped: a result without a call is told as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from demeanor.core.messages import Message, Part, Role, Text, Thinking, ToolCall, ToolResult

SYSTEM = frozenset({"system", "developer"})
"""The roles that instruct the model."""

GOES_ON = "(the conversation goes on)"
"""Stands before an assistant who speaks first."""

NO_RESULT = "(no result was kept for this call)"
"""Stands in for the result of a call that never got one."""


def paired(messages: Iterable[Message]) -> tuple[Message, ...]:
    """`messages` with every call answered once, directly behind the turn that made it, which is one message."""
    told: list[Message] = []
    desk = _Desk()
    for message in messages:
        if message.role == "assistant":
            told.extend(desk.settle() if desk.spoken else ())
            turn = replace(message, parts=tuple(desk.call(part) for part in _joined(message.parts)))
            if told and told[-1].role == "assistant":
                told[-1] = replace(told[-1], parts=told[-1].parts + turn.parts)
            else:
                told.append(turn)
        elif message.role == "user" or desk.calls or desk.rest:
            desk.answer(message)
        else:
            told.append(message)
    told.extend(desk.settle(last=True))
    return tuple(told)


def taking_turns(
    messages: Iterable[Message], *, says: Callable[[Part], bool]
) -> tuple[list[Text], tuple[Message, ...]]:
    """The system prompt, and a conversation in which user and assistant take turns, the user begins and none is mute.

    `says` tells which parts the reader takes. System messages in the middle keep their place, told by the user.
    """
    told = list(paired(messages))
    system: list[Text] = []
    while told and told[0].role in SYSTEM:
        system += [part for part in told.pop(0).parts if isinstance(part, Text) and says(part)]
    turns: list[Message] = []
    for message in told:
        role: Role = "assistant" if message.role == "assistant" else "user"
        parts = tuple(filter(says, message.parts))
        if parts and not turns and role == "assistant":
            turns.append(Message(role="user", parts=(Text(text=GOES_ON),)))
        if parts and turns and turns[-1].role == role:
            turns[-1] = replace(turns[-1], parts=turns[-1].parts + parts)
        elif parts:
            turns.append(replace(message, role=role, parts=parts))
    return system, tuple(turns)


def one_text(parts: list[Text]) -> list[Text]:
    """Several texts made one."""
    return [Text(text="\n\n".join(part.text for part in parts))] if len(parts) > 1 else parts


def _joined(parts: Iterable[Part]) -> list[Part]:
    """`parts`, the pieces of one thought made one: some dialects tell its summary and its secret apart."""
    told: list[Part] = []
    for part in parts:
        last = told[-1] if told else None
        if isinstance(part, Thinking) and isinstance(last, Thinking) and part.id is not None and part.id == last.id:
            told[-1] = Thinking(
                text=last.text + part.text,
                signature=part.signature or last.signature,
                encrypted=part.encrypted or last.encrypted,
                summary=last.summary + part.summary,
                id=part.id,
            )
        else:
            told.append(part)
    return told


@dataclass(slots=True)
class _OpenCall:
    given: str
    call: ToolCall
    result: ToolResult | None = None


class _Desk:
    """The calls of the last assistant turns, and what has been said since."""

    def __init__(self) -> None:
        self.calls: list[_OpenCall] = []
        self.rest: list[Message] = []
        self.seen: set[str] = set()

    @property
    def spoken(self) -> bool:
        """Whether anything was said since the calls."""
        return bool(self.rest) or any(one.result for one in self.calls)

    def call(self, part: Part) -> Part:
        """`part`; a call gets an id that no other call has."""
        if not isinstance(part, ToolCall):
            return part
        stem = part.id or "call"
        name, turn = stem, 1
        while name in self.seen:
            turn += 1
            name = f"{stem}_{turn}"
        self.seen.add(name)
        call = part if name == part.id else replace(part, id=name)
        self.calls.append(_OpenCall(given=part.id, call=call))
        return call

    def answer(self, message: Message) -> None:
        """Take the results out of a message and keep what else it says for after them."""
        rest: list[Part] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                open_call = self._match(part)
                if open_call is None:
                    rest.extend(_as_text(part))
                else:
                    call = open_call.call
                    open_call.result = replace(part, call_id=call.id, name=call.name)
            else:
                rest.append(part)
        if rest or not message.parts:
            self.rest.append(replace(message, parts=tuple(rest)))

    def settle(self, *, last: bool = False) -> list[Message]:
        """The results of the open calls, then whatever else was said."""
        due = self.spoken or not last
        results = tuple(one.result or _missing(one.call) for one in self.calls) if due else ()
        told = [Message(role="user", parts=results)] if results else []
        told += self.rest
        self.calls, self.rest = [], []
        return told

    def _match(self, result: ToolResult) -> _OpenCall | None:
        for one in self.calls:
            named = result.name in {None, "", one.call.name}
            if one.result is None and (one.given == result.call_id if result.call_id else named):
                return one
        return None


def _missing(call: ToolCall) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, parts=(Text(text=NO_RESULT),), is_error=True)


def _as_text(result: ToolResult) -> list[Part]:
    label = result.name or result.call_id or "a tool"
    return [Text(text=f"[result of {label}]"), *result.parts]
