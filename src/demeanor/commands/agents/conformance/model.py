"""The model of the conformance suite: a script that knows each of its prompts, and drives any agent.

It keeps nothing in mind: what it says follows from the conversation that it is shown, so an agent that loses its own
conversation is found out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from demeanor.core.messages import Text, ToolCall
from demeanor.gateway.script.turn import Answer, ScriptOutput, Turn

_FINISH = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def play(turn: Turn) -> ScriptOutput:
    """What the model says next."""
    for name, part in PARTS.items():
        if re.search(rf"\[{name}\]", turn.prompt):
            return part(turn)
    return "I know no such task."


def ended(turn: Turn, words: str) -> ScriptOutput:
    """The last words; some agents end only when a command says so."""
    if any(_FINISH in message.text for message in turn.request.messages):
        return turn.call("execute", command=f"echo {_FINISH}; echo {words!r}")
    return words


def written(turn: Turn, path: str, content: str, old: str = "") -> ScriptOutput:
    """Write a file: by a tool, or in words, for an agent that reads its edits from the answer."""
    if turn.request.tools:
        return turn.call("edit", path=path, content=content)
    return f"{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{content}>>>>>>> REPLACE\n```\n"


def create(turn: Turn) -> ScriptOutput:
    """One file."""
    return ended(turn, "I wrote hello.txt.") if turn.done else written(turn, "hello.txt", "Hello, world!\n")


def edit(turn: Turn) -> ScriptOutput:
    """Read, then change."""
    if turn.done == 0 and turn.request.tools:
        return turn.call("read", path="port.txt")
    if turn.done <= 1:
        if turn.tool("edit", "path", "old", "new"):
            return turn.call("edit", path="port.txt", old="8080", new="9090")
        return written(turn, "port.txt", "port = 9090\n", old="port = 8080\n")
    return ended(turn, "The port is 9090 now.")


def answer(turn: Turn) -> ScriptOutput:
    """Words only."""
    return ended(turn, "Seven times six is forty-two.") if not turn.done else "Seven times six is forty-two."


def parallel(turn: Turn) -> ScriptOutput:
    """Two calls in one answer."""
    if turn.done < 2:
        first, second = written(turn, "one.txt", "1\n"), written(turn, "two.txt", "2\n")
        return (first, second) if isinstance(first, ToolCall) and isinstance(second, ToolCall) else f"{first}{second}"
    return ended(turn, "Both files are there.")


def tool_error(turn: Turn) -> ScriptOutput:
    """A file that is not there."""
    if turn.done == 0:
        return turn.call("read", path="missing.txt")
    if turn.done == 1:
        return written(turn, "report.txt", "missing.txt is not there\n")
    return ended(turn, "missing.txt is not there; I noted it in report.txt.")


def malformed(turn: Turn) -> ScriptOutput:
    """Arguments that break off, once; then sound ones."""
    if turn.done == 0 and not _called_before(turn):
        call = turn.call("edit", path="late.txt", content="late\n")
        return Answer(calls=(ToolCall(id="", name=call.name, arguments=None, raw=call.raw[: len(call.raw) // 2]),))
    wrote = any("late.txt" in _raw(call) and call.arguments for call in _calls(turn)[1:])
    return ended(turn, "Now it is there.") if wrote else written(turn, "late.txt", "late\n")


def thinking(turn: Turn) -> ScriptOutput:
    """Thoughts come before the call."""
    if turn.done:
        return Answer(thinking="It is written.", text="I thought, and wrote thought.txt.")
    call = written(turn, "thought.txt", "thought\n")
    words = call if isinstance(call, str) else ""
    return Answer(thinking="A file is wanted.", text=words, calls=(call,) if isinstance(call, ToolCall) else ())


def turns(turn: Turn) -> ScriptOutput:
    """The second prompt asks for what the first one said."""
    if "Remember" in turn.prompt:
        return ended(turn, "I will remember it.")
    return ended(turn, "It is in word.txt.") if turn.done else written(turn, "word.txt", f"{_remembered(turn)}\n")


def messages(turn: Turn) -> ScriptOutput:
    """The word was told in a conversation that the agent never had."""
    return ended(turn, f"The word is {_remembered(turn)}.")


def deny(turn: Turn) -> ScriptOutput:
    """A call that will be refused, and no second try."""
    if turn.done or _called_before(turn):
        return ended(turn, "I was not allowed to write it.")
    return turn.call("edit", path="forbidden.txt", content="forbidden\n")


def clean(turn: Turn) -> ScriptOutput:
    """A process that is left behind, in a session of its own."""
    if turn.done:
        return ended(turn, "It is running.")
    command = f"(setsid sleep {SLEEP}.{turn.seed} >/dev/null 2>&1 &) ; echo started > started.txt"
    return turn.call("execute", command=command)


def together(turn: Turn) -> ScriptOutput:
    """Each trial writes its own number."""
    return ended(turn, "I wrote my number.") if turn.done else written(turn, "number.txt", f"{turn.seed}\n")


SLEEP = 31557
"""Seconds; no other process on a machine sleeps for just as long."""

PARTS: dict[str, Callable[[Turn], ScriptOutput]] = {
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
"""What is played for each prompt."""


def _remembered(turn: Turn) -> str:
    """The word that the conversation tells to remember; `nothing` where it does not."""
    said = "\n".join(part.text for message in turn.request.messages for part in message.parts if isinstance(part, Text))
    found = re.search(r"Remember the word (\w+)", said)
    return found[1] if found else "nothing"


def _calls(turn: Turn) -> list[ToolCall]:
    return [part for message in turn.request.messages for part in message.parts if isinstance(part, ToolCall)]


def _called_before(turn: Turn) -> bool:
    return bool(_calls(turn))


def _raw(call: ToolCall) -> str:
    return call.raw or str(call.arguments)
