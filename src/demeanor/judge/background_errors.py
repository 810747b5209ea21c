"""Errors of a check that could not make it fail: in a thread, in a task, or in a coroutine that nothing awaits."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import Awaitable, Iterator
from concurrent.futures.thread import _threads_queues
from contextlib import contextmanager
from typing import Any

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
