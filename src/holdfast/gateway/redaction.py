"""Taking a key out of whatever comes by. What replaces it is as long as itself, so that lengths stay true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")
_MARK = "*"


def redacted(value: T, secret: str) -> T:
    """A value of texts, lists, tables and dataclasses, in which `secret` stands nowhere."""
    found: Any = value
    if not secret:
        return value
    if isinstance(value, str):
        found = value.replace(secret, _MARK * len(secret))
    elif isinstance(value, Mapping):
        found = {redacted(key, secret): redacted(item, secret) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        found = type(value)(redacted(item, secret) for item in value)
    elif is_dataclass(value) and not isinstance(value, type):
        changed = {field.name: redacted(getattr(value, field.name), secret) for field in fields(value)}
        found = replace(value, **changed)
    return found  # type: ignore[no-any-return]


class Redactor:
    """Takes a key out of a stream of bytes, also where it is torn between two chunks."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._mark = _MARK.encode() * len(self._secret)
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can go on; the end of a chunk is held back where it could be the beginning of the key."""
        if not self._secret:
            return chunk
        chunk = (self._held + chunk).replace(self._secret, self._mark)
        longest = min(len(self._secret) - 1, len(chunk))
        size = next((size for size in range(longest, 0, -1) if self._secret.startswith(chunk[-size:])), 0)
        self._held = chunk[len(chunk) - size :]
        return chunk[: len(chunk) - size]

    def close(self) -> bytes:
        """What was held back and is no key after all."""
        held, self._held = self._held, b""
        return held
