"""Finding tools by what they do, and giving them arguments in their own format."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from demeanor.core.values.messages import Tool
from demeanor.core.values.trajectory import Kind
from demeanor.gateway.script import Unable
from demeanor.gateway.script.tools import find_tool, shell_command
from demeanor.gateway.script.turn import Turn
from tests.gateway.helpers import a_tool, a_turn

EDITOR = a_tool(
    "editor",
    "command",
    "path",
    command={"enum": ["view", "create", "str_replace"]},
    file_text={},
    old_str={},
    new_str={},
)
AGENTS: dict[str, tuple[Tool, ...]] = {
    "claude": (a_tool("Bash", "command"), a_tool("Edit", "file_path", "old_string", "new_string"),
               a_tool("Read", "file_path"), a_tool("Write", "file_path", "content")),
    "gemini": (a_tool("read_file", "file_path"), a_tool("replace", "file_path", "old_string", "new_string"),
               a_tool("write_file", "file_path", "content"), a_tool("run_shell_command", "command")),
    "opencode": (a_tool("bash", "command", "description"), a_tool("edit", "filePath", "oldString", "newString"),
                 a_tool("read", "filePath"), a_tool("write", "filePath", "content")),
    "pi": (a_tool("read", "path"), a_tool("bash", "command"), a_tool("edit", "path", "oldText", "newText"),
           a_tool("write", "path", "content")),
    "cline": (a_tool("read_files", files={"type": "array", "items": {"type": "object", "properties": {"path": {}}}}),
              a_tool("run_commands", commands={"type": "array", "items": {"type": "string"}}),
              a_tool("editor", "path", "new_text", path={"type": "string"}, old_text={"type": "string"})),
    "codex": (a_tool("exec_command", "cmd"), a_tool("view_image", "path")),
    "mini": (a_tool("bash", "command"),),
    "goose": (
        a_tool("shell", "command"),
        a_tool("edit", "path", "before", "after"),
        a_tool("write", "path", "content"),
    ),
    "anthropic": (EDITOR,),
}  # fmt: skip

WRITES = {
    "claude": ("Write", {"file_path": "a.txt", "content": "hi"}),
    "gemini": ("write_file", {"file_path": "a.txt", "content": "hi"}),
    "opencode": ("write", {"filePath": "a.txt", "content": "hi"}),
    "pi": ("write", {"path": "a.txt", "content": "hi"}),
    "cline": ("editor", {"path": "a.txt", "new_text": "hi"}),
    "codex": ("exec_command", {"cmd": "printf %s hi > a.txt"}),
    "mini": ("bash", {"command": "printf %s hi > a.txt"}),
    "anthropic": ("editor", {"path": "a.txt", "file_text": "hi", "command": "create"}),
}
READS = {
    "claude": ("Read", {"file_path": "a.txt"}),
    "gemini": ("read_file", {"file_path": "a.txt"}),
    "opencode": ("read", {"filePath": "a.txt"}),
    "cline": ("read_files", {"files": [{"path": "a.txt"}]}),
    "codex": ("exec_command", {"cmd": "cat a.txt"}),
    "anthropic": ("editor", {"path": "a.txt", "command": "view"}),
}
CHANGES = {
    "claude": ("Edit", {"file_path": "a.txt", "old_string": "x", "new_string": "y"}),
    "opencode": ("edit", {"filePath": "a.txt", "oldString": "x", "newString": "y"}),
    "pi": ("edit", {"path": "a.txt", "oldText": "x", "newText": "y"}),
    "goose": ("edit", {"path": "a.txt", "before": "x", "after": "y"}),
    "cline": ("editor", {"path": "a.txt", "old_text": "x", "new_text": "y"}),
    "anthropic": ("editor", {"path": "a.txt", "old_str": "x", "new_str": "y", "command": "str_replace"}),
}


@pytest.mark.parametrize("agent", WRITES)
def test_a_file_is_written_with_any_tool(agent: str) -> None:
    """One script writes a file through every agent's own tool, or through its shell."""
    call = a_turn("go", tools=AGENTS[agent]).call("edit", path="a.txt", content="hi")
    assert (call.name, call.arguments) == WRITES[agent]


@pytest.mark.parametrize("agent", READS)
def test_a_file_is_read_with_any_tool(agent: str) -> None:
    """The same for reading."""
    call = a_turn("go", tools=AGENTS[agent]).call("read", path="a.txt")
    assert (call.name, call.arguments) == READS[agent]


