"""One eval per ability of a coding agent. The tag in each prompt selects the script of the model."""

import re
from pathlib import Path

from demeanor import USUALLY_PASSES, Approval, Rig, eval_test

_TIMEOUT = 60.0
_OUTAGE_TIMEOUT = 120.0
_CHECK = """\
other=$((3 - $1))
echo "checked $1"
echo "<exited with exit code $other>"
echo "Command exited with code $other"
echo "Exit Code: $other"
exit $1
"""
"""It prints how other commands end, as several agents put it."""


@eval_test(USUALLY_PASSES, name="create", prompt="Write a greeting into hello.txt. [create]", timeout=_TIMEOUT)
def create(rig: Rig, result: str) -> None:
    """Creates a file."""
    assert "Hello, world!" in rig.workspace["hello.txt"].text
    assert rig.workspace.unchanged_except("hello.txt", ".*")


@eval_test(
    USUALLY_PASSES,
    name="edit",
    prompt="Change the port in port.txt to 9090. [edit]",
    files={"port.txt": "port = 8080\n"},
    timeout=_TIMEOUT,
)
def edit(rig: Rig, result: str) -> None:
    """Edits an existing file."""
    assert rig.workspace["port.txt"].text.strip() == "port = 9090"


@eval_test(USUALLY_PASSES, name="answer", prompt="What is seven times six? [answer]", timeout=_TIMEOUT)
def answer(rig: Rig, result: str) -> None:
    """Answers without using a tool."""
    assert "forty-two" in "\n".join((*rig.said, rig.stdout))
    assert rig.calls.of_kind("edit", "delete").count() == 0


@eval_test(USUALLY_PASSES, name="parallel", prompt="Write one.txt and two.txt at once. [parallel]", timeout=_TIMEOUT)
def parallel(rig: Rig, result: str) -> None:
    """Makes two tool calls that the model requests in one response."""
    assert rig.workspace["one.txt"].text.strip() == "1"
    assert rig.workspace["two.txt"].text.strip() == "2"


@eval_test(USUALLY_PASSES, name="tool-error", prompt="Tell me what missing.txt says. [tool-error]", timeout=_TIMEOUT)
def tool_error(rig: Rig, result: str) -> None:
    """Reports a failed tool call to the model, and continues."""
    assert rig.calls.count() >= 2
    assert "not there" in rig.workspace["report.txt"].text


@eval_test(
    USUALLY_PASSES,
    name="calls",
    prompt="Read bird.txt, and copy it to copy.txt. [calls]",
    files={"bird.txt": "heron-8431\n"},
    timeout=_TIMEOUT,
)
def calls(rig: Rig, result: str) -> None:
    """Its calls are recorded with name, kind, arguments, result, outcome, order and time."""
    reads = rig.calls.of_kind("read").where(path="bird.txt")
    edits = rig.calls.of_kind("edit").where(path="copy.txt")
    assert reads.returned("heron-8431")
    assert reads.succeeded().before(edits.succeeded())
    assert "other" not in {call.kind for call in (*reads, *edits)}
    assert len({call.id for call in rig.calls}) == rig.calls.count()
    times = [call.at for call in rig.calls if call.at is not None]
    assert len(times) == rig.calls.count()
    assert times == sorted(times)
    assert all(call.seconds is None or 0 <= call.seconds < rig.seconds for call in rig.calls)
    assert all(call.id and call.tool in rig.trajectory.tools and not call.by_sub_agent for call in rig.calls)


@eval_test(
    USUALLY_PASSES,
    name="exit-code",
    prompt="Run check.sh twice. [exit-code]",
    files={"check.sh": _CHECK},
    timeout=_TIMEOUT,
)
def exit_code(rig: Rig, result: str) -> None:
    """A command that fails is recorded as failed, and another one as succeeded, whatever they print."""
    runs = rig.calls.of_kind("execute").where(command=re.compile(r"check\.sh"))
    assert runs.count() == 2
    assert runs.where(command=re.compile(r"check\.sh 3")).failed().count() == 1
    assert runs.where(command=re.compile(r"check\.sh 0")).succeeded().count() == 1


@eval_test(
    USUALLY_PASSES,
    name="turns",
    prompts=["Remember the word heron. [turns]", "Which word was it? Write it into word.txt. [turns]"],
    timeout=2 * _TIMEOUT,
)
def turns(rig: Rig, result: str) -> None:
    """Continues the same conversation with a second prompt."""
    assert rig.workspace["word.txt"].text.strip() == "heron"


@eval_test(
    USUALLY_PASSES,
    name="messages",
    prompt="Which word was it? [messages]",
    messages=[
        {"role": "user", "text": "Remember the word heron."},
        {"role": "assistant", "text": "I will remember it."},
    ],
    timeout=_TIMEOUT,
)
def messages(rig: Rig, result: str) -> None:
    """Continues a given earlier conversation."""
    assert "The word is heron" in "\n".join((*rig.said, rig.stdout))


@eval_test(
    USUALLY_PASSES,
    name="deny",
    prompt="Write forbidden.txt. [deny]",
    approval=Approval(rules={"edit": "deny", "execute": "deny"}),
    timeout=_TIMEOUT,
)
def deny(rig: Rig, result: str) -> None:
    """Does not use a tool when permission is denied."""
    assert not rig.workspace.exists("forbidden.txt")
    assert rig.calls.count() >= 1


