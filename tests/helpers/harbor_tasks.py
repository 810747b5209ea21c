"""Tasks that are made of as little as possible, and jobs to try them with."""

from __future__ import annotations

from pathlib import Path

from demeanor.core.values.eval import Eval
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.plugins.harbor.format.task_folder import read_task_folder

GREET = """\
schema_version = "1.4"

[task]
name = "lab/{name}"
version = "1"

[agent]
timeout_sec = {seconds}

[verifier]
timeout_sec = 30
"""
DOCKERFILE = "FROM debian:12\nWORKDIR /app\n"
CHECK = '[ "$(cat /app/hi.txt)" = hello ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n'
SOLVE = "echo hello > /app/hi.txt\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    """`files` laid out in `folder`; scripts can be run."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}" if name.endswith(".sh") else text, encoding="utf-8")
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    return folder


def greet(folder: Path, *, check: str = CHECK, solve: str = SOLVE, seconds: float = 60) -> Path:
    """A task that any agent can do: one file with one word."""
    return write(
        folder,
        {
            "task.toml": GREET.format(name=folder.name, seconds=seconds),
            "instruction.md": 'Create a file `hi.txt` with the content "hello".\n',
            "environment/Dockerfile": DOCKERFILE,
            "tests/test.sh": check,
            "solution/solve.sh": solve,
        },
    )


def engine(folder: Path, reward: str) -> Path:
    """A program in place of Harbor, for tests that are not about Harbor itself: every trial earns the reward that the
    shell command `reward` prints, with `$task` (the task's folder) and `$agent`. A place that a trial shares with
    another one is an error. Harbor's version is read from the metadata of its package."""
    (folder / "lib/python3.12/site-packages/harbor-0.24.0.dist-info").mkdir(parents=True)
    program = folder / "bin/harbor"
    script = (
        'jobs="$(dirname "$3")/jobs"; mkdir "$jobs" || exit; mkdir -p "$jobs/attempt/one"\n'
        """task="$(sed 's/.*"tasks": \\[{"path": "\\([^"]*\\)".*/\\1/' "$3")"\n"""
        """agent="$(sed 's/.*"agents": \\[{"name": "\\([^"]*\\)".*/\\1/' "$3")"\n"""
        f'reward="$({reward})"\n'
        'printf \'{"verifier_result": {"rewards": {"reward": %s}}}\' "$reward" > "$jobs/attempt/one/result.json"\n'
    )
    write(program.parent, {"harbor": f"#!/bin/sh\n{script}"})
    program.chmod(0o755)
    return program


def rewarding(folder: Path) -> Path:
    """A program in place of Harbor: every trial earns the reward that the file `reward` beside it holds."""
    program = engine(folder, 'cat "$(dirname "$0")/reward"')
    write(program.parent, {"reward": "1"})
    return program


def stepped(folder: Path) -> Path:
    """A task of two steps, the second of which is only tried after the first."""
    toml = GREET.format(name=folder.name, seconds=60)
    files = {"task.toml": f'{toml}\n[[steps]]\nname = "first"\nmin_reward = 1\n\n[[steps]]\nname = "second"\n'}
    for name in ("first", "second"):
        files[f"steps/{name}/instruction.md"] = f'Create a file `{name}.txt` with the content "{name}".\n'
        files[f"steps/{name}/tests/test.sh"] = (
            f"echo looking at {name}\n"
            f"[ -f /app/{name}.txt ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n"
        )
        files[f"steps/{name}/solution/solve.sh"] = f"echo {name} > /app/{name}.txt\n"
    return write(folder, {**files, "environment/Dockerfile": DOCKERFILE})


def trial_of(folder: Path, subject: str = "oracle", *, timeout: float | None = None) -> Trial:
    """A trial at the task in `folder`."""
    one: Eval = read_task_folder(folder)
    agent, _, model = subject.partition(":")
    seconds = timeout or one.scenario.timeout or 300
    return Trial(eval=one, subject=Subject(agent=agent, model=model), number=1, timeout=seconds)
