"""A scripted model's view of the conversation when it has to answer, and its answer."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from demeanor.core.values.exchange import Request, StopReason, Usage
from demeanor.core.values.messages import Message, Text, Tool, ToolCall, ToolResult
from demeanor.core.values.trajectory import Kind, deferred_call
from demeanor.gateway.script.sub_agents import delegation
from demeanor.gateway.script.tools import find_tool, shell_command, tool_arguments

_TAGGED_BLOCK = re.compile(r"<([a-z]+[-_][a-z_-]+|task|context|environment|instructions)(?:\s[^>]*)?>(.*?)</\1>", re.S)
"""Tags that agents put around a prompt or next to it: `<system-reminder>`, `<environment_context>`, `<task>` …"""

_NO_PROMPT = re.compile(r"[-_](?:reminder|notification)$")
"""Tags of remarks that may be a message of their own: `<system-reminder>`, Codex's `<subagent_notification>`."""

_MINI_SWE_TASK = re.compile(r"\s*Please solve this issue: (.*?)\n\s*You can execute bash commands and edit files", re.S)
"""How mini-swe-agent presents its task, followed by pages of advice."""

_CALL_ERROR = re.compile(r"\s*Tool call error:\s*<error>\s*(.*?)\s*</error>", re.S)
"""How mini-swe-agent reports a call that it can't parse; such a call gets no tool result."""

_SUBMIT_COMMAND = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command by which mini-swe-agent is told that the task is done."""

_COMPLETE_TOOL = "complete_task"
"""The tool by which a sub-agent of gemini-cli hands over its result; it does not accept a text instead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A scripted model's answer."""

    text: str = ""
    """The text for the user."""

    thinking: str = ""
    """The reasoning before it."""

    calls: tuple[ToolCall, ...] = ()
    """The tool calls."""

    stop: StopReason | None = None
    """The stop reason; None means the usual one."""

    usage: Usage | None = None
    """Token counts; None means an estimate."""

    wait: float = 0.0
    """Seconds to wait before answering."""


ScriptPiece: TypeAlias = str | ToolCall | Answer
ScriptOutput: TypeAlias = ScriptPiece | Iterable[ScriptPiece]
"""What a script may return: an answer, a text, a call, or several of them, also from a generator."""


class Unable(Exception):
    """The script can't do what it wants to do, for example because no offered tool can do it."""


