"""Make untrusted text safe to show: everything that an agent prints or writes may be hostile."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    r"\ud800-\udfff\U000e0000-\U000e0fff]"
)
_ASCII = str.maketrans(
    {
        "…": "...",
        "–": "-",
        "—": "-",
        "−": "-",
        "·": "|",
        "→": "->",
        "≥": ">=",
        "≤": "<=",
        "×": "x",
        "✓": "P",
        "✗": "F",
        "◆": "*",
        "◇": "+",
        "○": "o",
    }
    | dict.fromkeys("‘’‚", "'")
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("\u00a0\u202f\u2007", " ")
)


def printable(text: str) -> str:
    """`text` without terminal escapes; other control, bidirectional and invisible characters become visible escapes."""
    return _CONTROLS.sub(_visible, _ESCAPES.sub("", text.replace("\r\n", "\n")))


def ascii_only(text: str) -> str:
    """`text` for an ASCII-only terminal: common symbols are spelled out, other characters become `?`."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def one_line(text: str, *, width: int = 100) -> str:
    """`text` on one line of at most `width` characters, for a table cell or a call chain."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def excerpt(text: str, *, lines: int = 20, width: int = 200) -> str:
    """The last `lines` lines of `text`, each cut at `width`, saying how much was left out."""
    kept = printable(text).splitlines()
    left_out = max(0, len(kept) - lines)
    return "\n".join(([f"… {count(left_out, 'line')} left out"] if left_out else []) + _cut(kept[left_out:], width))


def opening(text: str, *, lines: int = 20, width: int = 200) -> str:
    """The first `lines` lines of `text`, each cut at `width`, saying how much was left out."""
    kept = printable(text).expandtabs(4).splitlines()
    left_out = max(0, len(kept) - lines)
    return "\n".join(_cut(kept[:lines], width) + ([f"… {count(left_out, 'line')} left out"] if left_out else []))


def count(number: int, noun: str) -> str:
    """`1 eval`, `2 evals`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def all_of(number: int, noun: str) -> str:
    """`the only eval`, `all 2 evals`."""
    return f"the only {noun}" if number == 1 else f"all {count(number, noun)}"


def slug(name: str) -> str:
    """`name` as a safe path component of at most 80 characters: never empty, `.` or `..`."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    return safe[:80] or "unnamed"


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cut(lines: list[str], width: int) -> list[str]:
    return [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
