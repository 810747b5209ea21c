"""Ask a model to answer by calling one tool, about texts that are data: a judge and a simulated user do so. Pure.

Each text stands between two lines with an id that is derived from the content of all texts: a text can't contain its
own hash, so no text can end its own section early. Providers and local models enforce the call of the tool.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from demeanor.core.text.wording import one_line
from demeanor.core.values.exchange import Request, Response, StopReason
from demeanor.core.values.messages import Message, Text, Tool

QUOTE = "> "
"""What each line of a text begins with that an agent, a tool or a user wrote, beside words of ours."""

MOST_SHOWN = 20_000
"""Characters of one text; the middle of a longer one is left out."""


class UnusableAnswer(ValueError):
    """The model gave no answer that can be used; the message says why."""


def answer_tool(name: str, description: str, properties: Mapping[str, Any]) -> Tool:
    """A tool all of whose parameters are required."""
    schema = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return Tool(name=name, description=description, schema={**schema, "additionalProperties": False})


def tool_request(model: str, instructions: str, text: str, tool: Tool) -> Request:
    """The request to the model."""
    system, user = Text(text=instructions), Text(text=text)
    messages = (Message(role="system", parts=(system,)), Message(role="user", parts=(user,)))
    return Request(model=model, messages=messages, tools=(tool,), tool_choice=tool.name)


def marked_texts(texts: Iterable[tuple[str, str]], mark: str) -> list[str]:
    """The texts, given with their titles, each between two lines with the id `mark`."""
    return [f"--- begin {title} {mark} ---\n{text}\n--- end {title} {mark} ---" for title, text in texts]


def quoted(text: str) -> str:
    """The text with a mark before each line, whatever separates them: no line of it looks like one of ours."""
    return "\n".join(QUOTE + line for line in text.splitlines())


def unquoted(text: str) -> str:
    """The same text on one line, without those marks."""
    return " ".join(" ".join(line.removeprefix(QUOTE) for line in text.splitlines()).split())


def without_middle(text: str) -> str:
    """The text without its middle if it is too long. What follows counts as quoted, even if a line is cut in two."""
    if len(text) <= MOST_SHOWN:
        return text
    half = MOST_SHOWN // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{QUOTE}{text[-half:]}"


def mark_of(content: Any) -> str:
    """An id that occurs nowhere in what is sent: a value of JSON."""
    everything = json.dumps(content)
    mark = hashlib.sha256(everything.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    while mark in everything:  # takes 2**64 tries to bring about
        mark = hashlib.sha256(mark.encode()).hexdigest()[:16]
    return mark


def tool_arguments(response: Response, tool: Tool) -> Mapping[str, Any]:
    """The arguments of the call; raises UnusableAnswer if the model refused, or called something else."""
    shown = repr(one_line(response.text, width=200)) if response.text.strip() else "it answered nothing"
    if response.stop is StopReason.REFUSAL:
        raise UnusableAnswer(f"the model refused to answer: {shown}")
    names = [call.name for call in response.calls]
    if names not in ([], [tool.name]):
        raise UnusableAnswer(f"the model called {', '.join(names)}, not `{tool.name}` once")
    arguments: Any = response.calls[0].arguments if response.calls else _json(response.text)
    if not isinstance(arguments, dict):
        raise UnusableAnswer(f"the model did not call the tool `{tool.name}`: {shown}")
    return arguments


def unreadable(what: str, arguments: Mapping[str, Any]) -> UnusableAnswer:
    """The error for arguments that do not fit the tool."""
    return UnusableAnswer(f"the model's {what} can't be read: {one_line(json.dumps(arguments), width=200)}")


def _json(text: str) -> Any:
    """The text as JSON, for servers that ignore the choice of a tool; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
