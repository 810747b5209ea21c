"""`demeanor doctor`, the parts that need no sandbox."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from demeanor.commands.doctor.command import _cluster
from demeanor.config.config import Config
from demeanor.core.installation import install_extra
from demeanor.core.values.executor_spec import ExecutorSpec


def missing(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_the_extra_for_clusters_is_only_missed_if_a_cluster_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it is optional; the remedy is the same."""
    here, cluster = Config(root=Path()), Config(root=Path(), executor=ExecutorSpec(workers=2))
    assert _cluster(here).state == "ok"
    assert "distributed 20" in _cluster(cluster).detail
    assert "demeanor cluster check" in _cluster(cluster).remedy
    monkeypatch.setattr(metadata, "version", missing)
    assert (_cluster(here).state, _cluster(cluster).state) == ("ok", "broken")
    assert _cluster(here).remedy == _cluster(cluster).remedy == install_extra("cluster")
