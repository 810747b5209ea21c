"""The executor `cluster`, as far as it needs no cluster: its places, its settings, and what it says of itself."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from demeanor.config import read_config
from demeanor.core.installation import install_extra
from demeanor.core.values.errors import BadInput
from demeanor.plugins.cluster import executor
from demeanor.plugins.cluster.spec import ClusterSpec


def missing(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


def test_the_extra_for_clusters_is_only_missed_if_a_cluster_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it is optional; the remedy is the same."""
    assert executor.status(used=False).state == "ok"
    assert "distributed 20" in executor.status(used=True).detail
    assert "demeanor cluster check" in executor.status(used=True).remedy
    monkeypatch.setattr(metadata, "version", missing)
    assert (executor.status(used=False).state, executor.status(used=True).state) == ("ok", "broken")
    assert executor.status(used=False).remedy == executor.status(used=True).remedy == install_extra("cluster")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("0", "expected 1 to 1000 workers, found 0"),
        ("1001", "expected 1 to 1000 workers, found 1001"),
        ("tls://host", "'tls://host' is not an address with a port"),
        ("tcp://host:8786", "tcp://host:8786 is not an address of TLS"),
    ],
)
def test_a_place_that_can_not_be_is_refused(place: str, message: str) -> None:
    """Places of another kind may be those of another executor."""
    with pytest.raises(ValueError, match=re.escape(message)):
        executor.at(place, None)
    assert executor.at("elsewhere", None) is None
    assert executor.at("host:8786", None) is None


def test_its_settings_are_in_a_table_of_its_own(tmp_path: Path) -> None:
    """Read strictly, also without a place; certificates are relative to the file."""
    file = tmp_path / "demeanor.toml"
    file.write_text('[executor]\non = "4"\n[executor.cluster]\ncerts = "certs"\nbuild = "worker"\nsilence = 10\n')
    settings = ClusterSpec(certs=str(tmp_path / "certs"), build="worker", silence=10.0)
    config = read_config(tmp_path)
    assert config.executors == {"cluster": settings}
    assert config.executor == executor.at("4", settings)
    file.write_text("[executor.cluster]\nslot = 2\n")
    with pytest.raises(BadInput, match=re.escape("executor.cluster.slot: unknown key\n  → did you mean 'slots'?")):
        read_config(tmp_path)
    file.write_text("[executor.clusters]\nslots = 2\n")
    with pytest.raises(BadInput, match=re.escape("executor.clusters: unknown key\n  → did you mean 'cluster'?")):
        read_config(tmp_path)
