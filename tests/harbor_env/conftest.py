"""One lab per module: a run of Harbor costs seconds, so several tasks share one."""

from __future__ import annotations

import pytest

from tests.harbor_env.lab import HarborLab, harbor


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> HarborLab:
    """A fresh lab; skipped, loudly, where there is no Harbor."""
    harbor()
    return HarborLab(tmp_path_factory.mktemp("harbor"))