@pytest.mark.parametrize("agent", CHANGES)
def test_a_passage_is_replaced_with_any_tool(agent: str) -> None:
    """The arguments decide between a tool that writes and one that replaces."""
    call = a_turn("go", tools=AGENTS[agent]).call("edit", path="a.txt", old="x", new="y")
    assert (call.name, call.arguments) == CHANGES[agent]


def test_lists_and_required_arguments_are_filled() -> None:
    """Commands as lists, and required arguments."""
    run = a_turn("go", tools=AGENTS["cline"]).call("execute", command="ls -l")
    assert run.arguments == {"commands": ["ls -l"]}
    local = a_tool("local_shell", command={"type": ["array", "null"], "items": {"type": "string"}})
    assert a_turn("go", tools=(local,)).call("execute", command="ls").arguments == {"command": ["bash", "-lc", "ls"]}
    described = a_turn("go", tools=AGENTS["opencode"]).call("execute", command="ls")
    assert described.arguments
    assert described.arguments["description"].startswith("execute")


def test_a_missing_tool_is_reported() -> None:
    """Without a matching tool and without a shell, the error says what is missing."""
    with pytest.raises(Unable, match="no tool on offer can delete with path"):
        a_turn("go", tools=AGENTS["anthropic"]).call("delete", path="a.txt")


def test_a_tool_is_found_by_kind() -> None:
    """A script can check what is offered before it decides."""
    turn = a_turn("go", tools=AGENTS["claude"])
    assert turn.tool("edit") == "Write"
    assert turn.tool("edit", "path", "old", "new") == "Edit"
    assert turn.tool("fetch") is None


@settings(max_examples=30)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
def test_a_shell_writes_any_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """The command writes exactly the text into the file."""
    folder = tmp_path_factory.mktemp("shell")
    command = shell_command(Kind.EDIT, {"path": "it's a file", "content": text})
    assert command
    subprocess.run(["/bin/sh", "-c", command], cwd=folder, check=True)
    assert Path(folder, "it's a file").read_bytes() == text.encode()


@settings(max_examples=20)
@given(*[st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=10)] * 2)
def test_a_shell_replaces_any_passage(tmp_path_factory: pytest.TempPathFactory, old: str, new: str) -> None:
    """It replaces one occurrence; a missing passage is an error."""
    file = tmp_path_factory.mktemp("shell") / "a.txt"
    file.write_text(f"<{old}>", "utf-8")
    command = shell_command(Kind.EDIT, {"path": "a.txt", "old": f"{old}>", "new": new})
    assert command
    assert subprocess.run(["/bin/sh", "-c", command], cwd=file.parent, check=False).returncode == 0
    assert file.read_text("utf-8") == f"<{new}"
    missing = shell_command(Kind.EDIT, {"path": "a.txt", "old": f"{new}>", "new": ""})
    assert missing
    assert subprocess.run(["/bin/sh", "-c", missing], cwd=file.parent, capture_output=True, check=False).returncode == 1


def test_a_tool_that_wants_absolute_paths_gets_them() -> None:
    """A relative path is joined to the workspace, if that is known; an absolute path stays as it is."""
    tool = a_tool("write_file", "content", file_path={"type": "string", "description": "Must be an ABSOLUTE path."})
    turn = Turn(a_turn("go", tools=(tool,)).request, seed=1, workspace="/bench/workspace")
    for given_path, wanted in (("a/b.txt", "/bench/workspace/a/b.txt"), ("/etc/x", "/etc/x")):
        call = turn.call("edit", path=given_path, content="x")
        assert call.arguments == {"file_path": wanted, "content": "x"}
    plain = a_turn("go", tools=(tool,)).call("edit", path="a.txt", content="x")
    assert plain.arguments == {"file_path": "a.txt", "content": "x"}


@pytest.mark.parametrize(
    "schema", [{}, {"properties": None}, {"properties": {"path": None}}, {"properties": {"path": []}}]
)
def test_invalid_schemas_do_no_harm(schema: dict[str, object]) -> None:
    """A tool with an invalid schema takes no arguments."""
    assert find_tool((Tool(name="read", schema=schema),), Kind.READ) is None or "path" in str(schema)
    assert shlex.split(shell_command(Kind.READ, {"path": "a b"}) or "") == ["cat", "a b"]
