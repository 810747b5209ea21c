"""Regular expressions of a user on text that an agent wrote, with a limit on their time.

Python's engine can take exponential time and can't be interrupted: `(a+)+$` on forty letters does not end. The `regex`
package has the same syntax and can be given a limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import regex

_LONGEST = 1.0
"""Seconds of CPU time that a search may take."""


class PatternTooSlow(Exception):
    """A pattern took too long on a text. It is not tried again in this process."""

    def __init__(self, pattern: str, seconds: float) -> None:
        super().__init__(
            f"the regular expression {pattern!r} takes more than {seconds:g} s on a text;"
            " write it without repetitions inside of repetitions, such as (a+)+"
        )


class LimitedPattern:
    """A regular expression whose searches end, each after `seconds` of CPU time. Raises re.error if it is not valid."""

    def __init__(self, pattern: str, flags: int = 0, *, seconds: float = _LONGEST) -> None:
        checked = re.compile(pattern, flags)  # `regex` accepts more, which would then be our syntax for ever
        self._compiled = regex.compile(pattern, checked.flags & (re.I | re.M | re.S | re.X | re.A))
        self._seconds = seconds
        self._too_slow = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its groups."""
        return tuple(self._compiled.groupindex)

    def search(self, text: str) -> regex.Match[str] | None:
        """The first match; None if there is none."""
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[regex.Match[str]]:
        """All matches."""
        self._refuse_slow()
        try:
            yield from self._compiled.finditer(text, timeout=self._seconds)
        except TimeoutError:
            self._too_slow = True
            self._refuse_slow()

    def sub(self, replacement: str, text: str) -> str:
        """The text with all matches replaced."""
        self._refuse_slow()
        try:
            return self._compiled.sub(replacement, text, timeout=self._seconds)
        except TimeoutError:
            self._too_slow = True
            raise PatternTooSlow(self._compiled.pattern, self._seconds) from None

    def _refuse_slow(self) -> None:
        if self._too_slow:
            raise PatternTooSlow(self._compiled.pattern, self._seconds)
