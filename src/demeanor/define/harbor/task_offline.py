"""A task without a network: a copy that differs in this one line.

A task that says nothing of the network gets all of it from Harbor, and works until the day on which something on the
way is down. So it is proven on such a copy.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

from demeanor.core.eval import Eval
from demeanor.define.harbor.task_digest import TASK
from demeanor.define.harbor.task_folder import read_task_folder

_HEADER = re.compile(r"^[ \t]*\[[ \t]*environment[ \t]*\][ \t]*(#.*)?$", re.MULTILINE)
_LINE = 'network_mode = "no-network"'


def offline(one: Eval, into: Path) -> Eval | None:
    """A copy of a task in `into`, without a network; None where the task says itself what it needs."""
    if one.task is None or any(step.verifier_network.declared for step in one.task.steps):
        return None
    source = (one.task.folder / TASK).read_text("utf-8")
    text = without_network(source)
    if text is None:
        return None
    folder = into / one.task.folder.name
    shutil.copytree(one.task.folder, folder, symlinks=True)
    (folder / TASK).write_text(text, "utf-8")
    return read_task_folder(folder)


def without_network(source: str) -> str | None:
    """A task.toml that says «no-network» and is otherwise the same; None where that line finds no place."""
    wanted = tomllib.loads(source)
    if "environment" not in wanted or isinstance(wanted["environment"], dict):
        wanted["environment"] = {**wanted.get("environment", {}), "network_mode": "no-network"}
    header = _HEADER.search(source)
    if header:
        text = f"{source[: header.end()]}\n{_LINE}{source[header.end() :]}"
    else:
        text = f"{source}\n[environment]\n{_LINE}\n"
    try:
        return text if tomllib.loads(text) == wanted else None
    except tomllib.TOMLDecodeError:
        return None
