"""Copy a task with its network disabled.

A task that does not declare its network access gets full access from Harbor, and fails when a host it depends on is
down. So `demeanor validate` tests such a copy.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

from demeanor.core.values.eval import Eval
from demeanor.plugins.harbor.format.file_names import TASK
from demeanor.plugins.harbor.format.task import harbor_task
from demeanor.plugins.harbor.format.task_folder import read_task_folder

_HEADER = re.compile(r"^[ \t]*\[[ \t]*environment[ \t]*\][ \t]*(#.*)?$", re.MULTILINE)
_LINE = 'network_mode = "no-network"'


def offline(eval_: Eval, into: Path) -> Eval | None:
    """A copy of a task in `into`, without a network; None if the task declares its network access."""
    task = harbor_task(eval_)
    if any(step.verifier_network.declared for step in task.steps):
        return None
    source = (task.folder / TASK).read_text("utf-8")
    text = without_network(source)
    if text is None:
        return None
    folder = into / task.folder.name
    shutil.copytree(task.folder, folder, symlinks=True)
    (folder / TASK).write_text(text, "utf-8")
    return read_task_folder(folder)


def without_network(source: str) -> str | None:
    """A task.toml with «no-network» and otherwise unchanged; None if the line can't be inserted."""
    data = tomllib.loads(source)
    if "environment" not in data or isinstance(data["environment"], dict):
        data["environment"] = {**data.get("environment", {}), "network_mode": "no-network"}
    header = _HEADER.search(source)
    if header:
        text = f"{source[: header.end()]}\n{_LINE}{source[header.end() :]}"
    else:
        text = f"{source}\n[environment]\n{_LINE}\n"
    try:
        return text if tomllib.loads(text) == data else None
    except tomllib.TOMLDecodeError:
        return None
