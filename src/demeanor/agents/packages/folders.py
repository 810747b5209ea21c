"""The folders that agents are installed into: the usual one, and those of `agents install --dir`, which are recorded.

The record is `agent-folders.txt` beside the usual folder: one absolute path per line, the newest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from demeanor.core.trees.atomic_file import write_atomically


def agents_folder(environ: Mapping[str, str]) -> Path:
    """The folder to install agents into: DEMEANOR_AGENTS, or a folder in the user's data directory."""
    named = environ.get("DEMEANOR_AGENTS")
    return Path(named) if named else _data_folder(environ) / "agents"


def agents_folders(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The folders to find agents in: DEMEANOR_AGENTS alone, or the usual folder and the recorded ones."""
    usual = agents_folder(environ)
    return (usual,) if environ.get("DEMEANOR_AGENTS") else (usual, *_recorded(environ))


def record_folder(folder: Path, environ: Mapping[str, str]) -> None:
    """Record a folder, so that later commands find the agents in it; raises OSError if that is impossible."""
    record = record_file(environ)
    if folder == record.parent / "agents":
        return
    recorded = dict.fromkeys((folder, *_recorded(environ)))
    record.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(record, "".join(f"{path}\n" for path in recorded))


def record_file(environ: Mapping[str, str]) -> Path:
    """The file that lists the recorded folders."""
    return _data_folder(environ) / "agent-folders.txt"


def _recorded(environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The recorded folders; what is not an absolute path is not one of them."""
    try:
        lines = record_file(environ).read_text("utf-8", "replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(Path(line) for line in lines if line.startswith("/"))


def _data_folder(environ: Mapping[str, str]) -> Path:
    data = environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local/share") / "demeanor"
