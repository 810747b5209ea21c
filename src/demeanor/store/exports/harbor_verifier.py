"""The verifier of an exported task: a program of its own, which needs the standard library only.

It reads `checks.json` beside itself, asks each check of /app, and writes /logs/verifier/reward.json, always with the
same keys: `reward` is 1 where all checks are satisfied, and each check has a key of its own. What it can't tell is
never guessed: then it ends without a reward, and the trial is void. Commands, which may run what the agent wrote, are
run as nobody, to whom the checks and the reward are closed.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

APP = "/app"
REWARD = "/logs/verifier/reward.json"
NOBODY = 65534
MOST_HOPS = 10


def main() -> int:
    """Judge what the agent left."""
    if os.geteuid() == 0:
        for folder in (Path(__file__).parent, Path(REWARD).parent):
            folder.chmod(0o700)
    told = json.loads(Path(__file__).with_name("checks.json").read_text("utf-8"))
    workspace = Workspace(APP, told["before"])
    rewards = {"reward": 1.0}
    for check in told["checks"]:
        reason = ASK[check["check"]](workspace, check)
        sys.stdout.write(f"{'no ' if reason else 'yes'}  {check['key']}{': ' + reason if reason else ''}\n")
        rewards[check["key"]] = 0.0 if reason else 1.0
        rewards["reward"] = min(rewards["reward"], rewards[check["key"]])
    Path(REWARD).unlink(missing_ok=True)
    Path(REWARD).write_text(json.dumps(rewards), "utf-8")
    return 0


class Wrong(Exception):
    """A check is not satisfied; the text tells why."""


class Workspace:
    """The folder as the agent left it. Links are followed inside of it only, and devices are never opened."""

    def __init__(self, folder: str, before: Mapping[str, Any]) -> None:
        self.folder = folder
        self.before = before
        self.entries: dict[str, tuple[str, str]] = {}
        for parent, folders, names in os.walk(folder):
            for path in (Path(parent, name) for name in (*names, *folders)):
                inner = path.relative_to(folder)
                if inner.parts[0] != ".git" and (path.is_symlink() or not path.is_dir()):
                    self.entries[inner.as_posix()] = entry_of(path)

    def text(self, path: str) -> str:
        """A file's text; Wrong where there is none."""
        at = self.followed(path)
        kind = self.entries.get(at, ("", ""))[0] if at is not None else ""
        if kind != "file":
            raise Wrong(f"there is no file {path!r}" if not kind else f"{path!r} is no file")
        try:
            return Path(self.folder, at or "").read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise Wrong(f"{path!r} is not UTF-8 text") from None

    def exists(self, path: str) -> bool:
        """Whether a file, a link or a folder with something in it is there."""
        tidy = posixpath.normpath(path)
        return tidy in self.entries or any(other.startswith(f"{tidy}/") for other in self.entries)

    def followed(self, path: str) -> str | None:
        """Where a chain of links ends; None where it leads nowhere."""
        path = posixpath.normpath(path)
        for _ in range(MOST_HOPS):
            kind, target = self.entries.get(path, ("", ""))
            if kind != "link":
                return path if kind else None
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        return None


def entry_of(path: Path) -> tuple[str, str]:
    """What lies at a path: its kind, and what tells it from others of its kind."""
    if path.is_symlink():
        return "link", str(path.readlink())
    return ("file", hashlib.sha256(path.read_bytes()).hexdigest()) if path.is_file() else ("other", "")


