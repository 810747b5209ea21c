"""What differs from run to run, made the same: times, hashes, run ids, commits, paths, versions.

A replacement is as long as what it stands for wherever a table or a line break could depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_STAMP = re.compile(r"(?<!\d)20\d\d-\d\d-\d\d([T ])\d\d:\d\d(:\d\d)?(\.\d+)?")
_DAY = re.compile(r"(?<!\d)20\d\d-\d\d-\d\d(?!T)")
_MONTH_AND_DAY = re.compile(r"(?<![\w–-])[01]\d-[0-3]\d(?![\w–-])")
_CLOCK = re.compile(r"(?<=01-01 )\d\d(:|&#58;)\d\d(?!:)")
_DURATION = re.compile(r"(?<![\w.])([+-]|&#43;)?\d+(\.|&#46;)(\d+)(?= ?s\b)")
_WHOLE_SECONDS = re.compile(
    r"(?<![\w.])(?:\d+ min )?\d\d? s(?= (?:of )?(?:wall|agent) time)|(?<= ) \d\d s\b(?! (?:wall|agent) time)"
    r"|(?<=[|] )(?:\d+ min )?\d\d? s(?= [|])|(?<=>)(?:\d+ min )?\d\d? s(?=<)"
    r"|(?<=· )(?:\d+ min )?\d\d? s(?= ·)"
)
_MILLISECONDS = re.compile(r'("durationMs": ?)\d+')
_COLUMN = re.compile(r"(\+00:00,)\d+\.\d+(?=,)")
_DIFFERENCE = re.compile(r'"seconds": ?\{.*?\}', re.S)
_FLOAT = re.compile(r"-?\d+\.\d{3,}(?:e-\d+)?")
_CUT = re.compile(r'(seconds\\*": 0\.0)[^\n…]{0,20}?(…|\\u2026)')
_SEED = re.compile(r'("seed": ?)\d{6,}')
_SECONDS = re.compile(r'((?:seconds|at|took|time)\\?"?(?:: ?|=\\?"))\d+(?:\.\d+)?(?:e-\d+)?')
_HASH = re.compile(r"(?<![\w.])[0-9a-f]{12,64}(?!\w)")
_FILES = re.compile(r"(?<=\w{12}\.)[0-9a-f]{12}(?!\w)")
_SHEET = re.compile(r"sha256-[\w+/]+=*")
_PORT = re.compile(r"127\.0\.0\.1:\d+")
_OFFSETS = re.compile(r'("capture": ?\[)\s*\d+,\s*\d+\s*(\])')
_BYTES = re.compile(r"(?<=### stdout \()\d+(?= bytes)")
_LETTERS = "ghijklmnopqrstuvwxyz"


def label(number: int, length: int) -> str:
    """A word of that length that is no hash, another one for each number."""
    word = _LETTERS[number % 20] + (_LETTERS[number // 20].upper() if number >= 20 else "")
    return (word * length)[:length]


def normalise(text: str, known: Mapping[str, str] | None = None) -> str:
    """The text with everything that varies made the same; `known` holds what the caller knows to vary."""
    for old in sorted(known or {}, key=len, reverse=True):
        text = text.replace(old, (known or {})[old])
    text = _STAMP.sub(lambda m: f"2000-01-01{m[1]}00:00" + (":00" if m[2] else "") + (".000" if m[3] else ""), text)
    text = _DAY.sub("2000-01-01", text)
    text = _MONTH_AND_DAY.sub("01-01", text)
    text = _CLOCK.sub(r"00\g<1>00", text)
    text = _DURATION.sub(lambda m: f"{'±' if m[1] else ''}0{m[2]}{'0' * len(m[3])}", text)
    text = _WHOLE_SECONDS.sub("0.0 s", text)
    text = _DIFFERENCE.sub(lambda m: _FLOAT.sub("0.0", m[0]), text)
    text = _SECONDS.sub(r"\g<1>0.0", text)
    text = _CUT.sub(r"\1\2", text)
    text = _MILLISECONDS.sub(r"\g<1>0", text)
    text = _COLUMN.sub(r"\g<1>0.0", text)
    text = _SEED.sub(r"\g<1>0", text)
    text = _FILES.sub("f" * 12, text)
    text = _PORT.sub("127.0.0.1:0", text)
    text = _SHEET.sub("sha256-", text)
    text = _BYTES.sub("0", text)
    text = _OFFSETS.sub(r"\g<1>0, 0\2", text)
    hashes: dict[str, str] = {}
    return _HASH.sub(lambda m: hashes.setdefault(m[0], label(len(hashes), len(m[0]))), text)


def shape(value: Any) -> Any:
    """The keys and types of a JSON value: for records whose values say too much about the machine."""
    if isinstance(value, dict):
        return {key: shape(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        found = [shape(one) for one in value]
        return [one for place, one in enumerate(found) if one not in found[:place]]
    return type(value).__name__
