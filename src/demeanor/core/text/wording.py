"""Make untrusted text safe to show: everything that an agent prints or writes may be hostile."""

from __future__ import annotations

import re
from collections.abc import Callable

_MARGIN = 4096
"""How much more than is shown of a line is searched for secrets."""

_NEIGHBOURS = 40
"""How many lines before and after those shown are searched for secrets."""

_MOST_SLUG = 80

_redact: Callable[[str], str] = str

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


def redact_before_shortening(redact: Callable[[str], str]) -> None:
    """Remove secrets with `redact` before text is shortened, in this process and in those that are forked from it: the
    rest of a secret that was cut in two can't be recognised.
    """
    global _redact  # noqa: PLW0603 - text is shortened in many places, none of which may be forgotten
    _redact = redact


def without_secrets(text: str) -> str:
    """`text` as it is to be shortened."""
    return _redact(text)


def shortened(text: str, width: int, *, end: str = "…") -> str:
    """The beginning of `text`, at most `width` characters with `end`; without secrets if something is cut off."""
    if len(text) <= width:
        return text
    clean = without_secrets(text[: width + _MARGIN])
    if len(clean) <= width and len(text) <= width + _MARGIN:
        return clean
    return clean[: width - len(end)] + end


def shortened_to_end(text: str, width: int) -> str:
    """The end of `text`, at most `width` characters with `…`; without secrets if something is cut off."""
    if len(text) <= width:
        return text
    clean = without_secrets(text[-width - _MARGIN :])
    if len(clean) <= width and len(text) <= width + _MARGIN:
        return clean
    return "…" + clean[len(clean) - width + 1 :]


def one_line(text: str, *, width: int = 100) -> str:
    """`text` on one line of at most `width` characters, for a table cell or a call chain."""
    flat = " ".join(printable(text).split())
    if len(flat) <= width:
        return flat
    beginning = text[: width + _MARGIN]  # what follows is cut off, unless there is much white space
    clean = without_secrets(beginning if len(" ".join(beginning.split())) > width + _MARGIN // 2 else text)
    flat = " ".join(printable(clean).split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def excerpt(text: str, *, lines: int = 20, width: int = 200) -> str:
    """The last `lines` lines of `text`, each cut at `width`, saying how much was left out."""
    kept = printable(text).splitlines()
    left_out = max(0, len(kept) - lines)
    return "\n".join(([f"… {count(left_out, 'line')} left out"] if left_out else []) + _cut(kept, -lines, width))


def opening(text: str, *, lines: int = 20, width: int = 200) -> str:
    """The first `lines` lines of `text`, each cut at `width`, saying how much was left out."""
    kept = printable(text).expandtabs(4).splitlines()
    left_out = max(0, len(kept) - lines)
    return "\n".join(_cut(kept, lines, width) + ([f"… {count(left_out, 'line')} left out"] if left_out else []))


def count(number: int, noun: str) -> str:
    """`1 eval`, `2 evals`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def all_of(number: int, noun: str) -> str:
    """`the only eval`, `both evals`, `all 3 evals`."""
    if number == 2:
        return f"both {noun}s"
    return f"the only {noun}" if number == 1 else f"all {count(number, noun)}"


def slug(name: str) -> str:
    """`name` as a safe path component of at most 80 characters: never empty, `.` or `..`.

    A name of other than ASCII characters, or one that has to be cut, ends in a hash, so that similar names differ.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    if name.isascii() and len(safe) <= _MOST_SLUG:
        return safe or "unnamed"
    import hashlib  # takes longer to import than everything else here

    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe[: _MOST_SLUG - 9]}-{digest}".lstrip("-.")


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _cut(lines: list[str], number: int, width: int) -> list[str]:
    """The first `number` lines, or the last ones if it is negative, each cut at `width`, without secrets.

    The lines next to them are searched too, since a secret may continue there.
    """
    first, last = (0, number) if number >= 0 else (max(0, len(lines) + number), len(lines))
    kept = lines[first:last]
    if len(kept) == len(lines) and all(len(line) <= width for line in lines):
        return lines
    before, after = lines[max(0, first - _NEIGHBOURS) : first], lines[last : last + _NEIGHBOURS]
    whole = [line[: width + _MARGIN] for line in (*before, *kept, *after)]
    clean = without_secrets("\n".join(whole)).split("\n")
    if len(clean) == len(whole):
        kept = clean[len(before) : len(before) + len(kept)]
    else:  # a secret of several lines became one mark
        kept = clean[:number] if number >= 0 else clean[number:]
    return [line if len(line) <= width else line[: width - 1] + "…" for line in kept]
