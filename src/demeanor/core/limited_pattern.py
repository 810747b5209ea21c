"""Regular expressions of a user on text that an agent wrote, with a limit on their time.

Python's engine can take exponential time: `(a+)+$` on forty letters does not end. It can't be interrupted either, so
such a search is made in a process of its own, which the kernel ends when its CPU time is used up. Searches that can't
take long are made in this process, because they are the usual ones.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from demeanor.core.lazy_dataclass import dataclass

_MOST_STEPS = 20_000_000
"""Searches that take at most this many steps are made in this process: less than a second."""

_PROGRAM = """\
import json, re, signal, sys
for line in sys.stdin.buffer:
    pattern, flags, text, put, seconds = json.loads(line)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    found = re.compile(pattern, flags)
    if put is None:
        answer = [[*match.span(), match.groupdict()] for match in found.finditer(text)]
    else:
        answer = found.sub(put, text)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
"""


class PatternTooSlow(Exception):
    """A pattern took too long on a text. It is not tried again in this process."""

    def __init__(self, pattern: str, seconds: float) -> None:
        super().__init__(
            f"the regular expression {pattern!r} takes more than {seconds:g} s on a text;"
            " write it without repetitions inside of repetitions, such as (a+)+"
        )


@dataclass(frozen=True, slots=True)
class FoundText:
    """One match."""

    start: int
    """Where it begins."""

    end: int
    """Where it ends."""

    groups: dict[str, str | None]
    """The named groups."""


class LimitedPattern:
    """A regular expression whose searches end, each after `seconds` of CPU time. Raises re.error if it is not valid."""

    def __init__(self, pattern: str, flags: int = 0, *, seconds: float = 1.0) -> None:
        self._compiled = re.compile(pattern, flags)
        self._loops = _loops(parser.parse(pattern, flags))
        self._seconds = seconds
        self._too_slow = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its groups."""
        return tuple(self._compiled.groupindex)

    def search(self, text: str) -> FoundText | None:
        """The first match; None if there is none."""
        if self._is_quick(text):
            found = self._compiled.search(text)
            return FoundText(*found.span(), found.groupdict()) if found else None
        return next(self.find_all(text), None)

    def find_all(self, text: str) -> Iterator[FoundText]:
        """All matches."""
        if self._is_quick(text):
            yield from (FoundText(*found.span(), found.groupdict()) for found in self._compiled.finditer(text))
        else:
            yield from (FoundText(*found) for found in self._ask(text, None))

    def sub(self, put: str, text: str) -> str:
        """The text with all matches replaced."""
        return self._compiled.sub(put, text) if self._is_quick(text) else str(self._ask(text, put))

    def _is_quick(self, text: str) -> bool:
        return self._loops is not None and (len(text) + 1) ** (self._loops + 1) <= _MOST_STEPS

    def _ask(self, text: str, put: str | None) -> Any:
        pattern = self._compiled.pattern
        question = [pattern, self._compiled.flags, text, put, self._seconds]
        answer = None if self._too_slow else _process.ask(question)
        if answer is None:
            self._too_slow = True
            raise PatternTooSlow(pattern, self._seconds)
        return answer


def _loops(tree: Any, *, inside: bool = False) -> int | None:
    """The number of repetitions of a parsed pattern; None if one is inside of another, or if it refers to a group."""
    total = 0
    for code, given in tree:
        if code in {codes.GROUPREF, codes.GROUPREF_EXISTS}:
            return None
        repeats = code in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT} and given[1] > 1
        if repeats and inside:
            return None
        for part in _parts(given):
            found = _loops(part, inside=inside or repeats)
            if found is None or (repeats and _branches(part)):
                return None
            total += found
        total += repeats
    return total


def _branches(tree: Any) -> bool:
    """Whether a parsed pattern has alternatives."""
    return any(code is codes.BRANCH or any(map(_branches, _parts(given))) for code, given in tree)


def _parts(given: Any) -> Iterator[Any]:
    """The patterns inside of a part of a parsed pattern."""
    if isinstance(given, parser.SubPattern):
        yield given
    elif isinstance(given, list | tuple):
        for one in given:
            yield from _parts(one)


class _PatternProcess:
    """The process that searches. It ends with this one, because its input ends then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, question: list[Any]) -> Any:
        """The answer; None if the time was used up."""
        with self._lock:
            process = self._started()
            stdin, stdout = process.stdin, process.stdout
            if stdin is None or stdout is None:
                raise RuntimeError("a process was started without its pipes")
            with contextlib.suppress(BrokenPipeError):
                stdin.write(json.dumps(question).encode() + b"\n")
                stdin.flush()
                if line := stdout.readline():
                    return json.loads(line)
            self.close()
            return None

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        with contextlib.suppress(BrokenPipeError):
            process.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid():
            self._owner = os.getpid()
            words = [sys.executable, "-I", "-S", "-c", _PROGRAM]
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={})
        return self._process


_process = _PatternProcess()
atexit.register(_process.close)
