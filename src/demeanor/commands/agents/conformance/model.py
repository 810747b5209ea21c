"""The model of the conformance suite: a script that knows the prompts of the suite and works with any agent.

It has no state: each response follows from the conversation in the request, so an agent that loses its conversation
fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from demeanor.core.messages import Text, ToolCall
from demeanor.gateway.script.turn import Answer, ScriptOutput, Turn

_FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def play(turn: Turn) -> ScriptOutput:
    """Return the next response."""
    for name, script in SCRIPTS.items():
        if re.search(rf"\[{name}\]", turn.prompt):
            return script(turn)
    return "I know no such task."


def finish(turn: Turn, words: str) -> ScriptOutput:
    """Return the final message; some agents finish only when a command says so."""
    if any(_FINISH in message.text for message in turn.request.messages):
        return turn.call("execute", command=f"echo {_FINISH}; echo {words!r}")
    return words


def write_file(turn: Turn, path: str, content: str, old: str = "") -> ScriptOutput:
    """Write a file with a tool, or as text for an agent that reads its edits from the response."""
    if turn.request.tools:
        return turn.call("edit", path=path, content=content)
    return f"{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{content}>>>>>>> REPLACE\n```\n"


def create(turn: Turn) -> ScriptOutput:
    """Write one file."""
    return finish(turn, "I wrote hello.txt.") if turn.done else write_file(turn, "hello.txt", "Hello, world!\n")


def edit(turn: Turn) -> ScriptOutput:
    """Read a file, then change it."""
    if turn.done == 0 and turn.request.tools:
        return turn.call("read", path="port.txt")
    if turn.done <= 1:
        if turn.tool("edit", "path", "old", "new"):
            return turn.call("edit", path="port.txt", old="8080", new="9090")
        return write_file(turn, "port.txt", "port = 9090\n", old="port = 8080\n")
    return finish(turn, "The port is 9090 now.")


def answer(turn: Turn) -> ScriptOutput:
    """Respond with text only."""
    return finish(turn, "Seven times six is forty-two.") if not turn.done else "Seven times six is forty-two."


def parallel(turn: Turn) -> ScriptOutput:
    """Make two calls in one response."""
    if turn.done < 2:
        first, second = write_file(turn, "one.txt", "1\n"), write_file(turn, "two.txt", "2\n")
        return (first, second) if isinstance(first, ToolCall) and isinstance(second, ToolCall) else f"{first}{second}"
    return finish(turn, "Both files are there.")


def tool_error(turn: Turn) -> ScriptOutput:
    """Read a file that does not exist."""
    if turn.done == 0:
        return turn.call("read", path="missing.txt")
    if turn.done == 1:
        return write_file(turn, "report.txt", "missing.txt is not there\n")
    return finish(turn, "missing.txt is not there; I noted it in report.txt.")


def malformed(turn: Turn) -> ScriptOutput:
    """Send truncated arguments once, then valid ones."""
    if turn.done == 0 and not _called_before(turn):
        call = turn.call("edit", path="late.txt", content="late\n")
        return Answer(calls=(ToolCall(id="", name=call.name, arguments=None, raw=call.raw[: len(call.raw) // 2]),))
    wrote = any("late.txt" in _raw(call) and call.arguments for call in _calls(turn)[1:])
    return finish(turn, "Now it is there.") if wrote else write_file(turn, "late.txt", "late\n")


def thinking(turn: Turn) -> ScriptOutput:
    """Send thinking before the call."""
    if turn.done:
        return Answer(thinking="It is written.", text="I thought, and wrote thought.txt.")
    call = write_file(turn, "thought.txt", "thought\n")
    words = call if isinstance(call, str) else ""
    return Answer(thinking="A file is wanted.", text=words, calls=(call,) if isinstance(call, ToolCall) else ())


def turns(turn: Turn) -> ScriptOutput:
    """Answer the second prompt with the word from the first one."""
    if "Remember" in turn.prompt:
        return finish(turn, "I will remember it.")
    return finish(turn, "It is in word.txt.") if turn.done else write_file(turn, "word.txt", f"{_remembered(turn)}\n")


def messages(turn: Turn) -> ScriptOutput:
    """Answer with the word from the given earlier conversation."""
    return finish(turn, f"The word is {_remembered(turn)}.")


def deny(turn: Turn) -> ScriptOutput:
    """Make a call that will be denied, and do not retry."""
    if turn.done or _called_before(turn):
        return finish(turn, "I was not allowed to write it.")
    return turn.call("edit", path="forbidden.txt", content="forbidden\n")


def clean(turn: Turn) -> ScriptOutput:
    """Start a background process in its own session."""
    if turn.done:
        return finish(turn, "It is running.")
    command = f"(setsid sleep {SLEEP}.{turn.seed} >/dev/null 2>&1 &) ; echo started > started.txt"
    return turn.call("execute", command=command)


def together(turn: Turn) -> ScriptOutput:
    """Write the trial's own number."""
    return finish(turn, "I wrote my number.") if turn.done else write_file(turn, "number.txt", f"{turn.seed}\n")


SLEEP = 31557
"""Seconds; a duration that no other process is likely to use."""

SCRIPTS: dict[str, Callable[[Turn], ScriptOutput]] = {
    "create": create,
    "edit": edit,
    "answer": answer,
    "parallel": parallel,
    "tool-error": tool_error,
    "turns": turns,
    "messages": messages,
    "deny": deny,
    "malformed": malformed,
    "thinking": thinking,
    "rate-limit": create,
    "outage": create,
    "hang": create,
    "cut": create,
    "clean": clean,
    "together": together,
}
"""The script for the tag in each prompt."""


def _remembered(turn: Turn) -> str:
    """Return the word to remember from the conversation, or `nothing`."""
    text = "\n".join(part.text for message in turn.request.messages for part in message.parts if isinstance(part, Text))
    found = re.search(r"Remember the word (\w+)", text)
    return found[1] if found else "nothing"


def _calls(turn: Turn) -> list[ToolCall]:
    return [part for message in turn.request.messages for part in message.parts if isinstance(part, ToolCall)]


def _called_before(turn: Turn) -> bool:
    return bool(_calls(turn))


def _raw(call: ToolCall) -> str:
    return call.raw or str(call.arguments)
