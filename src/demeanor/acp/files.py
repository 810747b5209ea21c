"""Files that an agent asks its client for: those of the workspace, and no others, whatever `..` and links say."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LARGEST = 16 * 2**20
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

NOT_FOUND = -32002
BAD_PARAMS = -32602
FAILED = -32603


class PathRefused(Exception):
    """A file is not given; `code` is JSON-RPC's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_text(workspace: str, params: Mapping[str, Any]) -> str:
    """The text of a file, or some of its lines: `line` is the first of them, from 1 on, `limit` their number."""
    handle = _open(_place(workspace, params), os.O_RDONLY)
    try:
        _must_be_plain(handle)
        content = b""
        while len(content) <= _LARGEST and (piece := os.read(handle, 2**20)):
            content += piece
    finally:
        os.close(handle)
    if len(content) > _LARGEST:
        raise PathRefused(FAILED, "the file is too large")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise PathRefused(FAILED, "the file is no text") from None
    first, most = _whole(params.get("line"), 1), _whole(params.get("limit"), None)
    if first == 1 and most is None:
        return text
    lines = text.splitlines(keepends=True)[(first or 1) - 1 :]
    return "".join(lines if most is None else lines[:most])


def write_text(workspace: str, params: Mapping[str, Any]) -> None:
    """Write a file anew; folders on the way are made."""
    place = _place(workspace, params)
    content = params.get("content")
    if not isinstance(content, str):
        raise PathRefused(BAD_PARAMS, "content is no text")
    try:
        Path(place).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PathRefused(FAILED, f"the folder can't be made: {error.strerror}") from None
    handle = _open(place, os.O_WRONLY | os.O_CREAT)
    try:
        _must_be_plain(handle)
        os.ftruncate(handle, 0)
        left = content.encode("utf-8", "replace")
        while left:
            left = left[os.write(handle, left) :]
    except OSError as error:
        raise PathRefused(FAILED, f"the file can't be written: {error.strerror}") from None
    finally:
        os.close(handle)


def _place(workspace: str, params: Mapping[str, Any]) -> str:
    path = params.get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise PathRefused(BAD_PARAMS, "path is no path")
    root = os.path.realpath(workspace)
    place = os.path.realpath(Path(root, path))
    if place == root or not place.startswith(root + os.sep):
        raise PathRefused(BAD_PARAMS, f"{path[:200]} is not inside of the workspace")
    return place


def _open(place: str, how: int) -> int:
    try:
        return os.open(place, how | _FLAGS, 0o666)
    except FileNotFoundError:
        raise PathRefused(
            NOT_FOUND, "Resource not found (ENOENT: no such file or directory)"
        ) from None  # agents look for it
    except OSError as error:
        raise PathRefused(FAILED, f"the file can't be opened: {error.strerror}") from None


def _must_be_plain(handle: int) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise PathRefused(FAILED, "it is no plain file")


def _whole(value: Any, default: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
