"""Making untrusted text safe to show: everything that an agent prints or writes is hostile."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """`text` without terminal escapes; other control and direction characters become visible escapes."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str, *, width: int = 100) -> str:
    """`text` on one line of at most `width` characters, fit for a table cell or a call chain."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def excerpt(text: str, *, lines: int = 20, width: int = 200) -> str:
    """The last `lines` lines of `text`, each cut at `width`, saying how much was left out."""
    kept = printable(text).splitlines()
    left_out = max(0, len(kept) - lines)
    shown = [line if len(line) <= width else line[: width - 1] + "…" for line in kept[left_out:]]
    return "\n".join(([f"… {left_out} lines left out"] if left_out else []) + shown)


def slug(name: str) -> str:
    """`name` as one safe path component: readable, never empty, `.` or `..`, and at most 80 characters."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    return safe[:80] or "unnamed"
