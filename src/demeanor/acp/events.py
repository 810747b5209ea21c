"""What an agent tells of its work, as events of ours.

The protocol knows no turns of the model and often no name of a tool. A turn is taken to begin with what comes after a
tool's answer; a name is looked for where agents put it, and where there is none the title of the call stands for it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

_KINDS = {"read", "edit", "delete", "search", "execute", "fetch", "think"}
_OTHER_KINDS = {"move": "edit"}
_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}")
_LONGEST_RESULT = 50_000
_ENDED = {"completed": True, "failed": False}


class EventLog:
    """The events of a session, told as they happen."""

    def __init__(self, tell: Callable[[Mapping[str, Any]], None], own: Mapping[str, str], usual: Mapping[str, str]):
        self._tell = tell
        self._own, self._usual = own, usual
        self._turn = 0
        self._answered = True
        self._text: tuple[str, Any] | None = None
        self._pieces: list[str] = []
        self._calls: dict[str, dict[str, Any]] = {}

    def update(self, update: Mapping[str, Any]) -> None:
        """A session/update."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._chunk("said", update)
            case "agent_thought_chunk":
                self._chunk("thought", update)
            case "tool_call" | "tool_call_update":
                self._call(update)
            case "plan":
                self._plan(update)

    def asked(self, call: Mapping[str, Any], decide: Callable[[str, str], str]) -> str:
        """A request for permission; `decide` answers it by the tool's name and kind."""
        told = self._note(call)
        kind = self._kind(told)
        answer = decide(told["tool"], kind)
        told["permission"] = answer
        event = {"type": "asked", "turn": told["turn"], "id": told["id"], "tool": told["tool"], "kind": kind}
        self._tell({**event, "answer": answer, "arguments": told["arguments"] or _table(call.get("rawInput"))})
        return answer

    def ended(self) -> None:
        """A prompt is answered, or the session is over: nothing more is to come of what was begun."""
        self._flush()
        for call in [*self._calls.values()]:
            self._finish(call, succeeded=None)
        self._answered = True

    def refused(self) -> None:
        """The agent ended its turn by refusing to go on."""
        said = {"type": "model_failed", "turn": max(self._turn, 1), "status": None, "reason": "refusal"}
        self._tell({**said, "message": "the agent refused to go on"})

    def _chunk(self, kind: str, update: Mapping[str, Any]) -> None:
        text = _text(_table(update.get("content")).get("text"))
        whose = (kind, update.get("messageId"))
        if not text:
            return
        if whose != self._text or self._answered:
            self._flush()
            self._begin()
        self._text = whose
        self._pieces.append(text)

    def _plan(self, update: Mapping[str, Any]) -> None:
        entries = update.get("entries")
        steps = [_text(_table(entry).get("content")) for entry in entries] if isinstance(entries, list) else []
        self._flush()
        self._begin()
        self._say("thought", "Plan:\n" + "\n".join(f"- {step}" for step in steps if step))

    def _call(self, update: Mapping[str, Any]) -> None:
        call = self._note(update)
        result = _result(update)
        call["result"] = call["result"] if result is None else result
        status = update.get("status")
        if status in _ENDED:
            self._finish(call, succeeded=_ENDED[status])

    def _note(self, update: Mapping[str, Any]) -> dict[str, Any]:
        """The call that an update is about, with what the update adds to what is known of it."""
        self._flush()
        number = _text(update.get("toolCallId"))
        call = self._calls.get(number)
        if call is None:
            self._begin()
            call = {"id": number, "turn": self._turn, "started": time.monotonic(), "tool": "", "kind": ""}
            call |= {"arguments": {}, "result": None, "permission": "unasked", "told": False}
            self._calls[number] = call
        named = _named(update.get("_meta"), 4)
        call["tool"] = named or call["tool"] or _name(number, _text(update.get("title")))
        call["kind"] = _text(update.get("kind")) if update.get("kind") != "other" else call["kind"]
        if update.get("sessionUpdate"):  # a request for permission may show other arguments than those of the call
            call["arguments"] = _table(update.get("rawInput")) or call["arguments"]
            call["told"] = True
        return call

    def _finish(self, call: dict[str, Any], *, succeeded: bool | None) -> None:
        del self._calls[call["id"]]
        if not call["told"]:  # it was only asked about
            return
        self._answered = self._answered or succeeded is not None
        event = {"type": "called", **{name: call[name] for name in ("turn", "id", "tool", "arguments", "permission")}}
        event |= {"kind": self._kind(call), "result": call["result"], "succeeded": succeeded, "witness": "log"}
        self._tell({**event, "seconds": round(time.monotonic() - call["started"], 4)})

    def _kind(self, call: Mapping[str, Any]) -> str:
        """By the configuration's table, by the agent, by the names in common use."""
        told = _OTHER_KINDS.get(call["kind"], call["kind"])
        name = call["tool"].lower().replace("-", "_")
        return self._own.get(call["tool"]) or (told if told in _KINDS else self._usual.get(name, "other"))

    def _begin(self) -> None:
        if self._answered:
            self._turn += 1
            self._answered = False

    def _flush(self) -> None:
        if self._text is not None:
            self._say(self._text[0], "".join(self._pieces))
        self._text, self._pieces = None, []

    def _say(self, kind: str, text: str) -> None:
        if text.strip():
            self._tell({"type": kind, "turn": max(self._turn, 1), "text": text})


def _name(number: str, title: str) -> str:
    """A tool's name: the title where it is one, or what stands before the model's id in `write_file__call_1`."""
    if _NAME.fullmatch(title):
        return title
    before, found, _ = number.partition("__")
    return before if found and _NAME.fullmatch(before) else title or "(unnamed)"


def _named(meta: Any, depth: int) -> str:
    """The `toolName` that agents put somewhere into `_meta`."""
    if not isinstance(meta, dict) or depth == 0:
        return ""
    found = _text(meta.get("toolName"))
    return found or next((name for value in meta.values() if (name := _named(value, depth - 1))), "")


def _result(update: Mapping[str, Any]) -> str | None:
    """What the tool answered: its text, or its raw output; None where the update tells of none."""
    content = update.get("content")
    blocks = [_table(_table(block).get("content")) for block in content] if isinstance(content, list) else []
    told = "\n".join(text for block in blocks if (text := _text(block.get("text"))))
    raw = update.get("rawOutput")
    if not told and raw is not None:
        told = raw if isinstance(raw, str) else json.dumps(raw)
    return told[:_LONGEST_RESULT] if told else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
