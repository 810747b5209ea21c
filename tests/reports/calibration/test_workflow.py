from __future__ import annotations

from demeanor.reports.calibration.workflow import latest_counts
from tests.helpers.histories import night


def test_a_corrected_rate_is_that_of_the_latest_model() -> None:
    """Runs before it are left out, with a note."""
    cells = [
        *(night(number, 0, 3, model_hash="m1") for number in (0, 1)),
        night(2, 3, 0, model_hash="m2"),
        night(2, 1, 2, subject="b:m"),
    ]
    counts, notes = latest_counts(cells)
    assert counts == {"a:m": (3, 3), "b:m": (1, 3)}
    assert notes == ["◆ the model of a:m has changed: its corrected rate is without 2 earlier runs"]
