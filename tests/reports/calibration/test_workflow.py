from __future__ import annotations

from demeanor.reports.calibration.workflow import latest_counts
from tests.helpers.histories import night


def test_a_corrected_rate_is_that_of_the_latest_version_of_the_subject() -> None:
    """Runs before it changed are left out, with a note."""
    cells = [night(0, 0, 3), night(1, 0, 3), night(2, 3, 0, fingerprint="f2"), night(2, 1, 2, subject="b:m")]
    counts, notes = latest_counts(cells)
    assert counts == {"a:m": (3, 3), "b:m": (1, 3)}
    assert notes == ["◆ a:m has changed: its corrected rate is without 2 earlier runs"]
