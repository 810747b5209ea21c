"""The history on both databases: a test with the fixture `address` runs once on each."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.store.history import SqlHistory, open_history
from tests.helpers.postgres_server import postgres_server

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server."""
    with postgres_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty history."""
    if request.param == "sqlite":
        return str(tmp_path / "demeanor.db")
    url: str = request.getfixturevalue("postgres")
    return f"{url}&schema=test_{os.getpid()}_{next(_NUMBERS)}"


@pytest.fixture
def history(address: str) -> Iterator[SqlHistory]:
    """An empty history."""
    found = open_history(address)
    yield found
    found.close()
