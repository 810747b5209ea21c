"""Mechanical edits of an instruction: its negation, and a shorter form of it.

They follow fixed rules of English, not its meaning: a negation removes the first `do not`, `never` or `not`; without
one, it turns the first `always`, `must`, `should`, `may` or `can`; without these, it puts `Do not` before the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARKER = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?")
_NEGATIONS = (
    (re.compile(r"\b(?:do not|don't|never)\s+(?=\w)", re.IGNORECASE), ""),
    (re.compile(r"\b(must|should|may|can|will|is|are)(?:\s+not|n't)\b", re.IGNORECASE), r"\1"),
    (re.compile(r"\b(can)(?:not|'t)\b", re.IGNORECASE), r"\1"),
)
_DEMANDS = (
    (re.compile(r"\balways\b", re.IGNORECASE), "never"),
    (re.compile(r"\b(must|should|may|can)\b", re.IGNORECASE), r"\1 not"),
)
_END = re.compile(r"[.!?](?=\s)|\n\s*\n")
_CLAUSE = re.compile(r"[,;:]\s|\s[–—-]\s")


def negated(text: str) -> str:
    """The opposite instruction. A list marker stays; only the first sentence is turned."""
    lead = _MARKER.match(text)
    start = lead.end() if lead else 0
    body = text[start:]
    end = _first_end(body)
    sentence, rest = body[:end], body[end:]
    turned = _matches(_NEGATIONS, sentence) or _matches(_DEMANDS, sentence)
    if not turned:
        return f"{text[:start]}Do not {_lower(sentence)}{rest}"
    match, new = min(turned, key=lambda pair: pair[0].start())
    result = sentence[: match.start()] + match.expand(new) + sentence[match.end() :]
    if sentence[:1].isupper():
        result = result[:1].upper() + result[1:]
    return text[:start] + result + rest


def _matches(rules: Sequence[tuple[re.Pattern[str], str]], text: str) -> list[tuple[re.Match[str], str]]:
    return [(match, new) for rule, new in rules if (match := rule.search(text))]


def shortened(text: str) -> str:
    """Its first sentence; of a single sentence, what comes before the first comma, semicolon, colon or dash. A text
    that has none of these stays as it is."""
    body = text.strip()
    end = _first_end(body)
    if end < len(body):
        return body[:end]
    match = _CLAUSE.search(body)
    return f"{body[: match.start()].rstrip()}." if match and match.start() > 0 else text


def _first_end(text: str) -> int:
    match = _END.search(text)
    if not match:
        return len(text)
    return match.end() if text[match.start()] in ".!?" else match.start()


def _lower(text: str) -> str:
    """The text with a small first letter, unless it begins with a name in capitals."""
    return text if text[:2].isalpha() and text[:2].isupper() else text[:1].lower() + text[1:]
