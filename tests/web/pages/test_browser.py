"""The pages in a real browser: accessible, quiet on the network, with keys and folding; hostile output is inert."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from demeanor.core.values.capture import Capture
from demeanor.core.values.evidence import Evidence, Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.trial import Plan, named_cell
from demeanor.core.values.verdict import Finding, Pass
from demeanor.store.runs.run_folder import RunFolder
from tests.helpers.browser import axe_script, browser
from tests.helpers.dashboard_server import Dashboard
from tests.helpers.dashboard_store import HOSTILE_RUN, READS, RENAMES, SUBJECTS
from tests.web.pages.test_site import every_page

TRIAL = f"{READS}/{SUBJECTS[0]}"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for all tests of this module."""
    with browser() as found:
        yield found


@pytest.fixture
def page(chromium: Any, dashboard: Dashboard) -> Iterator[Any]:
    """A new page, wide and light; every request that leaves the server is an error."""
    context = chromium.new_context(viewport={"width": 1500, "height": 900}, base_url=dashboard.address)
    context.set_default_timeout(120_000)
    found = context.new_page()
    foreign: list[str] = []
    found.on(
        "request",
        lambda request: foreign.append(request.url) if not request.url.startswith(dashboard.address) else None,
    )
    problems: list[str] = []
    found.on("pageerror", lambda error: problems.append(str(error)))
    found.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield found
    context.close()
    assert foreign == []
    assert problems == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1500])
def test_axe_finds_nothing_and_nothing_is_cut_off(chromium: Any, dashboard: Dashboard, theme: str, width: int):
    """Every page, in both themes, on a phone and on a desk; the page itself never scrolls sideways."""
    script = axe_script()
    context = chromium.new_context(
        color_scheme=theme, viewport={"width": width, "height": 900}, base_url=dashboard.address, bypass_csp=True
    )
    context.set_default_timeout(120_000)
    tab = context.new_page()
    found: dict[str, Any] = {}
    for path in every_page(dashboard):
        tab.goto(path)
        tab.evaluate(script)
        broken = tab.evaluate("axe.run().then(found => found.violations.map(one => [one.id, one.nodes[0].html]))")
        wide = tab.evaluate("document.documentElement.scrollWidth")
        if broken or wide > width:
            found[path] = (broken, wide)
    context.close()
    assert found == {}


def test_keys_move_through_the_steps_and_to_the_divergence(page: Any, dashboard: Dashboard):
    """j, k, `.`, `?`, `/`, and `]` to the next trial."""
    page.goto(f"/trial/{dashboard.store.last}/{TRIAL}/1")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.locator("tr.at").get_attribute("id") == "step-1"
    page.keyboard.press(".")
    assert "divergence" in page.locator("tr.at").get_attribute("class")
    assert page.locator("tr.at details[open]").count() == 1
    page.keyboard.press("?")
    assert page.locator("dialog kbd").count() == 7
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.placeholder") == "Search in the steps"
    page.keyboard.press("Escape")
    page.keyboard.press("]")
    page.wait_for_url("**/2")
    page.keyboard.press("[")
    page.wait_for_url("**/1")


def test_steps_can_be_hidden_by_kind_and_unfolded(page: Any, dashboard: Dashboard):
    """The buttons above the steps."""
    page.goto(f"/trial/{dashboard.store.last}/{RENAMES}/{SUBJECTS[2]}/1")
    rows = page.locator(".steps tbody tr:visible")
    before = rows.count()
    page.locator("button[data-kind=edit]").click()
    assert rows.count() == before - 1
    page.locator("button[data-kind=edit]").click()
    assert rows.count() == before
    page.locator("button[data-fold]").click()
    assert page.locator(".steps details[open]").count() == before


def test_steps_can_be_searched(page: Any):
    """What matches is unfolded, the rest is hidden until the text is gone."""
    page.goto(f"/trial/{HOSTILE_RUN}/hostile_output/native:hasty/1")
    rows = page.locator(".steps tbody tr")
    everything = rows.count()
    page.keyboard.press("/")
    page.keyboard.type("nothing has this")
    assert page.locator(".steps tbody tr:visible").count() == 0
    page.locator("[data-within]").fill("")
    assert page.locator(".steps tbody tr:visible").count() == everything
    tool = page.locator(".steps .tool").first.inner_text()
    page.locator("[data-within]").fill(tool.upper())
    assert page.locator(".steps tbody tr:visible").count() >= 1
    assert page.locator(".steps details[open]").count() >= 1


