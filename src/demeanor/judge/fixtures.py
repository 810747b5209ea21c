"""pytest's fixtures in checks: `def check(rig, result, tmp_path_factory)`.

Checks run in processes of their own, under every command (see check_server.py). So each of these processes has a pytest
session of its own, which is created when a check with fixtures is first asked there. Session fixtures live as long as
the process, module fixtures until it is asked about another file, and function fixtures for one check.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from demeanor.core.text.wording import one_line
from demeanor.core.values.checks import FunctionCheck
from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause

if TYPE_CHECKING:
    from demeanor.judge.fixture_session import FixtureSession


@contextlib.contextmanager
def fixture_values(check: FunctionCheck) -> Iterator[dict[str, Any]]:
    """The values of the fixtures that a check takes. A fixture that fails says nothing about the agent: WorldError."""
    if not check.fixtures:
        yield {}
        return
    with _failures("could not be set up"):
        session = _session(check)
        try:
            values = session.set_up(check)
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one to report
                session.tear_down(check)
            raise
    try:
        yield values
    finally:
        with _failures("could not be torn down"):
            session.tear_down(check)


def missing_fixture(check: FunctionCheck) -> str | None:
    """The first fixture that a check takes and that pytest does not know; None if it knows all of them."""
    if not check.fixtures:
        return None
    with _failures("could not be found"):
        return _session(check).missing(check)


def close_fixtures() -> None:
    """Tear down the fixtures of this process."""
    while _OPEN:
        session = _OPEN.pop()
        if session.process == os.getpid():
            with _failures("could not be torn down"):
                session.close()


_OPEN: list[FixtureSession] = []
"""The session of this process, or of the one which forked it; empty before the first check with fixtures."""


def _session(check: FunctionCheck) -> FixtureSession:
    from demeanor.judge.fixture_session import FixtureSession, file_of

    if _OPEN and _OPEN[0].process != os.getpid():
        _OPEN.clear()
    if not _OPEN:
        _OPEN.append(FixtureSession(file_of(check)))
    return _OPEN[0]


@contextlib.contextmanager
def _failures(what: str) -> Iterator[None]:
    try:
        yield
    except (WorldError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a fixture may raise anything, also pytest's own outcomes
        name = getattr(error, "argname", None)
        reason = f"pytest knows no fixture {name!r}" if name else f"{type(error).__name__}: {one_line(str(error))}"
        raise WorldError(VoidCause.CHECK, f"a fixture of the check {what}: {reason}") from error
