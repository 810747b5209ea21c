"""What was found out about a level is kept, and put in a few words."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from demeanor.sandboxes.probes import cache
from demeanor.sandboxes.probes.cache import CachedProbes, ProbeCache
from demeanor.sandboxes.probes.result import Probe

NOW = datetime(2026, 11, 16, 4, 5, 6, tzinfo=UTC)
BLOCKED = Probe(name="read", state="blocked", expected=True, control="reached", found="OSError")
WORKS = Probe(name="write", state="works", expected=True, control="reached", found="reached")
SEEN = Probe(name="see", state="open", expected=True, control="reached", found="reached")
UNSURE = Probe(name="vsock", state="inconclusive", expected=True, control="OSError", found="OSError")


def test_a_record_says_what_was_tried_and_what_stays_open() -> None:
    """In a few words."""
    results = CachedProbes(when="now", probes=(BLOCKED, BLOCKED, WORKS))
    assert results.facts() == {"probes": "3 tried now: 2 blocked, 1 works"}
    facts = CachedProbes(when="now", probes=(BLOCKED, SEEN, UNSURE, replace(SEEN, name="signal"))).facts()
    assert facts["probes"] == "4 tried now: 1 blocked, 1 inconclusive, 2 open"
    assert (facts["probes.open"], facts["probes.inconclusive"]) == ("see; signal", "vsock")


def test_what_is_kept_is_what_is_found(tmp_path: Path) -> None:
    """By level and by version; a broken promise is not kept, and ends what was known."""
    cached = ProbeCache(tmp_path / "probes", "1.0")
    assert cached.get("bubblewrap") is None
    kept = cached.store("bubblewrap", [BLOCKED, WORKS], NOW)
    assert cached.get("bubblewrap") == kept
    assert kept.when == "2026-11-16T04:05:06+00:00"
    assert cached.get("landlock") is None
    assert ProbeCache(tmp_path / "probes", "1.1").get("bubblewrap") is None
    assert cached.store("bubblewrap", [replace(SEEN, expected=False)], NOW).broken
    assert cached.get("bubblewrap") is None


def test_a_change_in_a_sub_package_ends_what_was_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that makes the walls counts, wherever it lies in the package."""
    inner = tmp_path / "package/inner/deep.py"
    inner.parent.mkdir(parents=True)
    inner.touch()
    (tmp_path / "package/cache.py").touch()
    monkeypatch.setattr(cache, "__file__", str(tmp_path / "package/cache.py"))
    cached = ProbeCache(tmp_path / "probes", "1.0")
    cached.store("bubblewrap", [BLOCKED], NOW)
    assert cached.get("bubblewrap") is not None
    later = inner.stat().st_mtime_ns + 10**9
    os.utime(inner, ns=(later, later))
    assert cached.get("bubblewrap") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"when": "x", "probes": []}', '{"when": 3, "probes": [{}]}'])
def test_what_is_no_proof_is_taken_for_none(tmp_path: Path, text: str) -> None:
    """Whatever lies there."""
    cached = ProbeCache(tmp_path, "1.0")
    cached.store("bubblewrap", [BLOCKED], NOW)
    (path,) = tmp_path.iterdir()
    path.write_text(text)
    assert cached.get("bubblewrap") is None


def test_a_folder_that_can_not_be_written_is_no_matter(tmp_path: Path) -> None:
    """Then it is tried again next time."""
    (tmp_path / "file").touch()
    cached = ProbeCache(tmp_path / "file/probes", "1.0")
    assert cached.store("bubblewrap", [BLOCKED], NOW).probes == (BLOCKED,)
    assert cached.get("bubblewrap") is None
