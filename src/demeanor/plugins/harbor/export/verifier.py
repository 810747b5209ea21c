"""The verifier of an exported task: a separate program that uses the standard library only.

It reads `checks.json` beside itself, runs each check on /app, and writes /logs/verifier/reward.json, always with the
same keys: `reward` is 1 if all checks pass, and each check has its own key. If a check can't be decided, it exits
without a reward, and the trial is void. Commands may run code of the agent, so they run as `nobody`, who can access
neither the checks nor the reward.
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
from pathlib import Path, PurePosixPath
from typing import Any

APP = "/app"
REWARD = "/logs/verifier/reward.json"
NOBODY = 65534
MAX_LINKS = 10


def main() -> int:
    """Check the workspace and write the reward."""
    if os.geteuid() == 0:
        for folder in (Path(__file__).parent, Path(REWARD).parent):
            folder.chmod(0o700)
    task = json.loads(Path(__file__).with_name("checks.json").read_text("utf-8"))
    workspace = Workspace(APP, task["before"])
    rewards = {"reward": 1.0}
    for check in task["checks"]:
        reason = CHECKS[check["check"]](workspace, check)
        sys.stdout.write(f"{'no ' if reason else 'yes'}  {check['key']}{': ' + reason if reason else ''}\n")
        rewards[check["key"]] = 0.0 if reason else 1.0
        rewards["reward"] = min(rewards["reward"], rewards[check["key"]])
    Path(REWARD).unlink(missing_ok=True)
    Path(REWARD).write_text(json.dumps(rewards), "utf-8")
    return 0


class CheckFailed(Exception):
    """A check failed; the message is the reason."""


class Workspace:
    """The workspace after the trial. Links are followed only inside it, and devices are never opened."""

    def __init__(self, folder: str, before: Mapping[str, Any]) -> None:
        self.folder = folder
        self.before = before
        self.entries: dict[str, tuple[str, str]] = {}
        for parent, folders, names in os.walk(folder):
            for path in (Path(parent, name) for name in (*names, *folders)):
                inner = path.relative_to(folder)
                if inner.parts[0] != ".git" and (path.is_symlink() or not path.is_dir() or not any(path.iterdir())):
                    self.entries[inner.as_posix()] = entry_of(path)

    def text(self, path: str) -> str:
        """The text of a file; raises CheckFailed if there is none."""
        at = self.resolve(path)
        kind = self.entries.get(at, ("", ""))[0] if at is not None else ""
        if kind != "file":
            raise CheckFailed(f"there is no file {path!r}" if not kind else f"{path!r} is not a file")
        try:
            return Path(self.folder, at or "").read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise CheckFailed(f"{path!r} is not UTF-8 text") from None

    def exists(self, path: str) -> bool:
        """Whether there is a file, a link or a folder."""
        normalized = posixpath.normpath(path)
        return normalized in self.entries or any(other.startswith(f"{normalized}/") for other in self.entries)

    def resolve(self, path: str) -> str | None:
        """The end of a chain of links; None if there is no file."""
        path = posixpath.normpath(path)
        for _ in range(MAX_LINKS):
            kind, target = self.entries.get(path, ("", ""))
            if kind != "link":
                return path if kind not in {"", "folder"} else None
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        return None


def entry_of(path: Path) -> tuple[str, str]:
    """The kind of a path, and its target or hash."""
    if path.is_symlink():
        return "link", str(path.readlink())
    if path.is_dir():
        return "folder", ""
    return ("file", hashlib.sha256(path.read_bytes()).hexdigest()) if path.is_file() else ("other", "")


def file_exists(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A file exists."""
    return None if workspace.resolve(check["path"]) is not None else f"there is no file {check['path']!r}"