def file_exists(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A file is there."""
    return None if workspace.followed(check["path"]) is not None else f"there is no file {check['path']!r}"


def file_absent(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """Nothing is there."""
    return f"{check['path']!r} is there" if workspace.exists(check["path"]) else None


def file_equals(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A file's whole text; one trailing newline more or less does not matter."""
    return about(workspace, check, lambda text: bare(text) == bare(check["text"]), "is not as it should be")


def file_contains(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A string is in a file, or not."""
    negated = bool(check["negated"])
    word = "holds" if negated else "does not hold"
    return about(workspace, check, lambda text: (check["text"] in text) is not negated, f"{word} {check['text']!r}")


def file_matches(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A regular expression matches somewhere in a file."""
    pattern = check["pattern"]
    return about(workspace, check, lambda text: bool(re.search(pattern, text, re.MULTILINE)), f"lacks {pattern!r}")


def json_path(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A value inside a JSON file."""

    def holds(text: str) -> bool:
        found = json.loads(text)
        for step in check["steps"]:
            found = stepped(found, step)
        return same_json(found, check["value"])

    return about(workspace, check, holds, f"has another value at {check['steps']!r}")


def unchanged_except(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """Nothing changed but what may."""
    patterns = [re.compile(pattern, re.DOTALL) for pattern in check["patterns"]]
    before = {path: tuple(entry) for path, entry in workspace.before.items()}
    changed = [path for path in {*before, *workspace.entries} if before.get(path) != workspace.entries.get(path)]
    strays = sorted(path for path in changed if not any(pattern.fullmatch(path) for pattern in patterns))
    return f"changed: {', '.join(strays[:20])}" if strays else None


def command_succeeds(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A command exits with 0 in a copy of the workspace."""
    argv = check["argv"]
    if "/" not in argv[0] and shutil.which(argv[0]) is None:
        sys.exit(f"{argv[0]} is not in the verifier's image, so nothing can be said: add it to environment/Dockerfile")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "app")
        shutil.copytree(workspace.folder, copy, symlinks=True, ignore=odd)
        try:
            end = subprocess.run(
                argv, cwd=copy, stdin=subprocess.DEVNULL, capture_output=True, timeout=check["timeout"], check=False,
                start_new_session=True, env={**os.environ, "HOME": folder}, **as_nobody(folder),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{argv[0]} did not end within {check['timeout']:g} seconds"
        except OSError as error:
            return f"{argv[0]} can't be run: {error}"
    printed = end.stdout.decode("utf-8", "replace")
    if end.returncode != 0:
        return f"{argv[0]} exited with {end.returncode}"
    wanted = check["stdout_contains"]
    return f"{argv[0]} did not print {wanted!r}" if wanted is not None and wanted not in printed else None


def as_nobody(folder: str) -> dict[str, Any]:
    """How a command is run that may be the agent's own: by nobody, who gets the folder, where we are root."""
    if os.geteuid() != 0:
        return {}
    subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", folder], check=True)
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def odd(parent: str, names: list[str]) -> list[str]:
    """Pipes, sockets and devices, which can't be copied."""
    paths = [Path(parent, name) for name in names]
    return [path.name for path in paths if not (path.is_symlink() or path.is_dir() or path.is_file())]


ASK = {
    "file_exists": file_exists,
    "file_absent": file_absent,
    "file_equals": file_equals,
    "file_contains": file_contains,
    "file_matches": file_matches,
    "json_path": json_path,
    "unchanged_except": unchanged_except,
    "command_succeeds": command_succeeds,
}


def about(workspace: Workspace, check: Mapping[str, Any], holds: Any, otherwise: str) -> str | None:
    """Why a file's text does not satisfy a question; None where it does."""
    try:
        return None if holds(workspace.text(check["path"])) else f"{check['path']!r} {otherwise}"
    except Wrong as error:
        return str(error)
    except (ValueError, KeyError, IndexError, RecursionError) as error:
        return f"{check['path']!r} {otherwise}: {type(error).__name__}: {error}"


def bare(text: str) -> str:
    """A text without its last newline."""
    return text.removesuffix("\n").removesuffix("\r")


def stepped(value: Any, step: Any) -> Any:
    """What lies one step further in; KeyError or IndexError where nothing does."""
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    if isinstance(value, dict) and isinstance(step, str):
        return value[step]
    raise KeyError(step)


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


if __name__ == "__main__":
    sys.exit(main())