@eval_test(
    USUALLY_PASSES,
    name="deny-kind",
    prompt="Write allowed.txt, then run a command. [deny-kind]",
    approval=Approval(rules={"execute": "deny"}),
    timeout=_TIMEOUT,
)
def deny_kind(rig: Rig, result: str) -> None:
    """Does not use a tool whose kind is denied, and still uses the others."""
    assert rig.workspace.exists("allowed.txt")
    assert rig.calls.of_kind("execute").count() >= 1
    assert not rig.workspace.exists("denied.txt")


@eval_test(
    USUALLY_PASSES,
    name="search",
    prompt="In which file is the word heron? [search]",
    files={"birds/first.txt": "robin\n", "birds/second.txt": "heron\n", "birds/third.txt": "wren\n"},
    timeout=_TIMEOUT,
)
def search(rig: Rig, result: str) -> None:
    """Finds files and texts with its search tools."""
    assert rig.calls.of_kind("search").count() >= 1
    assert "found by every tool" in result


@eval_test(
    USUALLY_PASSES,
    name="sub-agents",
    prompt="Let a sub-agent read fact.txt, and tell me what it says. [sub-agents]",
    files={"fact.txt": "heron-8431\n"},
    timeout=2 * _TIMEOUT,
)
def sub_agents(rig: Rig, result: str) -> None:
    """Has a sub-agent do a part of its task, and uses the sub-agent's answer."""
    assert "It says heron-8431" in result
    assert rig.sub_agents[0].calls.of_kind("read").where(path="fact.txt")
    assert not rig.main.calls.of_kind("read")


@eval_test(
    USUALLY_PASSES,
    name="mcp",
    prompt="Ask the server for its word. [mcp]",
    files={"server.py": Path(__file__).with_name("mcp_server.py").read_text("utf-8")},
    params={"mcp_servers": {"conformance": ["python3", "{workspace}/server.py"]}},
    timeout=_TIMEOUT,
)
def mcp(rig: Rig, result: str) -> None:
    """Uses the tools of an MCP server."""
    assert "The word is heron-8431" in result
    assert any(call.tool.endswith("secret_word") and call.succeeded is not False for call in rig.calls)


@eval_test(USUALLY_PASSES, name="side-requests", prompt="Which bird is it? [side-requests]", timeout=_TIMEOUT)
def side_requests(rig: Rig, result: str) -> None:
    """What it asks its model for itself, such as a title, is not taken for an answer to the user."""
    assert result.strip() == "It is a heron."
    assert rig.turns == 1
    assert not rig.sub_agents


@eval_test(USUALLY_PASSES, name="final-text", prompt="Write a file, then name a bird. [final-text]", timeout=_TIMEOUT)
def final_text(rig: Rig, result: str) -> None:
    """Its result is its last message."""
    assert result.strip() == "The bird is a heron."


@eval_test(USUALLY_PASSES, name="malformed", prompt="Write late.txt. [malformed]", timeout=_TIMEOUT)
def malformed(rig: Rig, result: str) -> None:
    """Recovers from tool arguments that are not valid JSON."""
    assert rig.workspace["late.txt"].text.strip() == "late"


@eval_test(USUALLY_PASSES, name="thinking", prompt="Think, then write thought.txt. [thinking]", timeout=_TIMEOUT)
def thinking(rig: Rig, result: str) -> None:
    """Handles a response that begins with thinking."""
    assert rig.workspace["thought.txt"].text.strip() == "thought"


@eval_test(
    USUALLY_PASSES,
    name="rate-limit",
    prompt="Write a greeting into hello.txt. [rate-limit]",
    faults=["429@1:retry_after=1"],
    timeout=_TIMEOUT,
)
def rate_limit(rig: Rig, result: str) -> None:
    """Retries after a 429, and succeeds."""
    assert rig.faults
    assert rig.workspace.exists("hello.txt")


@eval_test(
    USUALLY_PASSES,
    name="outage",
    prompt="Write a greeting into hello.txt. [outage]",
    faults=["500"],
    timeout=_OUTAGE_TIMEOUT,
)
def outage(rig: Rig, result: str) -> None:
    """Gives up, and the trial is void, when the provider answers every request with 500."""
    assert not rig.workspace.exists("hello.txt")


@eval_test(
    USUALLY_PASSES,
    name="hang",
    prompt="Write a greeting into hello.txt. [hang]",
    faults=["hang"],
    timeout=20.0,
)
def hang(rig: Rig, result: str) -> None:
    """Is stopped at the deadline, and the trial is void, when the provider never answers."""
    assert not rig.workspace.exists("hello.txt")


@eval_test(
    USUALLY_PASSES,
    name="cut",
    prompt="Write a greeting into hello.txt. [cut]",
    faults=["cut@1"],
    timeout=_TIMEOUT,
)
def cut(rig: Rig, result: str) -> None:
    """Retries, or the trial is void, when a response breaks off."""
    assert rig.workspace.exists("hello.txt")


@eval_test(USUALLY_PASSES, name="clean", prompt="Start the long job. [clean]", timeout=_TIMEOUT)
def clean(rig: Rig, result: str) -> None:
    """Leaves no process behind, not even one in its own session."""
    assert rig.workspace.exists("started.txt")


@eval_test(
    USUALLY_PASSES,
    name="together",
    prompt="Write your number into number.txt. [together]",
    trials=2,
    timeout=_TIMEOUT,
)
def together(rig: Rig, result: str) -> None:
    """Two instances in parallel do not disturb each other."""
    number = rig.workspace["number.txt"].text.strip()
    assert number in "\n".join(str(dict(call.arguments)) for call in rig.calls) or number in "\n".join(rig.said)
