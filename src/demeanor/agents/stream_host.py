"""The program that starts an agent with streamed input (`--input-format stream-json`); started by path.

It sends the prompt, passes the agent's output on, and says what the eval's `steer` tells while the agent works. What it
said is a line of its own in the output: `{"type": "demeanor_steered", …}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from demeanor.core.text.json_values import as_dict, as_dicts
from demeanor.core.values.steering import Steering, steered_event

STEERED = "demeanor_steered"
_OWN_VARIABLES = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")


class StreamHost:
    """One agent for one prompt."""

    def __init__(self, task: dict[str, Any], command: list[str]) -> None:
        self._task = task
        self._state = Path(task["state"])
        before = json.loads(self._state.read_text("utf-8")) if self._state.exists() else {}
        self._steering = Steering(before.get("open", task["steer"]), before.get("counts"))
        env = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
        self._agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self._tools: dict[str, str] = {}
        self._turn = 0
        self._answered = True
        self._interrupted: dict[str, Any] | None = None
        self._stopped = False

    def run(self) -> int:
        """Run the agent until it exits; returns its exit code."""
        if self._agent.stdout is None:
            raise TypeError("the agent's output is not a pipe")
        self._say(self._task["prompt"])
        for line in self._agent.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            message = _message(line)
            if message is not None:
                self._handle(message)
        code = self._agent.wait()
        kept = {"open": self._steering.open, "counts": self._steering.counts}
        self._state.write_text(json.dumps(kept), "utf-8")
        return 0 if self._stopped else code

    def _handle(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "result":
            self._ended()
            return
        if message.get("parent_tool_use_id"):
            return  # a sub-agent
        parts = _parts(message)
        if kind == "assistant":
            if self._answered:
                self._turn += 1
                self._answered = False
            self._tools |= {
                str(part.get("id")): str(part.get("name")) for part in parts if part.get("type") == "tool_use"
            }
        results = [part for part in parts if part.get("type") == "tool_result"] if kind == "user" else []
        for part in results:
            tool = self._tools.get(str(part.get("tool_use_id")), "")
            self._steering.called(tool, self._kind(tool))
        if results and not self._answered:
            self._answered = True
            self._steering.answered()
        if results and self._interrupted is None:
            self._give()

    def _give(self) -> None:
        """Say what is due, within the turn."""
        due = self._steering.due()
        first = next((message for message in due if message.get("interrupt")), None)
        if first is None:
            for message in due:
                self._emit(message, "hint")
                self._say(message["say"])
            return
        self._steering.open = [message for message in due if message is not first] + self._steering.open
        self._interrupted = first
        self._emit(first, "interrupt")
        self._write({"type": "control_request", "request_id": "steer", "request": {"subtype": "interrupt"}})

    def _ended(self) -> None:
        """The agent's turn has ended: say what could not be said within it, or close its input."""
        message, self._interrupted = self._interrupted, None
        said = [message["say"]] if message and message.get("say") else []
        if not self._answered:
            self._answered = True
            self._steering.answered()
        for late in self._steering.due():
            self._emit(late, "prompt")
            said += [late["say"]] if late.get("say") else []
        for text in said:
            self._say(text)
        self._stopped = message is not None and not said
        if not said and self._agent.stdin is not None:
            with contextlib.suppress(OSError):
                self._agent.stdin.close()

    def _kind(self, tool: str) -> str:
        usual = self._task["usual_kinds"].get(tool.lower().replace("-", "_"), "other")
        return str(self._task["own_kinds"].get(tool) or usual)

    def _emit(self, message: dict[str, Any], delivery: str) -> None:
        line = json.dumps({"type": STEERED, "event": steered_event(message, max(self._turn, 1), delivery)})
        sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()

    def _say(self, text: str) -> None:
        self._write({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}})

    def _write(self, message: dict[str, Any]) -> None:
        if self._agent.stdin is not None and not self._agent.stdin.closed:
            with contextlib.suppress(OSError):  # it closed its input; its output or its exit code explains why
                self._agent.stdin.write(json.dumps(message).encode() + b"\n")
                self._agent.stdin.flush()


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    return as_dicts(as_dict(message.get("message")).get("content"))


def main() -> int:
    """`stream_host.py TASK.json PROGRAM ARGUMENT…`."""
    task, *command = sys.argv[1:]
    return StreamHost(json.loads(Path(task).read_text("utf-8")), command).run()


if __name__ == "__main__":
    sys.exit(main())
