"""Minimal Harbor tasks for tests."""

from __future__ import annotations

from pathlib import Path

MINIMAL = """\
schema_version = "1.4"

[task]
name = "lab/greet"
version = "1"

[agent]
timeout_sec = 60

[verifier]
environment_mode = "separate"
"""
STEPS = """\
schema_version = "1.4"

[agent]
timeout_sec = 30

[[steps]]
name = "first"
min_reward = 1

[[steps]]
name = "second"

[steps.agent]
timeout_sec = 5

[steps.verifier]
timeout_sec = 7
environment_mode = "separate"
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    """`files` laid out in `folder`."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def task(folder: Path, toml: str = MINIMAL, **more: str) -> Path:
    """A task that is whole; `more` are further files, by path with `__` for a slash."""
    files = {
        "task.toml": toml,
        "instruction.md": "Write «hello» into hi.txt.\n",
        "environment/Dockerfile": "FROM python:3.12-slim\nWORKDIR /app\n",
        "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
        "solution/solve.sh": "echo hello > hi.txt\n",
    }
    return write(folder, files | {name.replace("__", "/"): text for name, text in more.items()})


def stepped(folder: Path, toml: str = STEPS) -> Path:
    """A task of two steps that is whole."""
    files = {"task.toml": toml, "environment/Dockerfile": "FROM python:3.12-slim\n"}
    for name in ("first", "second"):
        files[f"steps/{name}/instruction.md"] = f"Do the {name} thing.\n"
        files[f"steps/{name}/tests/test.sh"] = "echo 1 > /logs/verifier/reward.txt\n"
        files[f"steps/{name}/solution/solve.sh"] = "true\n"
    return write(folder, files)
