"""Regular expressions that are compiled when they are first used.

A run imports some 150 of them and needs few; compiling one takes a quarter of a millisecond.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """Compiled at the first access to an attribute; methods of the compiled one then become its own."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression for module constants: it has the usual methods, but functions of `re` do not take it,
    and `match.re` is another object."""
    return cast("re.Pattern[str]", _LazyPattern(text, int(flags)))
