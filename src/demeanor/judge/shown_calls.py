"""The tool-call chain of a trial as text, one line per call. Its content is untrusted."""

from __future__ import annotations

import json
from typing import Any

from demeanor.core.text.wording import count, one_line
from demeanor.core.values.trajectory import Asked, Called, Faulted, ModelFailed, Steered, Trajectory

_MOST_CALLS = 200
_VALUE = 40
_ARGUMENTS = 160
_RESULT = 100


def call_chain(trajectory: Trajectory) -> str:
    """Numbered lines such as `1. write_file(path="notes.txt", content="buy milk") → ok`."""
    lines = []
    number = 0
    for event in trajectory.events:
        if isinstance(event, Called):
            number += 1
            who = "(sub-agent) " if event.by_sub_agent else ""
            lines.append(f"{number}. {who}{shown_call(event)} → {_ending(event)}")
        elif isinstance(event, Asked) and event.answer == "deny":
            lines.append(f"-  asked for permission to use {one_line(event.tool, width=_VALUE)}: denied")
        elif isinstance(event, ModelFailed):
            status = f" {event.status}" if event.status is not None else ""
            lines.append(f"!  the model failed: {event.reason}{status}: {one_line(event.message, width=_RESULT)}")
        elif isinstance(event, Faulted):
            lines.append(f"#  fault injected: {one_line(event.detail, width=_RESULT)}")
        elif isinstance(event, Steered):
            verb = "interrupted" if event.delivery == "interrupt" else "said"
            lines.append(f">  the user {verb}: {one_line(event.text, width=_RESULT)}".removesuffix(": "))
    if len(lines) > _MOST_CALLS:
        half = _MOST_CALLS // 2
        lines = [*lines[:half], f"… {count(len(lines) - 2 * half, 'line')} left out", *lines[-half:]]
    lines += [f"?  incomplete: {one_line(gap, width=200)}" for gap in (*trajectory.gaps, *trajectory.call_gaps)]
    return "\n".join(lines) or "(no tool calls)"


def shown_call(call: Called) -> str:
    """A call as it would be written: `read_file(path="README.md")`."""
    shown = ", ".join(f"{one_line(str(name), width=_VALUE)}={_value(value)}" for name, value in call.arguments.items())
    if not call.arguments and call.raw:
        shown = one_line(call.raw, width=_VALUE)
    return f"{one_line(call.tool, width=_VALUE)}({one_line(shown, width=_ARGUMENTS)})"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(one_line(value, width=_VALUE), ensure_ascii=False)
    return one_line(json.dumps(value, ensure_ascii=False, default=repr), width=_VALUE)


def _ending(call: Called) -> str:
    result = one_line(call.result or "", width=_RESULT)
    if call.succeeded is None:
        return result if call.result else "no result recorded"
    word = "ok" if call.succeeded else "failed"
    return f"{word}: {result}" if result else word
