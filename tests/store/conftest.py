"""The history on both kinds of database: a test that asks for `place` runs once on each."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.store.history import SqlHistory, open_history
from tests.store.postgres_server import postgres_server

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server."""
    with postgres_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty history."""
    if request.param == "sqlite":
        return str(tmp_path / "demeanor.db")
    address: str = request.getfixturevalue("postgres")
    return f"{address}&schema=test_{os.getpid()}_{next(_NUMBERS)}"


@pytest.fixture
def history(place: str) -> Iterator[SqlHistory]:
    """An empty history."""
    found = open_history(place)
    yield found
    found.close()
