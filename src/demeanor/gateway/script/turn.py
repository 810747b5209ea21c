"""What a script sees of a conversation when it is its turn, and what it answers."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from demeanor.core.exchange import Request, StopReason, Usage
from demeanor.core.messages import Message, Text, ToolCall, ToolResult
from demeanor.core.trajectory import Kind
from demeanor.gateway.script.tools import arguments, choose, shell_command

_BLOCK = re.compile(r"<([a-z]+[-_][a-z_-]+|task|context|environment|instructions)(?:\s[^>]*)?>(.*?)</\1>", re.S)
"""What agents put around a prompt, or beside it: `<system-reminder>`, `<environment_context>`, `<task>` …"""


_ISSUE = re.compile(r"\s*Please solve this issue: (.*?)\n\s*You can execute bash commands and edit files", re.S)
"""How mini-swe-agent tells its task, with pages of advice behind it."""

_COMPLAINT = re.compile(r"\s*Tool call error:\s*<error>\s*(.*?)\s*</error>", re.S)
"""How it answers a call that it can't read; no tool result comes of that one."""

_ENDING = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command by which it wants to be told that the task is done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a scripted model says."""

    text: str = ""
    """What it tells the user."""

    thinking: str = ""
    """What it thinks first."""

    calls: tuple[ToolCall, ...] = ()
    """The tools it wants to use."""

    stop: StopReason | None = None
    """Why it stopped; None means what follows from the rest."""

    usage: Usage | None = None
    """Tokens; None means an estimate."""

    wait: float = 0.0
    """Seconds it takes to think."""


Piece: TypeAlias = str | ToolCall | Answer
Played: TypeAlias = Piece | Iterable[Piece]
"""What a script may return: an answer, a text, a call, or several of them, also one by one as a generator."""


class Unable(Exception):
    """What the script wants can't be done, for instance because no tool on offer can do it."""


class Turn:
    """A conversation at the moment in which the model is to speak."""

    def __init__(self, request: Request, *, seed: int, workspace: str = "") -> None:
        self.request = request
        """What the agent asked."""

        self.seed = seed
        """The attempt's seed."""

        self.workspace = workspace
        """The folder that the agent works in; empty where it is not known."""

    @cached_property
    def prompt(self) -> str:
        """The last thing the user said, without what agents wrap around it."""
        return self._last[0]

    @cached_property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results since the user spoke last."""
        return self._last[1]

    @property
    def done(self) -> int:
        """How many tool results came since the user spoke last: where the script stands."""
        return len(self.results)

    @property
    def result(self) -> str:
        """The text of the last tool result; empty where there is none."""
        return self.results[-1].text if self.results else ""

    @cached_property
    def all_results(self) -> int:
        """How many tool results there are in the whole conversation."""
        return sum(isinstance(part, ToolResult) for message in self.request.messages for part in message.parts)

    @cached_property
    def calls_before(self) -> int:
        """How many calls the model has made; an agent that complains of one takes it out of the conversation."""
        made = sum(isinstance(part, ToolCall) for message in self.request.messages for part in message.parts)
        return made + sum(_complaint(message) is not None for message in self.request.messages)

    @cached_property
    def random(self) -> random.Random:
        """Draws that differ from step to step, and are the same when the same step is asked for again."""
        return random.Random(f"{self.seed}/{self.prompt}/{self.done}")  # noqa: S311 - repeatable on purpose

    def chance(self, probability: float, name: str = "") -> bool:
        """Whether something happens in this attempt; the answer is the same at every step."""
        return random.Random(f"{self.seed}/{self.prompt}/{name}").random() < probability  # noqa: S311

    def tool(self, kind: str, *names: str) -> str | None:
        """The name of the offered tool of a kind that takes these arguments; None where there is none."""
        found = choose(self.request.tools, Kind(kind), names or None)
        return found.name if found else None

    def call(self, kind: str, **given: str) -> ToolCall:
        """A call of whichever tool on offer does this; raises Unable where none can."""
        wanted = Kind(kind)
        tool = choose(self.request.tools, wanted, tuple(given))
        if tool is None:
            tool = choose(self.request.tools, Kind.EXECUTE)
            command = shell_command(wanted, given)
            if tool is None or command is None:
                raise Unable(f"no tool on offer can {kind} with {', '.join(given) or 'nothing'}")
            wanted, given = Kind.EXECUTE, {"command": command}
        return self.call_tool(tool.name, arguments(tool, wanted, given, self.workspace))

    @cached_property
    def ending(self) -> ToolCall | None:
        """The call that ends the conversation, where an agent does not take words for an end."""
        first = next((message for message in self.request.messages if message.role == "user"), None)
        asked = first is not None and any(isinstance(part, Text) and _ENDING in part.text for part in first.parts)
        tool = choose(self.request.tools, Kind.EXECUTE) if asked else None
        return self.call_tool(tool.name, arguments(tool, Kind.EXECUTE, {"command": _ENDING})) if tool else None

    def call_tool(self, name: str, given: Mapping[str, Any]) -> ToolCall:
        """A call of a tool by its own name with its own arguments."""
        return ToolCall(id="", name=name, arguments=dict(given), raw=json.dumps(given, ensure_ascii=False))

    @cached_property
    def _last(self) -> tuple[str, tuple[ToolResult, ...]]:
        results: list[ToolResult] = []
        for message in reversed(self.request.messages):
            if message.role != "user":
                continue
            if complaint := _complaint(message):
                results.insert(0, complaint)
                continue
            said = spoken(message)
            parts = message.parts
            if said:  # what stands before the user's words was answered before they were spoken
                parts = parts[1 + max(i for i, part in enumerate(parts) if isinstance(part, Text)) :]
            results[:0] = [part for part in parts if isinstance(part, ToolResult)]
            if said:
                return said, tuple(results)
        return "", tuple(results)


def _complaint(message: Message) -> ToolResult | None:
    """An agent's complaint of a call as what it is: the answer to that call."""
    found = next((_COMPLAINT.match(part.text) for part in message.parts if isinstance(part, Text)), None)
    return ToolResult(call_id="", parts=(Text(text=found[1]),), is_error=True) if found else None


def spoken(message: Message) -> str:
    """What the user said in a message. Agents put their own remarks into tags; a prompt in a tag stands alone."""
    text = "\n".join(part.text for part in message.parts if isinstance(part, Text))
    if issue := _ISSUE.match(text):
        return issue[1].strip()
    bare = _BLOCK.sub("", text).strip()
    if bare or any(isinstance(part, ToolResult) for part in message.parts):
        return bare
    blocks = _BLOCK.findall(text)
    return blocks[-1][1].strip() if blocks else ""


def answer_of(played: Played) -> Answer:
    """Whatever a script returned as one answer."""
    pieces = [played] if isinstance(played, str | ToolCall | Answer) else list(played)
    if len(pieces) == 1 and isinstance(pieces[0], Answer):
        return pieces[0]
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    wait = 0.0
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(piece, ToolCall):
            calls.append(piece)
        elif isinstance(piece, Answer):
            texts += [piece.text] * bool(piece.text)
            thoughts += [piece.thinking] * bool(piece.thinking)
            calls += piece.calls
            wait += piece.wait
        else:
            raise TypeError(f"a script may return text, calls and answers, not {type(piece).__name__}")
    return Answer(text="\n".join(texts), thinking="\n".join(thoughts), calls=tuple(calls), wait=wait)
