"""Somebody who reads a document and does what it says: each sentence, then the command and what must be seen."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from pathlib import Path

from tests.helpers.project import Project

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = 1500
"""How many characters of a command's output a failing test shows."""


class Reader:
    """Types commands in a project. If one does not show what it should, the sentence that promised it is named."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.folder = project.folder
        self.sentence = ""

    def reads(self, sentence: str) -> None:
        """The sentence whose promise is tried next."""
        self.sentence = sentence

    def types(self, line: str, *seen: str, exit_code: int = 0, unseen: str = "", **env: str) -> str:
        """Run a command line in the project; return what it prints, in one line. `seen` must be in it."""
        program, *words = shlex.split(line)
        if program == "demeanor":
            done = self.project.demeanor(*words, **{"COLUMNS": "120", **env})
        else:
            done = subprocess.run(
                ["bash", "-euc", line],
                cwd=self.folder,
                env={**self.project.env, **env},
                capture_output=True,
                text=True,
                check=False,
            )
        printed = f"{done.stdout}\n{done.stderr}"
        shown = " ".join(printed.split())
        promise = f"“{self.sentence}”\n$ {line}\n{printed[-SHOWN:]}"
        assert done.returncode == exit_code, f"exit code {done.returncode}, not {exit_code}\n{promise}"
        for text in seen:
            assert text in shown, f"not seen: {text}\n{promise}"
        assert not unseen or unseen not in shown, f"seen: {unseen}\n{promise}"
        return shown

    def edits(self, path: str, old: str, new: str) -> None:
        """Replace a text in a file of the project."""
        file = self.folder / path
        text = file.read_text()
        assert old in text, f"{path} does not contain {old!r}"
        file.write_text(text.replace(old, new))

    def writes(self, path: str, text: str) -> Path:
        """Write a file of the project."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


def missing(page: str, journey: Path) -> list[str]:
    """The command lines in the second column of the tables of a page that no reader in a test file types.

    A longer command line will do.
    """
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|", (DOCS / f"{page}.md").read_text("utf-8"), re.M)
    shown = [code for cell in rows for code in re.findall(r"`(demeanor [^`]+)`", cell)]
    assert shown, f"docs/{page}.md has no commands in the second column"
    calls = [node for node in ast.walk(ast.parse(journey.read_text("utf-8"))) if isinstance(node, ast.Call)]
    lines = [call.args[0] for call in calls if getattr(call.func, "attr", "") == "types"]
    typed = [f"{line.value} " for line in lines if isinstance(line, ast.Constant) and isinstance(line.value, str)]
    return [line for line in shown if not any(other.startswith(f"{line} ") for other in typed)]