def test_filters_are_in_the_address(page: Any, dashboard: Dashboard):
    """Choosing one and applying it; the address alone shows the same."""
    page.goto(f"/run/{dashboard.store.last}")
    page.locator("select[name=subject]").select_option(SUBJECTS[0])
    page.locator(".filters button").click()
    page.wait_for_url("**subject=native%3Acareful**")
    assert page.locator("[role=status]").inner_text() == "7 of 21 cells"
    page.goto(page.url)
    assert page.locator("[role=status]").inner_text() == "7 of 21 cells"


def test_hostile_output_does_nothing(page: Any):
    """In any tab: no script of an agent runs, the title stays ours."""
    for tab in ("steps", "log", "prompt", "exchanges"):
        page.goto(f"/trial/{HOSTILE_RUN}/hostile_output/native:hasty/1?tab={tab}")
        assert page.title().endswith("– Demeanor")
        assert page.locator("main img, main script, main iframe").count() == 0


def test_pages_can_be_read_without_javascript(chromium: Any, dashboard: Dashboard):
    """Steps unfold, tabs are links, and what needs a script is not shown."""
    context = chromium.new_context(java_script_enabled=False, base_url=dashboard.address)
    tab = context.new_page()
    tab.set_default_timeout(120_000)
    tab.goto(f"/trial/{dashboard.store.last}/{TRIAL}/1")
    assert tab.locator("button:visible").count() == 0
    tab.locator(".steps summary").first.click()
    assert tab.locator(".steps details[open] pre").first.is_visible()
    tab.locator(".tabs a", has_text="Workspace diff").click()
    assert tab.locator(".d-add").count() > 0
    context.close()


def test_a_page_follows_a_run_in_another_process(page: Any, dashboard: Dashboard):
    """The ledger grows, and the page shows it without being loaded again; folded parts stay as they are."""
    folder = RunFolder(dashboard.store.root / "results" / "2026-11-17T09-00-00")
    cell = named_cell("waits", "native:slow", policy=Policy.ALWAYS_PASSES, trials=2)
    info = RunInfo(id=folder.folder.name, started=datetime.now(UTC).isoformat(), uid="a" * 16, demeanor="0.1")
    folder.begin(info, Plan(cells=(cell,)))
    try:
        page.goto("/live")
        page.wait_for_selector("html[data-connected=true]")
        page.evaluate("window.loaded = 'once'")
        assert "0 of 2" in page.locator("main").inner_text()
        verdict = Pass(findings=(Finding(check="waits", answer="yes"),))
        record = Record(
            eval="waits", subject="native:slow", number=1, attempt=1, verdict=verdict, policy=Policy.ALWAYS_PASSES,
            ended=datetime.now(UTC).isoformat(timespec="milliseconds"), spent=Spent(seconds=1.0),
        )  # fmt: skip
        folder.append(record, Capture(trial=record.trial, attempt=1), Evidence(trial=record.trial))
        page.wait_for_selector("main :text('1 of 2')")
        assert page.evaluate("window.loaded") == "once"
        assert page.locator("main td", has_text="pass").count() == 1
    finally:
        folder.close()
        shutil.rmtree(folder.folder)


def test_the_brief_for_a_coding_agent_is_copied(chromium: Any, dashboard: Dashboard):
    """The button puts it on the clipboard and says so."""
    context = chromium.new_context(
        base_url=dashboard.address,
        permissions=["clipboard-read", "clipboard-write"],
        viewport={"width": 1500, "height": 900},
    )
    context.set_default_timeout(120_000)
    tab = context.new_page()
    tab.goto(f"/trial/{dashboard.store.last}/{TRIAL}/first")
    tab.locator("button", has_text="Copy as a task").click()
    tab.wait_for_selector("button:text('Copied')")
    assert "never calls read" in tab.evaluate("navigator.clipboard.readText()")
    context.close()


def test_ten_seconds_from_red_to_the_step(page: Any):
    """Two clicks: the example of what got worse, then it is on the page."""
    page.goto("/")
    page.locator(".alarm a.button", has_text="Show a trial").first.click()
    assert "never calls read; a passing trial does" in page.locator(".lead").inner_text()
    assert page.locator("tr.divergence").is_visible()
