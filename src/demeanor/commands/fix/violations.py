"""Why a change that a fixer made is not even tried."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Violation(StrEnum):
    """What a fixer must not do."""

    OUTSIDE = "outside"
    """It changed a file outside of the allowed paths."""

    EVAL = "eval"
    """It changed an eval, and was not allowed to; or nothing but evals."""

    CHECKS = "checks"
    """It took something away from an eval: a check, a rehearsal, the eval itself; or it asks for something else now."""

    SELF_TEST = "self-test"
    """An eval that it changed no longer tells good from bad: an agent that does nothing passes, say."""

    SPECIAL_CASE = "special-case"
    """It wrote words of the eval itself into the prompt: a prompt, a file's name, an expected text."""

    SECRET = "secret"  # noqa: S105 - a word, not a secret
    """It wrote something that looks like a key."""

    LINK = "link"
    """It made or changed a link, a device or something else that is no file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """One thing that a fixer did and must not do."""

    foul: Violation
    """What kind of thing."""

    path: str
    """The file it did it to; empty where it is about no file."""

    detail: str
    """What exactly, for a person. Hostile text."""
