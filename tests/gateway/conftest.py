"""Runs `async def` tests of the gateway, each in its own event loop."""

from __future__ import annotations

import asyncio
import inspect

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine function to its end; no task may be left in its loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(_alone(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})))
    return True


async def _alone(test: object) -> None:
    await test  # type: ignore[misc]
    for _ in range(5):
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"the test left tasks behind: {left}"
