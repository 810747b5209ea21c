"""File requests of an agent. Only files inside the workspace are served, whatever `..` and symbolic links say."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_MAX_BYTES = 16 * 2**20
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

NOT_FOUND = -32002
BAD_PARAMS = -32602
FAILED = -32603


class PathRefused(Exception):
    """A file request is refused; `code` is the JSON-RPC error code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_text(workspace: str, params: Mapping[str, Any]) -> str:
    """The text of a file, or some of its lines: `line` is the first, counted from 1, `limit` their number."""
    handle = _open(_resolve(workspace, params), os.O_RDONLY)
    try:
        _require_regular_file(handle)
        content = b""
        while len(content) <= _MAX_BYTES and (piece := os.read(handle, 2**20)):
            content += piece
    finally:
        os.close(handle)
    if len(content) > _MAX_BYTES:
        raise PathRefused(FAILED, "the file is too large")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise PathRefused(FAILED, "the file is not text") from None
    first, limit = _positive(params.get("line"), 1), _positive(params.get("limit"), None)
    if first == 1 and limit is None:
        return text
    lines = text.splitlines(keepends=True)[(first or 1) - 1 :]
    return "".join(lines if limit is None else lines[:limit])


def write_text(workspace: str, params: Mapping[str, Any]) -> None:
    """Write a file, and create missing folders."""
    path = _resolve(workspace, params)
    content = params.get("content")
    if not isinstance(content, str):
        raise PathRefused(BAD_PARAMS, "content is not a string")
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PathRefused(FAILED, f"the folder can't be created: {error.strerror}") from None
    handle = _open(path, os.O_WRONLY | os.O_CREAT)
    try:
        _require_regular_file(handle)
        os.ftruncate(handle, 0)
        left = content.encode("utf-8", "replace")
        while left:
            left = left[os.write(handle, left) :]
    except OSError as error:
        raise PathRefused(FAILED, f"the file can't be written: {error.strerror}") from None
    finally:
        os.close(handle)


def _resolve(workspace: str, params: Mapping[str, Any]) -> str:
    path = params.get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise PathRefused(BAD_PARAMS, "path is not a path")
    root = os.path.realpath(workspace)
    target = os.path.realpath(Path(root, path))
    if target == root or not target.startswith(root + os.sep):
        raise PathRefused(BAD_PARAMS, f"{path[:200]} is not inside the workspace")
    return target


def _open(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | _FLAGS, 0o666)
    except FileNotFoundError:
        message = "Resource not found (ENOENT: no such file or directory)"  # agents search for this text
        raise PathRefused(NOT_FOUND, message) from None
    except OSError as error:
        raise PathRefused(FAILED, f"the file can't be opened: {error.strerror}") from None


def _require_regular_file(handle: int) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise PathRefused(FAILED, "it is not a regular file")


def _positive(value: Any, default: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
