"""An author's function, asked: what it raises is an answer, or a crash with the lines that led to it."""

from __future__ import annotations

import asyncio
import inspect
import linecache
import sys
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

from demeanor.core.checks import CheckFunction
from demeanor.core.text import excerpt, one_line, printable
from demeanor.judge.rig import Rig

_NOT_THE_AUTHORS = (str(Path(__file__).parents[1]), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))


def ask_function(function: CheckFunction, rig: Rig) -> None:
    """Call `function(rig, result)`, and wait for it where it is async. Not to be called from a running event loop."""
    found = function(rig, rig.final_text)
    if inspect.isawaitable(found):
        asyncio.run(_finish(found))
    elif found is False:
        raise AssertionError("the check returned False")


async def _finish(awaitable: object) -> None:
    await awaitable  # type: ignore[misc]


def refutation(error: BaseException) -> str | None:
    """Why the evidence refutes the check, and where it says so; None where the error is no answer but a crash."""
    if isinstance(error, BaseExceptionGroup):
        inner = [refutation(one) for one in error.exceptions]
        return None if None in inner else "\n".join(filter(None, inner))
    if not isinstance(error, AssertionError) and not _is_pytest_failure(error):
        return None
    said = printable("\n".join([str(error), *getattr(error, "__notes__", ())]).strip())
    place = _place(error.__traceback__)
    return "\n".join(part for part in (said, place) if part) or "assertion failed"


def crash(error: BaseException) -> str:
    """What happened, and the author's lines that led to it."""
    lines = [f"{type(error).__name__}: {one_line(str(error), width=300)}"]
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith(_NOT_THE_AUTHORS):
            lines.append(
                f"  at {Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line or ''}".rstrip(": ")
            )
    return excerpt("\n".join(lines), lines=12)


def _is_pytest_failure(error: BaseException) -> bool:
    """Whether it comes from `pytest.fail` or `pytest.raises`, which are no AssertionErrors."""
    outcomes = sys.modules.get("_pytest.outcomes")
    return outcomes is not None and isinstance(error, outcomes.Failed)


def _place(trace: TracebackType | None) -> str:
    """The author's line that said no: the last one that is neither Demeanor's nor a library's; none for data."""
    place = ""
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        if not file.startswith(_NOT_THE_AUTHORS):
            source = linecache.getline(file, line).strip()
            place = f"  at {Path(file).name}:{line}" + (f": {one_line(source)}" if source else "")
    return place
