"""Opens the history of a project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from demeanor.config.config import Config
from demeanor.store.history import SqlHistory, history_address, open_history


def open_project_history(
    config: Config, environ: Mapping[str, str], *, results: Path | None = None, reading: bool = True
) -> SqlHistory:
    """The history of the project, wherever it is stored. Opening it only for reading creates no file."""
    return open_history(history_address(config, environ, results), reading=reading)
