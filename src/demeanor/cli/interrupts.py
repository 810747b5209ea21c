"""Runs work from the command line: shows progress on standard error and handles Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.core.values.progress import Progress
    from demeanor.core.values.record import Record
    from demeanor.core.values.trial import Plan
    from demeanor.runner import UI

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STOPPING = "\ndemeanor: stopping; finished trials are kept (press Ctrl-C again to force)\n"
_STOPPING_UNKEPT = "\ndemeanor: stopping (press Ctrl-C again to force)\n"


def run_interruptibly(work: Coroutine[Any, Any, Any], *, message: str = _STOPPING) -> bool:
    """Run `work` to its end, or until the first Ctrl-C, SIGTERM or SIGHUP cancels it; True if it was cancelled.

    A second Ctrl-C exits at once. The agents die too: their supervisors notice that the connection is closed. SIGHUP
    comes twice when a terminal is closed, so it never forces; under `nohup` it is ignored.
    """

    async def guarded() -> bool:
        task = asyncio.ensure_future(work)
        presses = _on_signals(task.cancel, message)
        try:
            await task
        except asyncio.CancelledError:
            if not presses:
                raise
            return True
        except BaseExceptionGroup as group:
            raise _first(group) from None
        return False

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        cancelled = asyncio.run(guarded())
    finally:
        for number, handler in before.items():  # the caller may have cleaning up to do
            signal.signal(number, handler)
    if cancelled:
        for number in (signal.SIGINT, signal.SIGHUP):  # everything is stopped; let the report be printed
            signal.signal(number, signal.SIG_IGN)
    return cancelled


def make_ui(*, quiet: bool = False, events: bool = False, kept: bool = True) -> UI:
    """The UI of the command line: progress on standard error, unless `quiet`; with `events`, as lines of JSON. `kept`
    says whether finished trials are kept when it is interrupted."""
    from demeanor.runner import UI

    def progress(plan: Plan, stored: Iterable[Record]) -> AbstractContextManager[Callable[[Progress], None]]:
        if quiet:
            return nullcontext(lambda news: None)
        if events:
            from demeanor.cli.events import event_line

            return nullcontext(lambda news: print(event_line(news), end="", file=sys.stderr, flush=True))
        from demeanor.cli.live import show_progress

        return show_progress(plan, sys.stderr, kept=stored)

    run = run_interruptibly if kept else partial(run_interruptibly, message=_STOPPING_UNKEPT)
    return UI(run=run, progress=progress, log=log)


def log(line: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(f"demeanor: {line}\n")
    sys.stderr.flush()


def _on_signals(cancel: Callable[[], object], message: str) -> list[signal.Signals]:
    presses: list[signal.Signals] = []

    def pressed(number: signal.Signals) -> None:
        if presses and number is not signal.SIGHUP:
            os._exit(ExitCode.INTERRUPTED)
        if not presses:
            presses.append(number)
            sys.stderr.write(message)
            sys.stderr.flush()
            cancel()

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, pressed, number)
    return presses


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group, however deeply nested."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
