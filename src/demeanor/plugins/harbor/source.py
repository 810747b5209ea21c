"""Finds evals that are tasks in Harbor's format: folders with a task.toml, datasets and registries of such folders.

The readers are imported only when there is something to read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.plugins.harbor.format.file_names import DATASET, REGISTRY, TASK, looks_like_task

if TYPE_CHECKING:
    from demeanor.core.values.eval import Eval

FILE = TASK
TABLE = ("metadata", "demeanor")


def looks_like(path: Path) -> bool:
    """Whether a folder is a task, perhaps an incomplete one, or a dataset; or whether a file says so.

    Many files are called registry.json, so it counts only if it is named.
    """
    if path.is_file():
        return path.name in (TASK, DATASET, REGISTRY)
    return looks_like_task(path) or (path / DATASET).is_file()


def is_complete(folder: Path) -> bool:
    """Whether a folder is certainly a task; other tools, too, have files called task.toml."""
    if not (folder / TASK).is_file() or not (folder / "environment").is_dir():
        return False
    return (folder / "instruction.md").is_file() or (folder / "steps").is_dir()


def read(path: Path) -> tuple[Eval, ...]:
    """The eval of a task, or those of a dataset or a registry."""
    from demeanor.plugins.harbor.format.dataset import read_dataset, read_registry
    from demeanor.plugins.harbor.format.task_folder import read_task_folder

    if path.name == REGISTRY and path.is_file():
        return read_registry(path)
    folder = path.parent if path.is_file() else path
    if path.name == DATASET or not looks_like_task(folder):
        return read_dataset(folder / DATASET)
    return (read_task_folder(folder),)
