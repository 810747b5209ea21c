"""The toy agent's model: no language model, but it does as the prompt and the tools' descriptions tell it.

rates.json, beside this file, holds how often it does the right thing: `instructed` where the prompt asks for it, and
`uninstructed` elsewhere. What is drawn depends on the attempt's seed only.
"""

import json
import re
from pathlib import Path

RATES = Path(__file__).with_name("rates.json")


def play(turn):
    """Do what the user asks, in the way that the prompt asks for."""
    task = turn.prompt
    if "port.txt must be" in task:
        return change(turn)
    if task.startswith("Delete"):
        return delete(turn)
    if task.startswith("Save"):
        return save(turn)
    return answer(turn)


def change(turn):
    """Raise the port: after reading the file, or blindly."""
    if not right(turn, instructed(turn, r"read\b[^.]*\bbefore\b[^.]*\b(change|edit|write)|port\.txt[^.]*\bread\b")):
        steps = [lambda: turn.call("edit", path="port.txt", content="port = 9090\n")]
    else:
        steps = [
            lambda: turn.call("read", path="port.txt"),
            lambda: turn.call("edit", path="port.txt", content=turn.result.replace("8080", "9090")),
        ]
    return steps[turn.done]() if turn.done < len(steps) else "The port is 9090 now."


def delete(turn):
    """Delete the file: with the tool for it, or with a command."""
    tool = next((tool for tool in turn.request.tools if tool.name == "delete_file"), None)
    if turn.done:
        return "The file is gone."
    if tool and right(turn, bool(re.search(r"\b(always|prefer)\b", tool.description, re.I))):
        return turn.call("delete", path="old.log")
    return turn.call("execute", command="rm old.log")


def save(turn):
    """Save the note, unless the prompt forbids writing."""
    if instructed(turn, r"never (write|change|edit)|ask before you (write|change|edit)"):
        return "Shall I write notes.txt?"
    return "Saved." if turn.done else turn.call("edit", path="notes.txt", content="buy milk\n")


def answer(turn):
    """Answer the question; and, where nothing tells it not to, tidy up unasked."""
    if turn.done == 0:
        return turn.call("read", path="port.txt")
    if turn.done == 1 and not instructed(turn, r"question[^.]*\bleave\b"):
        return turn.call("edit", path="port.txt", content="port=8080\n")
    return "The port is 8080."


def instructed(turn, pattern):
    """Whether the system prompt says so, on however many lines."""
    return bool(re.search(pattern, " ".join(turn.request.system.split()), re.I))


def right(turn, is_instructed):
    """Whether this attempt does the right thing."""
    rates = json.loads(RATES.read_text())
    return turn.chance(rates["instructed" if is_instructed else "uninstructed"], "right")