class Turn:
    """The conversation at the moment when the model has to answer."""

    def __init__(self, request: Request, *, seed: int, workspace: str = "") -> None:
        self.request = request
        """The agent's request."""

        self.seed = seed
        """The attempt's seed."""

        self.workspace = workspace
        """The agent's working directory; empty if unknown."""

    @cached_property
    def prompt(self) -> str:
        """The last user message, without what agents wrap around it."""
        return self._last_prompt_and_results[0]

    @cached_property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results since the last user message."""
        return self._last_prompt_and_results[1]

    @property
    def done(self) -> int:
        """The number of tool results since the last user message: the script's position."""
        return len(self.results)

    @property
    def result(self) -> str:
        """The text of the last tool result; empty if there is none."""
        return self.results[-1].text if self.results else ""

    @cached_property
    def calls_before(self) -> int:
        """The number of calls that the model has made, including those that an agent removed because of an error."""
        messages = self.request.messages
        made = sum([part.__class__ is ToolCall for message in messages for part in message.parts])
        return made + sum([_call_error(message) is not None for message in messages if message.role == "user"])

    @cached_property
    def random(self) -> random.Random:
        """Random numbers that differ from step to step, and are the same if the same step is requested again."""
        return random.Random(f"{self.seed}/{self.prompt}/{self.done}")  # noqa: S311 - repeatable on purpose

    def chance(self, probability: float, name: str = "") -> bool:
        """Whether an event with this probability happens in this attempt; the same at every step."""
        return random.Random(f"{self.seed}/{self.prompt}/{name}").random() < probability  # noqa: S311

    def tool(self, kind: str, *names: str) -> str | None:
        """The name of the offered tool of a kind that takes these arguments; None if there is none."""
        tool = find_tool(self.request.tools, Kind(kind), names or None)
        return tool.name if tool else None

    def call(self, kind: str, **arguments: str) -> ToolCall:
        """A call of the offered tool that does this; raises Unable if there is none."""
        tool_kind = Kind(kind)
        tool = find_tool(self.request.tools, tool_kind, tuple(arguments))
        if tool is None:
            tool = find_tool(self.request.tools, Kind.EXECUTE)
            command = shell_command(tool_kind, arguments)
            if tool is None or command is None:
                raise Unable(f"no tool on offer can {kind} with {', '.join(arguments) or 'nothing'}")
            tool_kind, arguments = Kind.EXECUTE, {"command": command}
        return self.call_tool(tool.name, tool_arguments(tool, tool_kind, arguments, self.workspace))

    def delegate(self, task: str) -> ToolCall | None:
        """The next call to have a sub-agent do a task; None if its result has arrived, Unable if no tool can do it."""
        try:
            started = delegation(self.request, self.results, task)
        except LookupError as error:
            raise Unable(str(error)) from None
        return self.call_tool(*started) if started else None

    def submit_call(self, text: str = "") -> ToolCall | None:
        """The call that ends the conversation, for an agent that does not accept a text as the end."""
        if complete := next((tool for tool in self.request.tools if tool.name == _COMPLETE_TOOL), None):
            return self.call_tool(_COMPLETE_TOOL, {"result": _complete_result(complete, text)})
        first = next((message for message in self.request.messages if message.role == "user"), None)
        texts = [part.text for part in first.parts if isinstance(part, Text)] if first else []
        by_command = any(_SUBMIT_COMMAND in text for text in texts)
        tool = find_tool(self.request.tools, Kind.EXECUTE) if by_command else None
        if tool is None:
            return None
        return self.call_tool(tool.name, tool_arguments(tool, Kind.EXECUTE, {"command": _SUBMIT_COMMAND}))

    def call_named(self, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        """The next call to use the tool whose name ends with `name`, such as one of an MCP server: the tool itself,
        or a search for it, if the agent offers it only after one. Raises Unable if there is no such tool.
        """
        try:
            return self.call_tool(*named_call(self.request, self.results, name, arguments))
        except LookupError as error:
            raise Unable(str(error)) from None

    def results_of(self, name: str) -> tuple[ToolResult, ...]:
        """The results, since the last user message, of the tool whose name ends with `name`."""
        calls = calls_named(self.request, name)
        return tuple(result for result in self.results if result.call_id in calls)

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        """A call of a tool by its name with its own arguments."""
        return ToolCall(id="", name=name, arguments=dict(arguments), raw=json.dumps(arguments, ensure_ascii=False))

    @cached_property
    def _last_prompt_and_results(self) -> tuple[str, tuple[ToolResult, ...]]:
        results: list[ToolResult] = []
        for message in reversed(self.request.messages):
            if message.role != "user":
                continue
            if error := _call_error(message):
                results.insert(0, error)
                continue
            text = user_text(message)
            parts = message.parts
            if text:  # tool results before the user's text belong to an earlier prompt
                parts = parts[1 + max(i for i, part in enumerate(parts) if isinstance(part, Text)) :]
            results[:0] = [part for part in parts if isinstance(part, ToolResult)]
            if text:
                return text, tuple(results)
        return "", tuple(results)


def _complete_result(tool: Tool, text: str) -> Any:
    """The result of a sub-agent in the form that the schema asks for: a text, or an object with texts."""
    properties = tool.schema.get("properties")
    schema = properties.get("result") if isinstance(properties, Mapping) else None
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return text
    return dict.fromkeys(schema.get("required") or ("response",), text)


def _call_error(message: Message) -> ToolResult | None:
    """An agent's error message about a call, as the result of that call."""
    match = next((_CALL_ERROR.match(part.text) for part in message.parts if isinstance(part, Text)), None)
    return ToolResult(call_id="", parts=(Text(text=match[1]),), is_error=True) if match else None


def user_text(message: Message) -> str:
    """The user's text in a message. Agents put their own remarks into tags; a prompt in a tag stands alone.

    Reminders and notifications are never prompts, although Kimi Code and Codex send some as messages of their own.
    """
    text = "\n".join(part.text for part in message.parts if isinstance(part, Text))
    if issue := _MINI_SWE_TASK.match(text):
        return issue[1].strip()
    outside = _TAGGED_BLOCK.sub("", text).strip()
    if outside or any(isinstance(part, ToolResult) for part in message.parts):
        return outside
    blocks = [content for tag, content in _TAGGED_BLOCK.findall(text) if not _NO_PROMPT.search(tag)]
    return blocks[-1].strip() if blocks else ""


def to_answer(output: ScriptOutput) -> Answer:
    """A script's return value as one answer."""
    pieces = [output] if isinstance(output, str | ToolCall | Answer) else list(output)
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


# Tools that an agent offers only after a search for them. Claude Code and Qwen Code do so with MCP tools.
#
# Claude Code offers a tool from the next request on. Qwen Code has another tool, `tool_call`, that calls what was
# found.

_SEARCHES = ("toolsearch", "tool_search")
_BRIDGE = "tool_call"


def named_call(
    request: Request, results: Sequence[ToolResult], name: str, arguments: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    """The next call, as its tool and arguments, to use the tool whose name ends with `name`; raises LookupError.

    The tool of an MCP server may be named `SERVER.TOOL`, whatever the agent puts between the two, and also if the agent
    offers it by its bare name.
    """
    offered = [tool.name for tool in request.tools]
    if tool_name := next((tool for tool in offered if _is_named(tool, name)), None):
        return tool_name, arguments
    listed = [match for result in results for match in re.findall(r'"name":\s*"([^"]+)"', result.text)]
    tool_name = next((tool for tool in listed if _is_named(tool, name)), None)
    if tool_name and _BRIDGE in offered:
        return _BRIDGE, {"name": tool_name, "arguments": dict(arguments)}
    search = next((tool for tool in offered if tool.lower() in _SEARCHES), None)
    if search is None or any(call.name == search for call in _calls(request)):
        if _bare(name) in offered:
            return _bare(name), arguments
        raise LookupError(f"no tool on offer is named {name!r}; on offer: {', '.join(offered) or 'none'}")
    return search, {"query": name.replace(".", " ")}


def calls_named(request: Request, name: str) -> set[str]:
    """The ids of the calls of the tool whose name ends with `name`."""
    called = {call.id: deferred_call(call.name, call.arguments or {})[0] for call in _calls(request)}
    named = {call for call, tool in called.items() if _is_named(tool, name)}
    return named or {call for call, tool in called.items() if tool == _bare(name)}


def _bare(name: str) -> str:
    """The name of a tool without its server's."""
    return name.rpartition(".")[2]


def _is_named(tool: str, name: str) -> bool:
    parts = map(re.escape, name.split("."))
    return re.search(r"[^A-Za-z0-9]+".join(parts) + "$", tool) is not None


def _calls(request: Request) -> list[ToolCall]:
    return [part for message in request.messages for part in message.parts if isinstance(part, ToolCall)]
