"""Call an author's check function and interpret what it raises: an answer or a crash."""

from __future__ import annotations

import inspect
import linecache
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from demeanor.core.text.wording import excerpt, one_line, printable
from demeanor.core.values.checks import CheckFunction
from demeanor.core.values.errors import nearest
from demeanor.judge.assert_sentence import assert_sentence
from demeanor.judge.background_errors import background_errors, run_to_the_end
from demeanor.judge.call_set import last_asked
from demeanor.judge.rig import Rig, result_of, unused_opinion


@cache
def _library_paths() -> tuple[str, ...]:
    """Where the code is that an author did not write."""
    import sysconfig  # reads the variables that Python was built with

    return (str(Path(__file__).parents[1]), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))


def ask_function(function: CheckFunction, rig: Rig, arguments: Mapping[str, Any] | None = None) -> None:
    """Call `function(rig, result)` and await it if it is async. Don't call this from a running event loop.

    A returned False is a failure. Any other value but None and True is a mistake: a check that returns a view or a
    match without asserting anything could never fail. Nor could one that does not look at the judge's answer. An error
    in a thread or task of the check counts as its own.
    """
    with background_errors():
        result = function(rig, result_of(rig), **(arguments or {}))
        if inspect.isawaitable(result):
            result = run_to_the_end(result)
    if result is False:
        raise AssertionError("the check returned False")
    if result is not None and result is not True:
        raise TypeError(f"the check returned {_described(result)}: write `assert`, or return True or False")
    if (unused := unused_opinion(rig)) is not None:
        raise TypeError(f"the judge was asked, but its answer is not used: write `assert rig.judge(…)`; {unused}")


def _described(value: object) -> str:
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return "a generator, so nothing in it was run"
    if inspect.iscoroutine(value):
        value.close()
        return "a coroutine that nothing awaits"
    return one_line(repr(value))


def refutation(error: BaseException, rig: Rig) -> str | None:
    """Why the check failed, with the author's line; None if the error is a crash."""
    if isinstance(error, BaseExceptionGroup):
        inner = [refutation(exception, rig) for exception in error.exceptions]
        return None if None in inner else "\n".join(filter(None, inner))
    if not isinstance(error, AssertionError) and not _is_pytest_failure(error):
        return None
    stated = assert_sentence(str(error), last_asked(rig.calls))
    message = printable("\n".join([stated, *getattr(error, "__notes__", ())]).strip())
    place = _place(error.__traceback__)
    return "\n".join(part for part in (message, place) if part) or "assertion failed"


def crash(error: BaseException) -> str:
    """The error with the author's lines of its traceback."""
    head = f"{type(error).__name__}: {one_line(str(error), width=300)}".removesuffix(": ") + _remedy(error)
    places = [
        f"  at {Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line or ''}".rstrip(": ")
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_library_paths())
    ]
    return "\n".join([excerpt(head, lines=1), *([excerpt("\n".join(places), lines=11)] if places else [])])


def _remedy(error: BaseException) -> str:
    """The attribute that an author probably meant, or where to find it, if the object is one of Demeanor's."""
    if not isinstance(error, AttributeError) or error.name is None:
        return ""
    if not type(error.obj).__module__.startswith("demeanor."):
        return ""
    close = nearest(error.name, (name for name in dir(error.obj) if not name.startswith("_")))
    return f", did you mean {close!r}?" if close else "; what checks can ask: demeanor help checks"


def _is_pytest_failure(error: BaseException) -> bool:
    """Whether it comes from `pytest.fail` or `pytest.raises`, which don't raise AssertionError."""
    outcomes = sys.modules.get("_pytest.outcomes")
    return outcomes is not None and isinstance(error, outcomes.Failed)


def _place(trace: TracebackType | None) -> str:
    """The author's line that raised: the last one outside Demeanor and libraries; empty for declared checks."""
    place = ""
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        if not file.startswith(_library_paths()):
            source = linecache.getline(file, line).strip()
            place = f"  at {Path(file).name}:{line}" + (f": {one_line(source)}" if source else "")
    return place
