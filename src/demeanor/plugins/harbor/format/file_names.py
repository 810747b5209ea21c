"""The files by which tasks, and lists of tasks, are recognised."""

from __future__ import annotations

from pathlib import Path

TASK = "task.toml"
DATASET = "dataset.toml"
REGISTRY = "registry.json"


def looks_like_task(folder: Path) -> bool:
    """Whether a folder is a task, perhaps an incomplete one, for which reading gives an error."""
    if (folder / TASK).is_file():
        return True
    parts = (folder / "instruction.md").is_file(), (folder / "environment").is_dir(), (folder / "tests").is_dir()
    return all(parts)
