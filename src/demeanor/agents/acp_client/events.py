"""Converts the updates of a session into Demeanor's events.

The protocol does not report model answers, and often not the name of a tool. A turn starts with the first update after
a tool's result. A tool's name is searched for where agents put it; if there is none, the title of the call is used.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from demeanor.core.text.json_values import as_dict, as_text, as_whole
from demeanor.core.values.steering import Steering, steered_event

_KINDS = {"read", "edit", "delete", "search", "execute", "fetch", "think"}
_KIND_ALIASES = {"move": "edit"}
_NAME = re.compile(r"[A-Za-z][\w.-]{0,99}")
_MAX_RESULT = 50_000
_EXIT_CODE = ("exit_code", "exitCode", "returncode", "exit")
_FINAL_STATUS = {"completed": True, "failed": False}


class EventLog:
    """Emits the events of a session as they happen."""

    def __init__(
        self,
        emit: Callable[[Mapping[str, Any]], None],
        own: Mapping[str, str],
        usual: Mapping[str, str],
        steering: Steering,
    ) -> None:
        self._emit = emit
        self._steering = steering
        self._own_kinds, self._usual_kinds = own, usual
        self._turn = 0
        self._answered = True
        self._text: tuple[str, Any] | None = None
        self._pieces: list[str] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self.last_text = ""
        """The agent's last message to the user."""

    def update(self, update: Mapping[str, Any]) -> None:
        """Handle a `session/update`."""
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._chunk("said", update)
            case "agent_thought_chunk":
                self._chunk("thought", update)
            case "tool_call" | "tool_call_update":
                self._tool_call(update)
            case "plan":
                self._plan(update)

    def kind_of(self, call: Mapping[str, Any]) -> str:
        """The kind of the call that a request for permission is about, as far as it is known by now."""
        return self._kind(self._update_call(call))

    def identity(self, call: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """The id and the arguments of the call that a request for permission is about."""
        updated = self._update_call(call)
        return updated["id"], updated["arguments"] or as_dict(call.get("rawInput"))

    def set_tool(self, call: Mapping[str, Any], tool: str) -> None:
        """Set the name of a call's tool, which the agent may not have told."""
        self._update_call(call)["tool"] = tool

    def asked(self, call: Mapping[str, Any], decide: Callable[[str, str], str]) -> str:
        """Handle a request for permission; `decide` answers it by the tool's name and kind."""
        updated = self._update_call(call)
        kind = self._kind(updated)
        answer = decide(updated["tool"], kind)
        updated["permission"] = answer
        event = {"type": "asked", "turn": updated["turn"], "id": updated["id"], "tool": updated["tool"], "kind": kind}
        self._emit({**event, "answer": answer, "arguments": updated["arguments"] or as_dict(call.get("rawInput"))})
        return answer

    def steered(self, message: Mapping[str, Any], delivery: str) -> None:
        """Handle a message of the user while the agent works."""
        self._flush()
        self._emit(steered_event(message, max(self._turn, 1), delivery))

    def ended(self) -> None:
        """Handle the end of a turn: emit pending text, and calls that got no result."""
        self._flush()
        for call in [*self._calls.values()]:
            self._finish(call, succeeded=None)
        self._answer()

    def refused(self) -> None:
        """Handle a turn that the agent ended with a refusal."""
        event = {"type": "model_failed", "turn": max(self._turn, 1), "status": None, "reason": "refusal"}
        self._emit({**event, "message": "the agent refused to continue"})

    def _chunk(self, kind: str, update: Mapping[str, Any]) -> None:
        text = as_text(as_dict(update.get("content")).get("text"))
        message = (kind, update.get("messageId"))
        if not text:
            return
        if message != self._text or self._answered:
            self._flush()
            self._start_turn()
        self._text = message
        self._pieces.append(text)

    def _plan(self, update: Mapping[str, Any]) -> None:
        entries = update.get("entries")
        steps = [as_text(as_dict(entry).get("content")) for entry in entries] if isinstance(entries, list) else []
        self._flush()
        self._start_turn()
        self._emit_text("thought", "Plan:\n" + "\n".join(f"- {step}" for step in steps if step))

    def _tool_call(self, update: Mapping[str, Any]) -> None:
        call = self._update_call(update)
        result = _result(update)
        call["result"] = call["result"] if result is None else result
        code = _exit_code(update)
        call["exit_code"] = call["exit_code"] if code is None else code
        status = update.get("status")
        if status in _FINAL_STATUS:
            self._finish(call, succeeded=_FINAL_STATUS[status])

    def _update_call(self, update: Mapping[str, Any]) -> dict[str, Any]:
        """The call that an update is about, with the fields of the update added."""
        self._flush()
        call_id = as_text(update.get("toolCallId"))
        call = self._calls.get(call_id)
        if call is None:
            self._start_turn()
            call = {"id": call_id, "turn": self._turn, "started": time.monotonic(), "tool": "", "kind": ""}
            call |= {"arguments": {}, "result": None, "permission": "unasked", "reported": False, "exit_code": None}
            self._calls[call_id] = call
        name = _name_in_meta(update.get("_meta"), 4)
        call["tool"] = name or call["tool"] or _tool_name(call_id, as_text(update.get("title")))
        kind = as_text(update.get("kind"))
        call["kind"] = kind if kind in _KINDS or kind in _KIND_ALIASES else call["kind"]  # it may be left out later
        if update.get("sessionUpdate"):  # a request for permission may contain other arguments than the call
            call["arguments"] = as_dict(update.get("rawInput")) or call["arguments"]
            call["reported"] = True
        return call

    def _finish(self, call: dict[str, Any], *, succeeded: bool | None) -> None:
        del self._calls[call["id"]]
        if not call["reported"]:  # there was only a request for permission
            return
        if succeeded is not None:
            self._answer()
        event = {"type": "called", **{name: call[name] for name in ("turn", "id", "tool", "arguments", "permission")}}
        event |= {"kind": self._kind(call), "result": call["result"], "succeeded": succeeded, "witness": "log"}
        event["exit_code"] = call["exit_code"]
        self._emit({**event, "seconds": round(time.monotonic() - call["started"], 4)})
        if succeeded is not None:
            self._steering.called(call["tool"], self._kind(call))

    def _kind(self, call: Mapping[str, Any]) -> str:
        """The kind of a call: by the configuration, else as the agent says, else by the tool's name."""
        kind = _KIND_ALIASES.get(call["kind"], call["kind"])
        name = call["tool"].lower().replace("-", "_")
        return self._own_kinds.get(call["tool"]) or (kind if kind in _KINDS else self._usual_kinds.get(name, "other"))

    def _answer(self) -> None:
        """The model's answer is complete: a tool has a result, or the prompt has ended."""
        if not self._answered:
            self._steering.answered()
        self._answered = True

    def _start_turn(self) -> None:
        if self._answered:
            self._turn += 1
            self._answered = False

    def _flush(self) -> None:
        if self._text is not None:
            self._emit_text(self._text[0], "".join(self._pieces))
        self._text, self._pieces = None, []

    def _emit_text(self, kind: str, text: str) -> None:
        if text.strip():
            self.last_text = text if kind == "said" else self.last_text
            self._emit({"type": kind, "turn": max(self._turn, 1), "text": text})


def _tool_name(call_id: str, title: str) -> str:
    """A tool's name: the title if it is a name, else the prefix of an id such as `write_file__call_1`."""
    if _NAME.fullmatch(title):
        return title
    prefix, separator, _ = call_id.partition("__")
    return prefix if separator and _NAME.fullmatch(prefix) else title or "(unnamed)"


def _name_in_meta(meta: Any, depth: int) -> str:
    """The `toolName` or `tool_name` that some agents put somewhere into `_meta`."""
    if not isinstance(meta, dict) or depth == 0:
        return ""
    tool_name = as_text(meta.get("toolName")) or as_text(meta.get("tool_name"))
    return tool_name or next((name for value in meta.values() if (name := _name_in_meta(value, depth - 1))), "")


def _exit_code(update: Mapping[str, Any]) -> int | None:
    """The exit code of a command, where agents put it: into the raw output, or as Zed's clients read it."""
    raw, meta = as_dict(update.get("rawOutput")), as_dict(update.get("_meta"))
    places = (
        raw,
        as_dict(raw.get("metadata")),
        as_dict(raw.get("structuredContent")),
        as_dict(meta.get("terminal_exit")),
    )
    codes = (as_whole(place.get(name)) for place in places for name in _EXIT_CODE)
    return next((code for code in codes if code is not None), None)


def _result(update: Mapping[str, Any]) -> str | None:
    """The result of a tool: its text, or its raw output; None if the update has neither."""
    content = update.get("content")
    blocks = [as_dict(as_dict(block).get("content")) for block in content] if isinstance(content, list) else []
    result = "\n".join(text for block in blocks if (text := as_text(block.get("text"))))
    raw = update.get("rawOutput")
    if not result and raw is not None:
        result = raw if isinstance(raw, str) else json.dumps(raw)
    return result[:_MAX_RESULT] if result else None
