"""The native agent's tools, each a function from arguments to the text that the model gets as the result."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAX_TEXT = 30_000
_MAX_MATCHES = 200


class ToolError(Exception):
    """A tool failed; the model gets the message as the result."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """The exit code of a command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NativeTool:
    """One tool."""

    name: str
    """Its name."""

    kind: str
    """What it does: read, edit, search, execute, think."""

    description: str
    """Its description, for the model."""

    parameters: Mapping[str, str]
    """Parameter → description. All are strings; those whose description begins with `(optional)` are not required."""

    run: Callable[[Path, Mapping[str, str]], str]
    """Runs it in a workspace; returns the text for the model."""

    def schema(self) -> dict[str, Any]:
        """The tool in the format of the chat API."""
        properties = {name: {"type": "string", "description": text} for name, text in self.parameters.items()}
        required = [name for name, text in self.parameters.items() if not text.startswith("(optional)")]
        parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }


def run_tool(tool: NativeTool, workspace: Path, arguments: Any) -> str:
    """Run a tool with the model's arguments; raises ToolError if it fails."""
    if not isinstance(arguments, dict):
        raise ToolError("the arguments must be a JSON object")
    for name, text in tool.parameters.items():
        if name not in arguments and not text.startswith("(optional)"):
            raise ToolError(f"the argument {name!r} is missing")
    for name, value in arguments.items():
        if name not in tool.parameters:
            raise ToolError(f"unknown argument {name!r}; known: {', '.join(tool.parameters)}")
        if not isinstance(value, str):
            raise ToolError(f"the argument {name!r} must be a string")
    try:
        return tool.run(workspace, arguments)
    except OSError as error:
        raise ToolError(f"{error.strerror or error}: {error.filename or ''}".rstrip(": ")) from None
    except UnicodeError:
        raise ToolError("the file is not UTF-8 text") from None


def _inside(workspace: Path, name: str) -> Path:
    path = (workspace / name).resolve()
    if not path.is_relative_to(workspace.resolve()):
        raise ToolError(f"{name!r} is outside the workspace")
    return path


def _read(workspace: Path, arguments: Mapping[str, str]) -> str:
    return _cut(_inside(workspace, arguments["path"]).read_text("utf-8"))


def _write(workspace: Path, arguments: Mapping[str, str]) -> str:
    path = _inside(workspace, arguments["path"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(arguments["content"], "utf-8")
    return f"wrote {len(arguments['content'])} characters to {arguments['path']}"


def _edit(workspace: Path, arguments: Mapping[str, str]) -> str:
    path = _inside(workspace, arguments["path"])
    text, old = path.read_text("utf-8"), arguments["old"]
    count = text.count(old) if old else 0
    if count != 1:
        raise ToolError(f"the old text occurs {count} times in {arguments['path']}; it must occur exactly once")
    path.write_text(text.replace(old, arguments["new"]), "utf-8")
    return f"edited {arguments['path']}"


def _files(folder: Path) -> list[Path]:
    files = []
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in {".git", "node_modules"})
        files += [Path(top, name) for name in sorted(names)]
    return files


def _list(workspace: Path, arguments: Mapping[str, str]) -> str:
    folder = _inside(workspace, arguments.get("path", "."))
    if not folder.is_dir():
        raise ToolError(f"{arguments.get('path', '.')!r} is not a folder")
    return _cut("\n".join(str(path.relative_to(workspace.resolve())) for path in _files(folder)) or "(empty)")


def _search(workspace: Path, arguments: Mapping[str, str]) -> str:
    try:
        pattern = re.compile(arguments["pattern"])
    except re.error as error:
        raise ToolError(f"not a valid regular expression: {error}") from None
    lines = []
    for path in _files(_inside(workspace, arguments.get("path", "."))):
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            if pattern.search(line):
                lines.append(f"{path.relative_to(workspace.resolve())}:{number}: {line[:200]}")
            if len(lines) >= _MAX_MATCHES:
                return "\n".join([*lines, "… and more"])
    return "\n".join(lines) or "(nothing found)"


def _shell(workspace: Path, arguments: Mapping[str, str]) -> str:
    process = subprocess.Popen(
        ["/bin/sh", "-c", arguments["command"]],
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise ToolError("the command took longer than 60 seconds and was killed") from None
    text = _cut(output.decode("utf-8", "replace"))
    if process.returncode:
        raise ToolError(f"exit code {process.returncode}\n{text}", process.returncode)
    return text or "(no output)"


def _finish(_workspace: Path, arguments: Mapping[str, str]) -> str:
    return arguments["answer"]


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + f"\n… {len(text) - _MAX_TEXT} characters more"


ASK_USER = "ask_user"
"""The tool that asks the user a question; see loop.py."""

FINISH = "finish"
_PATH = "Path relative to the workspace."
_FOLDER = "(optional) Folder relative to the workspace; default: all of it."
TOOLS: Mapping[str, NativeTool] = {
    tool.name: tool
    for tool in (
        NativeTool(
            name="read_file", kind="read", run=_read, description="Read a text file.", parameters={"path": _PATH}
        ),
        NativeTool(
            name="write_file",
            kind="edit",
            run=_write,
            description="Create a file, or replace all of its text.",
            parameters={"path": _PATH, "content": "The whole text."},
        ),
        NativeTool(
            name="edit_file",
            kind="edit",
            run=_edit,
            description="Replace one passage of a file by another.",
            parameters={"path": _PATH, "old": "The passage; it must stand there exactly once.", "new": "Its new text."},
        ),
        NativeTool(
            name="list_files", kind="search", run=_list, description="List files.", parameters={"path": _FOLDER}
        ),
        NativeTool(
            name="search_files",
            kind="search",
            run=_search,
            description="Find lines that match a regular expression.",
            parameters={"pattern": "A regular expression.", "path": _FOLDER},
        ),
        NativeTool(
            name="shell",
            kind="execute",
            run=_shell,
            description="Run a shell command in the workspace.",
            parameters={"command": "The command line."},
        ),
        NativeTool(
            name=FINISH,
            kind="think",
            run=_finish,
            description="End the work.",
            parameters={"answer": "What to tell the user."},
        ),
    )
}
