"""Paths of the command line that will be written: refused at once if they can't be, and not after hours of work."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def new_file(text: str) -> Path:
    """A file that can be written, in a folder that need not exist yet, for argparse."""
    return _checked(Path(text), file_problem(Path(text)))


def new_folder(text: str) -> Path:
    """A folder in which files can be created, for argparse; it need not exist yet."""
    return _checked(Path(text), folder_problem(Path(text)))


def _checked(path: Path, problem: str | None) -> Path:
    if problem is not None:
        raise argparse.ArgumentTypeError(problem)
    return path


def file_problem(path: Path) -> str | None:
    """Why a file can't be written; None if it can."""
    if path.is_dir():
        return f"{path} is a folder; name a file"
    writable = os.access(path, os.W_OK) if _exists(path) else can_be_written(path.parent)
    return None if writable else f"{path} can't be written; name a file in a folder that you can write to"


def folder_problem(path: Path) -> str | None:
    """Why no file can be created in a folder; None if it can."""
    if _exists(path) and not path.is_dir():
        return f"{path} is not a folder"
    return None if can_be_written(path) else f"{path} can't be written; name a folder that you can write to"


def can_be_written(folder: Path) -> bool:
    """Whether files can be created in a folder, which need not exist yet."""
    existing = next(path for path in (folder, *folder.absolute().parents) if _exists(path))
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
