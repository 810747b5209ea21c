"""The normalisation rules: text that differs between two equivalent runs, and the word that replaces it.

Every date becomes the same word, and so does every time. Tool output varies more than other text, so some rules apply
to tool results only; lines such as `Platform: linux` are replaced in prompts only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.config import LimitedPattern

Scope: TypeAlias = Literal["anywhere", "results", "prose"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NormalisationRule:
    """One kind of volatile text."""

    pattern: re.Pattern[str] | LimitedPattern
    """The pattern of the text."""

    replacement: str
    """The replacement; may refer to groups of the pattern."""

    scope: Scope = "anywhere"
    """Where the rule applies: in tool results, in everything else (prose), or anywhere."""


_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"(?:Mon|Tue(?:s)?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\.?"
_DAY_OF_MONTH = r"\d{1,2}(?:st|nd|rd|th)?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|CES?T|[ECMP][SD]T)\b)?(?: ?[+-]\d\d:?\d\d)?(?: \([A-Za-z ]{3,40}\))?"
_TIME = rf"\d{{1,2}}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\b\.?)?{_ZONE}"
_DATES = (
    rf"(?:{_DAY},? )?\b\d{{4}}-\d\d-\d\d(?:(?:[T ]|, ){_TIME})?(?:,? \(?{_DAY}\b\)?)?",
    rf"(?:{_DAY},? )?\b(?:\d{{4}}/\d{{1,2}}/\d{{1,2}}|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}})\b(?:,? {_TIME})?",
    rf"\b{_DAY} {_MONTH} +{_DAY_OF_MONTH} {_TIME} (?:[A-Z]{{3,4}} )?\d{{4}}\b",
    rf"\b(?:{_DAY},? )?{_MONTH} {_DAY_OF_MONTH},? \d{{4}}\b(?:(?:,| at)? {_TIME})?",
    rf"\b(?:{_DAY},? )?{_DAY_OF_MONTH}[ -]{_MONTH}[ -]\d{{4}}\b(?:,? {_TIME})?",
    rf"\b{_MONTH} {{1,2}}\d{{1,2}} +(?:\d\d:\d\d|\d{{4}})\b",
    rf"\b{_MONTH} \d{{4}}\b",
    r"\b20\d{6}[T_-]?\d{6}Z?\b",
)
_UUID = r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
_KERNEL = r"\b(?:Linux|Darwin|Windows(?:_NT)?|Debian|Ubuntu) \d+\.\d+[\w.+~-]*"
_OS_LINE = r"(?im)^([ \t]*(?:[-*][ \t]*)?(?:platform|os|os version|operating system|kernel|shell|arch|architecture|hostname)[ \t]*:[ \t]*).*$"  # noqa: E501


def _rule(pattern: str, replacement: str, scope: Scope = "anywhere") -> NormalisationRule:
    return NormalisationRule(pattern=re.compile(pattern), replacement=replacement, scope=scope)


RULES = (
    _rule(rf"(?=[0-9JFMASONDTW])(?:{'|'.join(_DATES)})", "<date>"),
    _rule(rf"\b\d{{1,2}}:\d\d(?::\d\d(?:[.,]\d+)?(?: ?[AaPp][Mm]\b)?|(?: ?[AaPp]\.?[Mm]\b\.?)){_ZONE}", "<time>"),
    _rule(_UUID, "<id>"),
    _rule(r"\b(?:ses|session|msg|conv|thread|prt|req|resp|chatcmpl)[_-][A-Za-z0-9]{12,}\b", "<id>"),
    _rule(r"(?<=Chunk ID: )[0-9a-f]+\b", "<id>"),
    _rule(r"\b(127\.0\.0\.1|localhost|\[::1\]):\d+\b(?:/t/[0-9a-f]{16}\b)?", r"\1:<port>"),
    _rule(r"(/(?:var/)?tmp)/(?:tmp[a-z0-9_]{6,10}|tmp\.[A-Za-z0-9]{6,12}|[\w.-]+-[A-Za-z0-9]{6})\b", r"\1/<temp>"),
    _rule(r"(\{\{demeanor:bench\}\}/tmp)/[\w.-]+", r"\1/<temp>"),
    _rule(_KERNEL, "<os>"),
    _rule(_OS_LINE, r"\1<os>", "prose"),
    _rule(r"\b\d+(?:\.\d+)? ?(?:ms|s|secs?|seconds?|milliseconds?)\b", "<duration>", "results"),
    _rule(r"\b(P[GP]?ID:? )\d+\b", r"\1<process>", "results"),
    _rule(r"(?m)^((?:\[\S+ (?:\(root-commit\) )?|commit )?)[0-9a-f]{7,40}(?=[\] ]|$)", r"\1<commit>", "results"),
)


def mask_volatile(result: str) -> str:
    """A tool result with every volatile text replaced."""
    for rule in RULES:
        if rule.scope != "prose":
            result = rule.pattern.sub(rule.replacement, result)
    return result


IGNORED = (
    "stream",
    "extra.*.stream",
    "extra.*.stream_options",
    "extra.*.prompt_cache_key",
    "extra.*.client_metadata",
    "extra.*.metadata.user_id",
    "extra.*.user",
    "extra.*.safety_identifier",
    "messages.*.extra.*.id",
    "messages.*.parts.*.extra.*.id",
)
"""Fields of a request that identify a session, not its content; `*` is one step of a path, `**` any number of steps."""
