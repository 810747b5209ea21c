"""Replaces what differs between trials and machines in a prompt: paths of sandbox and agent, dates and ids."""

from __future__ import annotations

import re
from collections.abc import Mapping

_DATES = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b"
    r"|\b\d{1,2}/\d{1,2}/\d{4}\b"
    r"|\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r" \d{1,2}(?:st|nd|rd|th)?,? \d{4}\b"
)
_IDS = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)


def with_placeholders(text: str, facts: Mapping[str, str]) -> str:
    """The text with placeholders for `workspace`, `home` and `agent` of the facts, for dates and for ids."""
    for name in ("workspace", "home", "agent"):
        if facts.get(name):
            text = text.replace(facts[name], f"<{name}>")
            as_folder = re.sub(r"[^A-Za-z0-9]", "-", facts[name])  # agents name folders after it
            text = text.replace(as_folder, f"<{name}>")
    return _IDS.sub("<id>", _DATES.sub("<date>", text))
