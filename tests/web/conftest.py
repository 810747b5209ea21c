"""A server over thirteen nights, shared by all tests of the dashboard that only read."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.helpers.dashboard_server import Dashboard, served, shared_store
from tests.helpers.dashboard_store import DashboardStore


@pytest.fixture(scope="session")
def dashboard_store(tmp_path_factory: pytest.TempPathFactory) -> DashboardStore:
    """Thirteen nights."""
    base = tmp_path_factory.getbasetemp()
    return shared_store(base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base)


@pytest.fixture(scope="session")
def dashboard(dashboard_store: DashboardStore) -> Iterator[Dashboard]:
    """A running server."""
    with served(dashboard_store) as found:
        yield found
