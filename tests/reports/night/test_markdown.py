from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.reports.night.markdown import night_markdown
from demeanor.reports.night.report import FailingCell, FailureMode
from tests.helpers.night_reports import a_week, nights, report_of
from tests.helpers.run_reports import HOSTILE
from tests.reports.run.test_markdown import OURS, page

GOLDEN = Path(__file__).parents[1] / "golden"


def test_the_nights_look_as_agreed(golden: Callable[[Path, str], None]) -> None:
    """The total of each subject, then a row per eval with its nights."""
    golden(GOLDEN / "nights.md", night_markdown(a_week()))


def test_every_row_has_as_many_cells_as_its_head() -> None:
    """Otherwise it would not be a table."""
    text = night_markdown(a_week())
    for block in text.split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_hostile_text_stays_text(kind: str) -> None:
    """It is shown as code, unless it is a plain sentence."""
    bad = HOSTILE[kind]
    report = report_of(nights({bad[:300]: "ppp fff"}, subject=bad[:200]))
    trouble = FailingCell(eval=bad[:300], subject=bad[:200], ways=(FailureMode(reason=bad, trials=(1,), chain=bad),))
    found = page(night_markdown(replace(report, failures=(trouble,), notes=(bad,))))
    assert found.names <= OURS | {"h4", "em", "br"}
    assert "evil" not in found.loose


def test_it_fits_into_a_summary() -> None:
    """Parts beyond the limit are left out."""
    many = report_of(nights({f"eval_{number}": "ppp fff" for number in range(400)}))
    assert len(night_markdown(many, most_bytes=20_000).encode()) < 22_000
    assert "more parts" in night_markdown(many, most_bytes=20_000)
