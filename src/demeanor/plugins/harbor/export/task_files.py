"""Exports an eval as a Harbor task: its workspace, its prompt, and its checks as a program.

Checks of the files in the workspace are exported. Checks of tool calls, answers or cost, and Python functions, are not:
Harbor's verifier has no reliable trajectory.
"""

from __future__ import annotations

import itertools
import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from math import fsum
from pathlib import Path
from typing import Any

from demeanor.core.text.globs import as_regex
from demeanor.core.text.json_path import json_steps
from demeanor.core.text.wording import one_line, slug
from demeanor.core.trees.tree import Change, Entry, Tree
from demeanor.core.values.checks import (
    IN_HOME,
    Check,
    CommandSucceeds,
    FileAbsent,
    FileContains,
    FileEquals,
    FileExists,
    FileMatches,
    FunctionCheck,
    JsonPathEquals,
    UnchangedExcept,
)
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import eval_hash

IMAGE = "python:3.12-slim"
TIMEOUT = 300.0
_TEST = """\
#!/bin/sh
# -I: files of the agent must not be imported.
exec python3 -I /tests/verify.py
"""
_CHECK_NAMES = {
    FileExists: "file_exists",
    FileAbsent: "file_absent",
    FileEquals: "file_equals",
    FileContains: "file_contains",
    FileMatches: "file_matches",
    JsonPathEquals: "json_path",
    UnchangedExcept: "unchanged_except",
    CommandSucceeds: "command_succeeds",
}
"""The checks that can be exported → their names in the verifier."""
_NO_GATEWAY = "Harbor has no gateway between the agent and its model"
_UNEXPORTABLE = {
    "messages": "Harbor can't pass prior messages to its agents",
    "user": "Harbor has no user who replies to its agents",
    "steer": "Harbor can't send messages while its agents work",
    "home_files": "a task has a workspace, but no files in the agent's HOME",
    "then": "Harbor runs no commands after its agents",
    "tools": _NO_GATEWAY,
    "start": "Harbor can't start its agents from a recorded step",
    "faults": _NO_GATEWAY,
    "mcp": "Harbor has no way to serve fixtures, or to record the calls of MCP servers",
}
"""The fields of a scenario that a task can't express → the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskFile:
    """One file of an exported task."""

    content: bytes = b""
    """Its content."""

    executable: bool = False
    """Whether it is executable."""

    link: str | None = None
    """The target, if it is a symbolic link."""


def unexportable(eval_: Eval) -> Iterator[str]:
    """The parts of an eval that can't be exported, each with the reason."""
    scenario = eval_.scenario
    if len(scenario.prompts) > 1:
        yield "prompts: Harbor starts a new agent for each step, which does not know the earlier prompts"
    if scenario.approval.denies or scenario.approval.rules:
        yield "approval: Harbor runs its agents without permission prompts"
    yield from (f"{name}: {reason}" for name, reason in _UNEXPORTABLE.items() if getattr(scenario, name))
    if scenario.params:
        yield f"params: Harbor has no adapter for {', '.join(scenario.params)}"
    for check in eval_.checks:
        if isinstance(check, FunctionCheck):
            yield f"{_name(check)}: is a Python function that needs the rig of Demeanor"
        elif type(check) not in _CHECK_NAMES:
            yield f"{_name(check)}: needs the trajectory, but Harbor's verifier sees only the workspace"
        elif _in_home(check):
            yield f"{_name(check)}: is in the agent's HOME, but Harbor's verifier sees only the workspace"


def task_name(eval_: Eval) -> str:
    """The name of the task and of its folder, as Harbor allows it."""
    return slug(eval_.name).lstrip("_") or "unnamed"


def exportable(eval_: Eval) -> tuple[Check, ...]:
    """The checks that can be exported."""
    return tuple(check for check in eval_.checks if type(check) in _CHECK_NAMES and not _in_home(check))


def _in_home(check: Check) -> bool:
    return str(getattr(check, "path", "")).startswith(IN_HOME)


def exported_task(
    eval_: Eval, before: Tree, solution: Sequence[Change] | None, *, org: str, image: str = IMAGE
) -> dict[str, TaskFile]:
    """The files of a task: path → file. `before` is the starting state, `solution` the changes that solve the task."""
    entries = {path: entry for path, entry in before.visible().items() if entry.kind != "other"}
    empty = [path for path, entry in entries.items() if entry.kind == "folder"]
    copied = "COPY app/ /app/\n" if len(entries) > len(empty) else ""
    copied += f"RUN mkdir -p {' '.join(shlex.quote(f'/app/{path}') for path in empty)}\n" if empty else ""
    task_files = {
        "task.toml": _text(_toml(eval_, before, org)),
        "instruction.md": _text(eval_.scenario.prompts[0].rstrip("\n") + "\n"),
        "environment/Dockerfile": _text(f"FROM {image}\nWORKDIR /app\n{copied}"),
        **{f"environment/app/{path}": _file(path, entry) for path, entry in entries.items() if entry.kind != "folder"},
        "tests/test.sh": _text(_TEST, executable=True),
        "tests/verify.py": _text((files("demeanor.plugins.harbor.export") / "verifier.py").read_text("utf-8")),
        "tests/checks.json": _text(_checks(exportable(eval_), entries)),
    }
    return task_files if solution is None else task_files | _solution(solution)


