"""Call an author's check function and interpret what it raises: an answer or a crash."""

from __future__ import annotations

import asyncio
import gc
import inspect
import linecache
import re
import sys
import threading
import traceback
import warnings
from collections.abc import Awaitable, Iterator, Mapping
from concurrent.futures.thread import _threads_queues
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from demeanor.core.text.wording import excerpt, one_line, printable
from demeanor.core.values.checks import CheckFunction
from demeanor.core.values.errors import nearest
from demeanor.judge.call_set import AskedCalls, last_asked
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


# Turn a failing assert about calls into a sentence: pytest explains it with one line per step of the expression.

_TRUTH = re.compile(r"assert (not )?<calls\b.*>$")
_SUB_AGENTS = re.compile(r"assert (not )?<sub-agents: (\d+)\b.*>$")
_ORDER = re.compile(r" \+ +where +(?:True|False) = in_order\(")
_COUNT = re.compile(r" \+ +where +(\S+) = (?:count\(\)|len\(<calls\b.*>\))$")
_IN_ONE_TURN = re.compile(r" \+ +where +(\S+) = most_in_one_turn\(\)$")
_OPINION = re.compile(r"assert (?:not )?<judge (.*)>$")
_NUMBER = re.compile(r"assert (\S+(?: (?:or|to) \w+)?) (==|!=|<=|>=|<|>) (\S+)$")
_STEP = re.compile(r" \+ +(?:where|and) +(.*)$")
_OF_VIEW = re.compile(r"(\w+) = (<calls\b.*>)\.\1$")
_SKIPPED = re.compile(r"<calls\b.*> = ")
_WORDS = {
    "==": "exactly",
    "!=": "a number other than",
    "<=": "at most",
    ">=": "at least",
    "<": "fewer than",
    ">": "more than",
}


def assert_sentence(message: str, asked: AskedCalls | None) -> str:
    """The message with the assert as a sentence; `asked` is the view that was asked last."""
    lines = message.splitlines()
    at = next((number for number, line in enumerate(lines) if line.startswith("assert ")), None)
    if at is None:
        return message
    before, first, after = lines[:at], lines[at], lines[at + 1 :]
    steps = [line for line in after if _STEP.match(line)]
    if opinion := _OPINION.match(first):
        return "\n".join([*before, opinion[1], *(line for line in after if line not in steps)])
    if agents := _SUB_AGENTS.match(first):
        stated = f"expected no sub-agents, found {agents[2]}" if agents[1] else "expected sub-agents, found none"
        return "\n".join([*before, stated, *(line for line in after if line not in steps)])
    sentence = _sentence(first, steps, asked) if asked is not None else None
    if sentence is None:
        return "\n".join([*before, first, *_shortened(after)])
    return "\n".join([*before, sentence, *(line for line in after if line not in steps)])


def _sentence(first: str, steps: list[str], asked: AskedCalls) -> str | None:
    if truth := _TRUTH.match(first):
        if truth[1]:
            return f"expected no {asked.title}, found {asked.number}: {asked.members}"
        return f"expected {asked.title}, found none"
    if first in ("assert False", "assert not True") and steps and _ORDER.match(steps[0]):
        listed = f": {asked.members}" if asked.members != "none" else " none"
        return f"expected {'no ' if 'not' in first else ''}{asked.title}, in this order; found{listed}"
    number = _NUMBER.match(first)
    in_one_turn = _IN_ONE_TURN.match(steps[0]) if number and steps else None
    step = in_one_turn or (_COUNT.match(steps[0]) if number and steps else None)
    if number is None or step is None or step[1] != number[1]:
        return None
    title = asked.title.replace("calls", "call", 1) if number[3] == "1" else asked.title
    if in_one_turn:
        title += " in one turn"
    others = f"{number[1]}: {asked.members}" if asked.members != "none" else "none"
    return f"expected {_WORDS[number[2]]} {number[3]} {title}, found {others}"


def _shortened(lines: list[str]) -> list[str]:
    """The explanation without the steps that only say how a view was made."""
    kept: list[str] = []
    for line in lines:
        step = _STEP.match(line)
        method = _OF_VIEW.match(step[1]) if step else None
        if method and kept and kept[-1].rpartition(" = ")[2].startswith(f"{method[1]}("):
            kept[-1] += f" of {method[2]}"
        elif not step or (not method and not _SKIPPED.match(step[1])):
            kept.append(line)
    return kept


# Errors of a check that could not make it fail: in a thread, in a task, or in a coroutine that nothing awaits.

_NOT_AWAITED = "coroutine '.*' was never awaited"


@contextmanager
def background_errors() -> Iterator[None]:
    """Raise the first error of a thread or task of the block, or TypeError if a coroutine of it was never awaited.

    Threads that the block started and did not join are waited for, as Python does before it exits.
    """
    errors: list[BaseException] = []
    before, threads = threading.excepthook, set(threading.enumerate())

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            errors.append(args.exc_value)

    threading.excepthook = in_thread
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("always", message=_NOT_AWAITED, category=RuntimeWarning)
            _collect_warnings(errors)
            yield
            _join(threads)
    finally:
        threading.excepthook = before
    if errors:
        raise errors[0]


def _join(older: set[threading.Thread]) -> None:
    """Wait for all threads but the `older` ones. Daemons are not waited for, nor are threads of an executor, which wait
    for more work until they are told to end."""
    for thread in set(threading.enumerate()) - older:
        if not thread.daemon and thread not in _threads_queues:
            thread.join()


def _collect_warnings(errors: list[BaseException]) -> None:
    """Turn warnings about coroutines into errors; others are shown as before. `catch_warnings` undoes it."""
    show = warnings.showwarning

    def collect(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        text = str(message)
        if category is RuntimeWarning and text.startswith("coroutine ") and "was never awaited" in text:
            errors.append(TypeError(f"{text.splitlines()[0]}, so nothing in it was run: write `await`"))
        else:
            show(message, category, *rest, **more)

    warnings.showwarning = collect


def run_to_the_end(awaitable: Awaitable[Any]) -> Any:
    """The result of an awaitable; raises the error of a task that it started and never awaited, or TypeError if such a
    task has not ended."""
    errors: list[BaseException] = []

    async def finish() -> Any:
        asyncio.get_running_loop().set_exception_handler(collect)
        result = await awaitable
        await asyncio.sleep(0)  # tasks that were just started or cancelled
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            if not task.cancelling():
                name = getattr(task.get_coro(), "__qualname__", task.get_name())
                errors.append(TypeError(f"task {name!r} had not ended when the check did: write `await`, or cancel it"))
        return result

    def collect(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            errors.append(error)
        else:
            loop.default_exception_handler(context)

    result = asyncio.run(finish())
    gc.collect()  # a task reports its error when it is deleted
    if errors:
        raise errors[0]
    return result
