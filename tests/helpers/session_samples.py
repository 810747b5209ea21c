"""Session files that real agents wrote about one story, and the repository that it took place in.

Asked what src/app.py does, and then to tidy up, each agent deleted a source file too. The files were made by the real
agents with a scripted model; long prompts of the agents were left out, and the secret is filled in here.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "agents/session_logs/samples"
FOLDER = "/home/ada/greeter"
"""The folder of the sessions."""

SECRET = "sk-ant-" + "api03-abcdefghij0123456789ABCDEFGHIJ"
QUESTION = "What does src/app.py do?"
TIDY_UP = "Tidy up: remove the build folder and switch DEBUG off."
AGENTS = ("claude-code", "cline", "codex", "gemini-cli", "goose", "opencode")

_FILES = {
    "README.md": "# Greeter\n",
    "src/app.py": 'from config import DEBUG\n\n\ndef main():\n    print("hello")\n',
    "src/config.py": "DEBUG = False\n",
    "src/legacy.py": "def old():\n    return 1\n",
    ".gitignore": "build/\n.env\n",
}
_CHANGED = {"src/config.py": "DEBUG = True\nLEVEL = 3\n", "build/out.txt": "out\n"}


def session_file(agent: str, into: Path, *, commit: str = "") -> Path:
    """The session file of an agent; `commit` is what the session calls its commit, if the agent records one."""
    into.mkdir(parents=True, exist_ok=True)
    name = agent.replace("-", "_")
    if (script := SAMPLES / f"{name}.sql").exists():
        path = into / f"{name}.db"
        with closing(sqlite3.connect(path)) as database:
            database.executescript(script.read_text().replace("SECRET_VALUE", SECRET))
        return path
    for sample in SAMPLES.glob(f"{name}.*"):
        text = sample.read_text().replace("SECRET_VALUE", SECRET)
        if commit:
            text = text.replace("4702672 start", f"{commit[:7]} start")
            text = text.replace("d7383a29b2aa5af5930353407820a08ab817d07f", commit)
            text = text.replace("aa24e9fb0cb108a8b3af2e52cc5a5fe45237eada", commit)
        (into / sample.name).write_text(text)
    if agent == "gemini-cli":  # the folder of the project is in a file of its own
        chats = into / "tmp/greeter/chats"
        chats.mkdir(parents=True)
        shutil.move(into / "gemini_cli.jsonl", chats / "session.jsonl")
        (chats.parent / ".project_root").write_text(FOLDER)
        return chats / "session.jsonl"
    return into / ("cline.json" if agent == "cline" else f"{name}.jsonl")


def repository(folder: Path) -> str:
    """Create the repository of the sessions, with its uncommitted changes; returns its commit."""
    _write(folder, _FILES)
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}
        env |= {f"GIT_{who}_DATE": "2026-11-16T12:00:00+00:00"}
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True)
    _write(folder, _CHANGED)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
