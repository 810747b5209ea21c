"""The page that shows the prompt with each instruction coloured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.core.values.errors import StoreError, UnknownName
from demeanor.reports.prompt_coverage.report import COVER_DOCUMENT, CoverReport
from demeanor.web.pages.context import PageContext
from demeanor.web.pages.site import DashboardSite
from tests.helpers.dashboard_server import ParsedPage
from tests.helpers.dashboard_store import HOSTILE
from tests.reports.prompt_coverage.test_render import a_cover


@pytest.fixture
def site(tmp_path: Path) -> DashboardSite:
    """The dashboard of a project without runs."""
    return DashboardSite(PageContext(config=Config(root=tmp_path), environ={}, results=tmp_path / "results"))


def keep(site: DashboardSite, report: CoverReport, text: str = "") -> None:
    """Store a report, or a text in its place."""
    folder = site.context.results / "cover" / report.run
    folder.mkdir(parents=True)
    (folder / "cover.json").write_text(text or COVER_DOCUMENT.write(report))


def test_without_a_report_the_page_says_how_to_make_one(site: DashboardSite) -> None:
    """With the command."""
    assert "demeanor cover --max-trials 200" in ParsedPage(site.page("cover", {}, {})).text


def test_the_prompt_is_shown_with_each_instruction_marked_and_linked(site: DashboardSite) -> None:
    """To its evals, which are named with both rates."""
    keep(site, a_cover())
    page = ParsedPage(site.page("cover", {}, {}))
    marks = {
        link["href"]: link["class"] for tag, link in page.elements if tag == "a" and "inst" in (link.get("class") or "")
    }
    assert marks["#i-b9ff9143"] == "inst i-good"
    assert marks["#i-bfdc9522"] == "inst i-bad"
    assert {f"#{link['id']}" for _, link in page.elements if "id" in link} >= {*marks}
    assert "reads_ first : 58/60 → 0/4 passed" in page.text
    assert "# Rules" in page.text
    assert "25 % (95 % interval 20 % to 60 % of all 5)" in page.text


def test_the_newest_report_is_shown_unless_another_one_is_named(site: DashboardSite) -> None:
    """An unknown one is an error."""
    keep(site, replace(a_cover(), run="2026-11-01", subject="older:one"))
    keep(site, replace(a_cover(), run="2026-11-02", subject="newer:one"))
    assert "newer:one" in site.page("cover", {}, {})
    assert "older:one" in site.page("cover", {}, {"run": "2026-11-01"})
    with pytest.raises(UnknownName):
        site.page("cover", {}, {"run": "2026-11-03"})


def test_hostile_text_stays_text(site: DashboardSite) -> None:
    """In the prompt, in names and in notes."""
    report = a_cover()
    rows = tuple(replace(one, text=HOSTILE, file=HOSTILE, untried=(HOSTILE,)) for one in report.instructions)
    prompt = tuple(replace(one, text=HOSTILE, place="system") for one in report.prompt)
    keep(site, replace(report, instructions=rows, prompt=prompt, notes=(HOSTILE,)))
    page = ParsedPage(site.page("cover", {}, {}))
    assert not {tag for tag, _ in page.elements} & {"img", "svg"}
    assert [link.get("src") for tag, link in page.elements if tag == "script"] == ["/static/app.js"]


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "demeanor-cover/9"}', '{"schema": "demeanor-cover/1"}'])
def test_an_unreadable_report_is_an_error_that_names_it(site: DashboardSite, text: str) -> None:
    """Whatever is wrong with it."""
    keep(site, a_cover(), text)
    with pytest.raises(StoreError, match=r"cover\.json"):
        site.page("cover", {}, {})
