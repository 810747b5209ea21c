"""Every format of the night report names the layer of its evals, if there are whole tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from demeanor.render.terminal import Screen
from demeanor.reports.night.junit import night_junit
from demeanor.reports.night.markdown import night_markdown
from demeanor.reports.night.report import NIGHTS_DOCUMENT, NightReport
from demeanor.reports.night.terminal import night_terminal
from demeanor.web.night_file import night_html
from tests.helpers.night_reports import a_week, nights, report_of

BEHAVIOUR = nights({"saves": "ppp ppp", "asks": "ppp fff", "skips": "s s"})
TASKS = nights({"builds": "ppp ppp"}, layer=3)
LINE = "ayer 2, behaviour: 1 of 2 held · layer 3, whole tasks: 1 of 1 held"


def terminal(report: NightReport) -> str:
    """The report in a wide terminal."""
    return night_terminal(report, Screen(width=160))


@pytest.mark.parametrize("render", [terminal, night_markdown, night_html])
def test_a_report_with_whole_tasks_says_how_each_layer_did(render: Callable[[NightReport], str]) -> None:
    """Skipped cells do not count; a report of behaviour alone has no word of layers."""
    assert LINE in render(report_of([*BEHAVIOUR, *TASKS]))
    assert "ayer" not in re.sub(r"<style>.*</style>", "", render(report_of(BEHAVIOUR)), flags=re.S)


@pytest.mark.parametrize(
    ("render", "task", "behaviour"),
    [
        (terminal, r"builds +usually +3 +100 %", r"saves +usually +2 +100 %"),
        (night_markdown, r"`builds` \| usually \| 3 whole task \|", r"`saves` \| usually \| 2 behaviour \|"),
        (night_html, r"builds</span> <span[^>]*>usually</span> <span[^>]*>layer 3, whole task</span></th>",
         r"saves</span> <span[^>]*>usually</span></th>"),
        (night_junit, r'name="builds"[^§]*?name="layer" value="3 \(whole task\)"',
         r'name="saves"[^§]*?name="layer" value="2 \(behaviour\)"'),
    ],
)  # fmt: skip
def test_each_eval_has_its_layer(render: Callable[[NightReport], str], task: str, behaviour: str) -> None:
    """Beside its policy."""
    text = render(report_of([*BEHAVIOUR, *TASKS]))
    assert re.search(task, text)
    assert re.search(behaviour, text)


def test_a_narrow_terminal_has_the_line_but_not_the_column() -> None:
    """There is no room for it."""
    text = night_terminal(a_week(), Screen(width=80))
    assert "layer 3, whole tasks: 1 of 1 held" in text
    assert " layer " not in text.split("native:small-1\n")[1].splitlines()[7]


def test_the_json_document_has_the_layer_of_each_row() -> None:
    """Always, also without whole tasks."""
    data = json.loads(NIGHTS_DOCUMENT.write(report_of([*BEHAVIOUR, *TASKS])))
    rows = {row["eval"]: row.get("layer") for row in data["subjects"][0]["rows"]}
    assert rows == {"saves": 2, "asks": 2, "skips": 2, "builds": 3}
