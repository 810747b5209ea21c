"""The model of the conformance suite: a script that knows the prompts of the suite and works with any agent.

It has no state: each response follows from the conversation in the request, so an agent that loses its conversation
fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from demeanor.core.values.messages import Text, Tool, ToolCall
from demeanor.core.values.trajectory import Kind
from demeanor.gateway.script import Answer, ScriptOutput, Turn, Unable, tool_arguments

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


def calls(turn: Turn) -> ScriptOutput:
    """Read a file, then write its text into another one."""
    if turn.done == 0:
        return turn.call("read", path="bird.txt")
    return finish(turn, "It is a copy.") if turn.done > 1 else write_file(turn, "copy.txt", "heron-8431\n")


def exit_code(turn: Turn) -> ScriptOutput:
    """Run a command that fails, then one that succeeds."""
    codes = (3, 0)
    if turn.done < len(codes):
        return turn.call("execute", command=f"sh check.sh {codes[turn.done]}")
    return finish(turn, "One of them failed.")


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


def deny_kind(turn: Turn) -> ScriptOutput:
    """Make a call that is allowed and one that will be denied, and do not retry."""
    made = len(_calls(turn))
    if made == 0:
        return _write_without_shell(turn, "allowed.txt", "allowed\n")
    if made == 1:
        return turn.call("execute", command="echo denied > denied.txt")
    return finish(turn, "I was not allowed to run it.")


def search(turn: Turn) -> ScriptOutput:
    """Use every search tool, for a text or for a file name, and name those that do not find the file."""
    tools = [tool for tool in turn.request.tools if _SEARCH_TOOL.fullmatch(tool.name)]
    if turn.done < len(tools):
        return _search_call(turn, tools[turn.done])
    if not turn.done:
        return turn.call("search", pattern="heron")
    names = [tool.name for tool in tools] or ["the shell"]
    failed = [name for name, result in zip(names, turn.results, strict=False) if _SEARCHED not in result.text]
    return finish(turn, f"not found by {', '.join(failed)}" if failed else f"{_SEARCHED} was found by every tool")


def sub_agents(turn: Turn) -> ScriptOutput:
    """Have a sub-agent read a file, and repeat its answer."""
    call = turn.delegate("Read fact.txt, and answer with its content. [sub-task]")
    match = re.search(r"heron-\d+", "\n".join(result.text for result in turn.results))
    return call or finish(turn, f"It says {match[0] if match else 'nothing'}.")


def sub_task(turn: Turn) -> ScriptOutput:
    """The sub-agent: read the file, and answer with what it says."""
    if turn.done == 0:
        return turn.call("read", path="fact.txt")
    match = re.search(r"heron-\d+", turn.result)
    return match[0] if match else "I could not read it."


def mcp(turn: Turn) -> ScriptOutput:
    """Call the tool of the MCP server, and repeat its answer."""
    match = re.search(r"heron-\d+", turn.result)
    if match:
        return finish(turn, f"The word is {match[0]}")
    offered = {tool.name: tool for tool in turn.request.tools}
    own = next((name for name in offered if name.endswith("secret_word")), None)
    if own is None:
        return _deferred_call(turn, offered) or finish(turn, "The word is unknown.")
    arguments = tool_arguments(offered[own], Kind.OTHER, {"bird": "heron"})  # OpenHands adds an argument of its own
    asked = any(call.name == own for call in _calls(turn))
    return finish(turn, "The word is unknown.") if asked else turn.call_tool(own, arguments)


def side_requests(turn: Turn) -> ScriptOutput:
    """Answer the user, and everything else that mentions the prompt with something else."""
    own = turn.prompt.lstrip().startswith("Which bird is it? [side-requests]")
    return finish(turn, "It is a heron.") if own else "Something about a bird"


def final_text(turn: Turn) -> ScriptOutput:
    """Say something before a call, and something else after it."""
    if turn.done or not turn.request.tools:
        return finish(turn, "The bird is a heron.")
    return Answer(text="I begin with the file.", calls=(turn.call("edit", path="hello.txt", content="Hello!\n"),))


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

_SEARCHED = "second.txt"
_SEARCH_TOOL = re.compile(r"(?i)(?:(?:rip)?grep(?:_search)?|search(?:_file_content|_files)?|file_?search|glob|find)")
"""Tools that search the workspace; there are others, for the web or for tools."""


SCRIPTS: dict[str, Callable[[Turn], ScriptOutput]] = {
    "create": create,
    "edit": edit,
    "answer": answer,
    "parallel": parallel,
    "tool-error": tool_error,
    "calls": calls,
    "exit-code": exit_code,
    "turns": turns,
    "messages": messages,
    "deny": deny,
    "deny-kind": deny_kind,
    "search": search,
    "sub-agents": sub_agents,
    "sub-task": sub_task,
    "mcp": mcp,
    "side-requests": side_requests,
    "final-text": final_text,
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


def _search_call(turn: Turn, tool: Tool) -> ToolCall:
    """Search for the text, or for the file if the tool finds files by name."""
    by_name = re.search(r"(?i)glob|find|files?_?search", tool.name) and tool.name != "search_files"
    pattern = "**/second*" if by_name else "heron"
    return turn.call_tool(tool.name, tool_arguments(tool, Kind.SEARCH, {"pattern": pattern}, turn.workspace))


def _deferred_call(turn: Turn, offered: Mapping[str, Tool]) -> ToolCall | None:
    """Load the MCP tool with the tool that finds tools, then call it: some agents do not offer all tools at once."""
    text = "\n".join(message.text for message in turn.request.messages)
    named = re.search(r"\bmcp__\w+__secret_word\b", text)
    finder = next((name for name in offered if name in ("ToolSearch", "tool_search")), None)
    if named is None or finder is None:
        raise Unable("no tool on offer is that of the MCP server")
    if turn.done == 0:
        return turn.call_tool(finder, {"query": f"select:{named[0]}"})
    if turn.done == 1 and "tool_call" in offered:
        return turn.call_tool("tool_call", {"name": named[0], "arguments": {"bird": "heron"}})
    return None


def _write_without_shell(turn: Turn, path: str, content: str) -> ScriptOutput:
    """Write a file with a tool that is not a shell, which may be one for patches."""
    if turn.tool("edit", "path", "content") is None and turn.tool("edit") is None:
        patch = f"*** Begin Patch\n*** Add File: {path}\n+{content}*** End Patch\n"
        if any(tool.name == "apply_patch" for tool in turn.request.tools):
            return turn.call_tool("apply_patch", {"input": patch})
    return turn.call("edit", path=path, content=content)


def _remembered(turn: Turn) -> str:
    """Return the word to remember from the conversation, or `nothing`."""
    text = "\n".join(part.text for message in turn.request.messages for part in message.parts if isinstance(part, Text))
    match = re.search(r"Remember the word (\w+)", text)
    return match[1] if match else "nothing"


def _calls(turn: Turn) -> list[ToolCall]:
    return [part for message in turn.request.messages for part in message.parts if isinstance(part, ToolCall)]


def _called_before(turn: Turn) -> bool:
    return bool(_calls(turn))


def _raw(call: ToolCall) -> str:
    return call.raw or str(call.arguments)
