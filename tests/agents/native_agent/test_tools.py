"""The native agent's tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.agents.native_agent.tools import TOOLS, ToolError, run_tool


def call(folder: Path, tool: str, **arguments: object) -> str:
    """Run one tool."""
    return run_tool(TOOLS[tool], folder, arguments)


def test_write_read_edit_and_list(tmp_path: Path):
    """Without errors."""
    call(tmp_path, "write_file", path="a/b.txt", content="one two\n")
    call(tmp_path, "edit_file", path="a/b.txt", old="two", new="three")
    assert call(tmp_path, "read_file", path="a/b.txt") == "one three\n"
    assert call(tmp_path, "list_files") == "a/b.txt"
    assert call(tmp_path, "search_files", pattern="thr.e") == "a/b.txt:1: one three"


def test_shell_returns_output_and_exit_code(tmp_path: Path):
    """A failing command is a tool error with its output."""
    assert call(tmp_path, "shell", command="echo hi") == "hi\n"
    with pytest.raises(ToolError, match="exit code 3\noops"):
        call(tmp_path, "shell", command="echo oops; exit 3")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x"])
def test_paths_outside_are_refused(tmp_path: Path, path: str):
    """Files outside the workspace are out of reach."""
    with pytest.raises(ToolError, match="outside the workspace"):
        call(tmp_path, "write_file", path=path, content="x")


def test_a_link_out_of_the_workspace_is_refused(tmp_path: Path):
    """Symbolic links are resolved first."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w/out").symlink_to(tmp_path)
    with pytest.raises(ToolError, match="outside the workspace"):
        call(tmp_path / "w", "read_file", path="out/secret")


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("read_file", {"path": "absent"}, "No such file"),
        ("read_file", {}, "the argument 'path' is missing"),
        ("read_file", {"path": "a", "mode": "r"}, "unknown argument 'mode'"),
        ("read_file", {"path": 3}, "must be a string"),
        ("read_file", {"path": "bytes"}, "not UTF-8"),
        ("edit_file", {"path": "twice", "old": "a", "new": "b"}, "occurs 2 times"),
        ("edit_file", {"path": "twice", "old": "", "new": "b"}, "occurs 0 times"),
        ("search_files", {"pattern": "("}, "not a valid regular expression"),
        ("list_files", {"path": "twice"}, "is not a folder"),
    ],
)
def test_a_failure_is_a_tool_error_with_the_reason(
    tmp_path: Path, tool: str, arguments: dict[str, object], complaint: str
):
    """The model gets the message; nothing else is raised."""
    (tmp_path / "twice").write_text("a a")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(ToolError, match=complaint):
        call(tmp_path, tool, **arguments)


def test_schema_for_the_chat_api():
    """Required parameters are those that are not optional."""
    schema = TOOLS["search_files"].schema()["function"]["parameters"]
    assert schema["required"] == ["pattern"]
    assert set(schema["properties"]) == {"pattern", "path"}