def file_absent(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """Nothing exists at the path."""
    return f"{check['path']!r} exists" if workspace.exists(check["path"]) else None


def file_equals(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A file has exactly this text, except for one trailing newline."""
    expected = without_newline(check["text"])
    return check_text(workspace, check, lambda text: without_newline(text) == expected, "has another text")


def file_contains(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A file contains a string, or does not."""
    expected, negated = check["text"], bool(check["negated"])
    problem = f"{'contains' if negated else 'does not contain'} {expected!r}"
    return check_text(workspace, check, lambda text: (expected in text) is not negated, problem)


def file_matches(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A regular expression matches in a file."""
    pattern = re.compile(check["pattern"], re.MULTILINE)
    return check_text(workspace, check, lambda text: bool(pattern.search(text)), f"does not match {pattern.pattern!r}")


def json_path(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A value in a JSON file."""

    def holds(text: str) -> bool:
        value = json.loads(text)
        for step in check["steps"]:
            value = descend(value, step)
        return same_json(value, check["value"])

    return check_text(workspace, check, holds, f"has another value at {check['steps']!r}")


def unchanged_except(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """No other files changed."""
    patterns = [re.compile(pattern, re.DOTALL) for pattern in check["patterns"]]
    before = {path: tuple(entry) for path, entry in workspace.before.items()}
    stayed = folders_of(before) & folders_of(workspace.entries)
    changed = [
        path for path in {*before, *workspace.entries} - stayed if before.get(path) != workspace.entries.get(path)
    ]
    strays = sorted(path for path in changed if not any(pattern.fullmatch(path) for pattern in patterns))
    return f"changed: {', '.join(strays[:20])}" if strays else None


def folders_of(entries: Mapping[str, tuple[str, str]]) -> set[str]:
    """All folders: the empty ones, and those of which a path is below."""
    folders = {path for path, (kind, _) in entries.items() if kind == "folder"}
    return folders | {str(parent) for path in entries for parent in PurePosixPath(path).parents}


def command_succeeds(workspace: Workspace, check: Mapping[str, Any]) -> str | None:
    """A command exits with 0 in a copy of the workspace."""
    argv = check["argv"]
    if "/" not in argv[0] and shutil.which(argv[0]) is None:
        sys.exit(f"{argv[0]} is not in the verifier's image, so the check can't run: add it to environment/Dockerfile")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "app")
        shutil.copytree(workspace.folder, copy, symlinks=True, ignore=special_files)
        try:
            end = subprocess.run(
                argv, cwd=copy, stdin=subprocess.DEVNULL, capture_output=True, timeout=check["timeout"], check=False,
                start_new_session=True, env={**os.environ, "HOME": folder}, **as_nobody(folder),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"{argv[0]} did not finish within {check['timeout']:g} seconds"
        except OSError as error:
            return f"{argv[0]} can't be run: {error}"
    printed = end.stdout.decode("utf-8", "replace")
    if end.returncode != 0:
        return f"{argv[0]} exited with {end.returncode}"
    expected = check["stdout_contains"]
    return f"{argv[0]} did not print {expected!r}" if expected is not None and expected not in printed else None


def as_nobody(folder: str) -> dict[str, Any]:
    """If we are root, give the folder to `nobody`; returns the arguments to run a command as that user."""
    if os.geteuid() != 0:
        return {}
    subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", folder], check=True)
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def special_files(parent: str, names: list[str]) -> list[str]:
    """Pipes, sockets and devices, which can't be copied."""
    paths = [Path(parent, name) for name in names]
    return [path.name for path in paths if not (path.is_symlink() or path.is_dir() or path.is_file())]


CHECKS = {
    "file_exists": file_exists,
    "file_absent": file_absent,
    "file_equals": file_equals,
    "file_contains": file_contains,
    "file_matches": file_matches,
    "json_path": json_path,
    "unchanged_except": unchanged_except,
    "command_succeeds": command_succeeds,
}


def check_text(workspace: Workspace, check: Mapping[str, Any], holds: Any, otherwise: str) -> str | None:
    """Why the text of a file fails a check; None if it passes."""
    try:
        return None if holds(workspace.text(check["path"])) else f"{check['path']!r} {otherwise}"
    except CheckFailed as error:
        return str(error)
    except (ValueError, KeyError, IndexError, RecursionError) as error:
        return f"{check['path']!r} {otherwise}: {type(error).__name__}: {error}"


def without_newline(text: str) -> str:
    """A text without its trailing newline."""
    return text.removesuffix("\n").removesuffix("\r")


def descend(value: Any, step: Any) -> Any:
    """The value one step further; raises KeyError or IndexError if there is none."""
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    if isinstance(value, dict) and isinstance(step, str):
        return value[step]
    raise KeyError(step)


def same_json(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(same_json(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(same_json, value, other))
    return bool(value == other)


if __name__ == "__main__":
    sys.exit(main())
