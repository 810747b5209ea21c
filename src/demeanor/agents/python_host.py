"""The program that runs a Python function as an agent; started by path, standard library only.

The function gets a `Session`. What it prints goes to standard error; its events go to standard output.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO


class AgentSession:
    """What the function may know and do."""

    def __init__(self, task: dict[str, Any], out: TextIO) -> None:
        self.prompts: list[str] = task["prompts"]
        self.prompt: str = self.prompts[0]
        self.workspace = Path(task["workspace"])
        self.model: str = task["model"]
        self.base_url: str = task["base_url"]
        self.token: str = task["token"]
        self.seed: int = task["seed"]
        self.params: dict[str, Any] = task["params"]
        self.messages: list[dict[str, str]] = task["messages"]
        self.approval: dict[str, Any] = task["approval"]
        self.turn = 1
        self._out = out
        self._calls = 0
        self._answered: list[str] = []
        self._permission = "unasked"

    def say(self, text: str) -> None:
        """Tell the user something."""
        self._tell({"type": "said", "turn": self.turn, "text": text})

    def call(
        self, tool: str, /, *, kind: str = "other", result: str = "", succeeded: bool = True, **arguments: Any
    ) -> None:
        """Note that a tool was used."""
        self._calls += 1
        event = {"type": "called", "turn": self.turn, "id": f"call_{self._calls}", "tool": tool, "kind": kind}
        event |= {"arguments": arguments, "result": result, "succeeded": succeeded, "witness": "log"}
        event["permission"], self._permission = self._permission, "unasked"
        self._tell(event)

    def ask(self, tool: str, /, *, kind: str = "other", **arguments: Any) -> bool:
        """Ask the user for permission to use a tool; whether it is given."""
        rules = self.approval.get("rules", {})
        rule = tool if rules.get(tool) else kind if rules.get(kind) else "default"
        answers = rules.get(rule) or self.approval.get("default", "allow")
        script = [answers] if isinstance(answers, str) else answers
        answer = script[min(self._answered.count(rule), len(script) - 1)]
        self._answered.append(rule)
        self._permission = answer
        event = {"type": "asked", "turn": self.turn, "id": f"call_{self._calls + 1}", "tool": tool, "kind": kind}
        self._tell({**event, "answer": answer, "arguments": arguments})
        return bool(answer == "allow")

    def next_turn(self) -> None:
        """What follows belongs to the next answer of the model."""
        self.turn += 1

    def _tell(self, event: dict[str, Any]) -> None:
        self._out.write(json.dumps(event) + "\n")
        self._out.flush()


def find(function: str) -> Callable[[AgentSession], int | None]:
    """The function named `file.py:name` or `module:name`."""
    place, _, name = function.rpartition(":")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location("demeanor_python_agent", place)
        if spec is None or spec.loader is None:
            raise ImportError(place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    found: Callable[[AgentSession], int | None] = getattr(module, name)
    return found


def main() -> int:
    """Run the function; its number, or 0, is the exit code."""
    out, sys.stdout = sys.stdout, sys.stderr
    function, task = sys.argv[1:]
    return find(function)(AgentSession(json.loads(Path(task).read_text("utf-8")), out)) or 0


if __name__ == "__main__":
    sys.exit(main())
