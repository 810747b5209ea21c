"""What the native agent may do to a workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.native.tools import TOOLS, ToolError, use


def do(folder: Path, tool: str, **arguments: object) -> str:
    """Use one tool."""
    return use(TOOLS[tool], folder, arguments)


def test_write_read_edit_and_list(tmp_path: Path):
    """The straight way."""
    do(tmp_path, "write_file", path="a/b.txt", content="one two\n")
    do(tmp_path, "edit_file", path="a/b.txt", old="two", new="three")
    assert do(tmp_path, "read_file", path="a/b.txt") == "one three\n"
    assert do(tmp_path, "list_files") == "a/b.txt"
    assert do(tmp_path, "search_files", pattern="thr.e") == "a/b.txt:1: one three"


def test_the_shell_tells_output_and_exit_code(tmp_path: Path):
    """A failing command is a tool error with its output."""
    assert do(tmp_path, "shell", command="echo hi") == "hi\n"
    with pytest.raises(ToolError, match="exit code 3\noops"):
        do(tmp_path, "shell", command="echo oops; exit 3")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x"])
def test_paths_outside_are_refused(tmp_path: Path, path: str):
    """The model stays in the workspace."""
    with pytest.raises(ToolError, match="outside of the workspace"):
        do(tmp_path, "write_file", path=path, content="x")


def test_a_link_out_of_the_workspace_is_refused(tmp_path: Path):
    """Not by a detour either."""
    (tmp_path / "w").mkdir()
    (tmp_path / "w/out").symlink_to(tmp_path)
    with pytest.raises(ToolError, match="outside of the workspace"):
        do(tmp_path / "w", "read_file", path="out/secret")


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("read_file", {"path": "absent"}, "No such file"),
        ("read_file", {}, "the argument 'path' is missing"),
        ("read_file", {"path": "a", "mode": "r"}, "unknown argument 'mode'"),
        ("read_file", {"path": 3}, "must be a string"),
        ("read_file", {"path": "bytes"}, "not UTF-8"),
        ("edit_file", {"path": "twice", "old": "a", "new": "b"}, "stands 2 times"),
        ("edit_file", {"path": "twice", "old": "", "new": "b"}, "stands 0 times"),
        ("search_files", {"pattern": "("}, "no regular expression"),
        ("list_files", {"path": "twice"}, "is no folder"),
    ],
)
def test_what_a_tool_cant_do_it_says(tmp_path: Path, tool: str, arguments: dict[str, object], complaint: str):
    """The model is told why; nothing crashes."""
    (tmp_path / "twice").write_text("a a")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(ToolError, match=complaint):
        do(tmp_path, tool, **arguments)


def test_every_tool_describes_itself_as_the_chat_api_wants_it():
    """Required parameters are those that are not optional."""
    schema = TOOLS["search_files"].schema()["function"]["parameters"]
    assert schema["required"] == ["pattern"]
    assert set(schema["properties"]) == {"pattern", "path"}