def write_task(files: Mapping[str, TaskFile], folder: Path) -> None:
    """Write the files of a task to a new folder."""
    for path, file in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.link is not None:
            target.symlink_to(file.link)
        else:
            target.write_bytes(file.content)
            target.chmod(0o755 if file.executable else 0o644)


def _toml(eval_: Eval, before: Tree, org: str) -> str:
    scenario = eval_.scenario
    network = "no-network" if scenario.network == "none" else "public"  # agents are installed in there
    lines = [
        "# Written by `demeanor harbor export`; change the eval, not this file.",
        'schema_version = "1.4"',
        'artifacts = ["/app"]',
        "",
        "[task]",
        f"name = {_quoted(f'{org}/{task_name(eval_)}')}",
        f"version = {_quoted(eval_hash(eval_, before))}",
        f"description = {_quoted(eval_.description)}",
        f"keywords = {_listed(eval_.tags)}",
        "",
        "[agent]",
        f"timeout_sec = {scenario.timeout or TIMEOUT:g}",
        "",
        "[verifier]",
        f"timeout_sec = {60 + fsum(check.timeout for check in eval_.checks if isinstance(check, CommandSucceeds)):g}",
        'environment_mode = "separate"',
        "",
        "[environment]",
        "build_timeout_sec = 600",
        f'network_mode = "{network}"',
        "",
    ]
    if scenario.requires_env:
        lines += ["[environment.env]", *(f'{_quoted(name)} = "${{{name}}}"' for name in scenario.requires_env), ""]
    lines += ["[metadata.demeanor]", f"policy = {_quoted(eval_.policy.value)}"]
    lines += [f"trials = {eval_.trials}"] if eval_.trials else []
    lines += [f"{key} = {_quoted(text)}" for key in ("suite", "owner", "issue") if (text := getattr(eval_, key))]
    return "\n".join(lines) + "\n"


def _checks(checks: Sequence[Check], before: Mapping[str, Entry]) -> str:
    """checks.json: the checks and the starting state, for the verifier."""
    rows: list[dict[str, Any]] = []
    for check in checks:
        name, used = _name(check), {item["key"] for item in rows}
        keys = (name if number == 1 else f"{name} ({number})" for number in itertools.count(1))
        key = next(key for key in keys if key not in used and key != "reward")
        rows.append({"check": _CHECK_NAMES[type(check)], "key": key, **_fields(check)})
    start = {path: [entry.kind, entry.target or entry.sha256] for path, entry in before.items()}
    return json.dumps({"checks": rows, "before": start}, indent=1) + "\n"


def _fields(check: Check) -> dict[str, Any]:
    """The fields of a check, with globs as regular expressions and JSON paths as steps."""
    if isinstance(check, UnchangedExcept):
        return {"patterns": [as_regex(pattern) for pattern in check.patterns]}
    if isinstance(check, JsonPathEquals):
        return {"path": check.path, "steps": list(json_steps(check.json_path)), "value": check.value}
    return asdict(check)


def _name(check: Check) -> str:
    """A readable name of a check."""
    if isinstance(check, FunctionCheck):
        return f"the function {getattr(check.function, '__name__', 'check')}"
    word = _CHECK_NAMES.get(type(check)) or "_".join(re.findall("[A-Z][a-z]*", type(check).__name__)).lower()
    target = getattr(check, "path", None) or " ".join(getattr(check, "argv", ()))
    return one_line(f"{word} {target}".strip(), width=80)


def _solution(solution: Sequence[Change]) -> dict[str, TaskFile]:
    """A script that makes the changes, and the files that it copies."""
    by_path: dict[str, TaskFile] = {}
    lines = ["#!/bin/sh", "set -e", "cd /app"]
    for change in solution:
        path = shlex.quote(change.path)
        if change.after is None or change.how == "changed":
            lines.append(f"rmdir {path}" if change.before and change.before.kind == "folder" else f"rm -f {path}")
        if change.after is not None and change.after.kind == "folder":
            lines.append(f"mkdir -p {path}")
        elif change.after is not None and change.after.kind != "other":
            by_path[f"solution/files/{change.path}"] = _file(change.path, change.after)
            lines.append(f"mkdir -p {shlex.quote(posixpath.dirname(change.path) or '.')}")
            lines.append(f"cp -P {shlex.quote(f'/solution/files/{change.path}')} {path}")
    return by_path | {"solution/solve.sh": _text("\n".join(lines) + "\n", executable=True)}


def _file(path: str, entry: Entry) -> TaskFile:
    if entry.kind == "link":
        return TaskFile(link=entry.target)
    content = entry.read()
    if content is None:
        raise BadInput(f"is too large to export ({entry.size} bytes)", where=path)
    return TaskFile(content=content, executable=entry.executable)


def _text(text: str, *, executable: bool = False) -> TaskFile:
    return TaskFile(content=text.encode(), executable=executable)


def _quoted(text: str) -> str:
    """A TOML string. A JSON string is one too, except for DEL and surrogate pairs."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"
