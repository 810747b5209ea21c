"""The program that runs a Python function as an agent; started by path.

The function gets an `AgentSession`. What it prints goes to standard error; its events go to standard output.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from demeanor.core.values.approval import Approver
from demeanor.core.values.user_channel import UserChannel


class AgentSession:
    """The task of the agent, and methods to report what it does."""

    def __init__(self, task: dict[str, Any], out: TextIO) -> None:
        self.prompts: list[str] = task["prompts"]
        self.prompt: str = self.prompts[0]
        self.workspace = Path(task["workspace"])
        self.model: str = task["model"]
        self.base_url: str = task["base_url"]
        self.token: str = task["token"]
        self.seed: int = task["seed"]
        self.params: dict[str, Any] = task["params"]
        self.messages: list[dict[str, Any]] = task["messages"]
        self.approval: dict[str, Any] = task["approval"]
        self.turn = 1
        self._user = UserChannel(self.base_url, self.token) if task.get("user") else None
        self._out = out
        self._calls = 0
        self._approver = Approver(self.approval)
        self._permission = "unasked"

    def say(self, text: str) -> None:
        """Report a text for the user."""
        self._emit({"type": "said", "turn": self.turn, "text": text})

    def call(
        self,
        tool: str,
        /,
        *,
        kind: str = "other",
        result: str = "",
        succeeded: bool = True,
        exit_code: int | None = None,
        **arguments: Any,
    ) -> None:
        """Report that a tool was used. A command (kind "execute") needs its exit code to count as succeeded."""
        self._calls += 1
        event = {"type": "called", "turn": self.turn, "id": f"call_{self._calls}", "tool": tool, "kind": kind}
        event |= {"arguments": arguments, "result": result, "succeeded": succeeded, "exit_code": exit_code}
        event["permission"], self._permission = self._permission, "unasked"
        self._emit({**event, "witness": "log"})

    def ask(self, tool: str, /, *, kind: str = "other", **arguments: Any) -> bool:
        """Ask the user for permission to use a tool; True if it is given."""
        answer = self._permission = self._approver.answer(tool, kind)
        event = {"type": "asked", "turn": self.turn, "id": f"call_{self._calls + 1}", "tool": tool, "kind": kind}
        self._emit({**event, "answer": answer, "arguments": arguments})
        return answer == "allow"

    def reply(self, text: str) -> str | None:
        """End the turn with a message, and wait for what the user says next; None if the conversation is over."""
        self.say(text)
        return self._user.reply(text) if self._user else None

    def ask_user(self, question: str, *options: str) -> str | None:
        """Ask the user a question within the turn; None if they do not answer."""
        return self._user.answer(question, options) if self._user else None

    def next_turn(self) -> None:
        """Start the next model answer."""
        self.turn += 1

    def _emit(self, event: dict[str, Any]) -> None:
        self._out.write(json.dumps(event) + "\n")
        self._out.flush()


def load_function(function: str) -> Callable[[AgentSession], int | None]:
    """The function named `file.py:name` or `module:name`."""
    module_name, _, name = function.rpartition(":")
    if module_name.endswith(".py"):
        spec = importlib.util.spec_from_file_location("demeanor_python_agent", module_name)
        if spec is None or spec.loader is None:
            raise ImportError(module_name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(module_name)
    host_function: Callable[[AgentSession], int | None] = getattr(module, name)
    return host_function


def main() -> int:
    """Run the function; the number that it returns, or 0, is the exit code."""
    out, sys.stdout = sys.stdout, sys.stderr
    function, task = sys.argv[1:]
    return load_function(function)(AgentSession(json.loads(Path(task).read_text("utf-8")), out)) or 0


if __name__ == "__main__":
    sys.exit(main())
