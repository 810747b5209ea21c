"""The page is one file that a browser may open without a care: checked by parsing it, with text that means harm."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from demeanor.core.values.trajectory import Called, Kind, Said
from demeanor.core.values.verdict import Fail, Finding, Pass
from demeanor.reports.night.report import FailingCell, FailureMode, NightReport
from demeanor.reports.night.step_pairs import TrialStepsPair
from demeanor.results.trial_steps import TrialSteps
from demeanor.web.night_file import night_html
from tests.helpers.night_reports import SUBJECT, a_week, nights, report_of
from tests.helpers.run_reports import HOSTILE
from tests.helpers.runs import record

HEADS = {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "footer", "h1", "h2", "h3"}
TEXTS = {"p", "dl", "dt", "dd", "div", "span", "code", "pre", "details", "summary", "ul", "li", "wbr"}
TABLES = {"table", "caption", "thead", "tbody", "tr", "th", "td"}
OURS = HEADS | TEXTS | TABLES | {"svg", "path", "a", "br", "strong"}
EMPTY = {"meta", "wbr", "br"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "id", "scope", "title", "tabindex", "role"}
ATTRIBUTES |= {"aria-label", "aria-labelledby", "width", "height", "viewbox", "points"}
ATTRIBUTES |= {"d", "href", "data-s", "data-kind", "aria-hidden"}
ASKS = "asks_before_deleting"
FAILED = Called(turn=1, id="1", tool="shell", kind=Kind.EXECUTE, arguments={"command": "rm -rf build"}, succeeded=True)
ASKED = Said(turn=1, text="Shall I delete it?")


class Page(HTMLParser):
    """What a page is made of; a wrong nesting is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        self.text[inside] = self.text.get(inside, "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def a_pair(
    left: TrialSteps | None, right: TrialSteps | None, name: str = ASKS, subject: str = SUBJECT
) -> TrialStepsPair:
    return TrialStepsPair(eval=name, subject=subject, failing=left, passing=right)


def a_story(number: int, *events: Called | Said, passed: bool = False, **more: object) -> TrialSteps:
    verdict = Pass() if passed else Fail(findings=(Finding(check="c", answer="no", reason="no"),))
    return TrialSteps(run="night-7", record=record(number, verdict), events=events, **more)  # type: ignore[arg-type]


def test_the_page_has_no_active_content() -> None:
    """No script, form or frame, and no URL; a content security policy forbids them too."""
    text = night_html(a_week(), [a_pair(a_story(1, FAILED), a_story(2, ASKED, passed=True))])
    page = Page(text)
    assert {name for name, _ in page.elements} <= OURS
    assert {name for _, attributes in page.elements for name in attributes} <= ATTRIBUTES
    assert "://" not in text
    assert all(str(link["href"]).startswith(("#failure-", "#void-")) for link in page.all("a"))
    assert "url(" not in text
    assert "@import" not in text


def test_the_policy_allows_the_one_style_sheet_and_nothing_else() -> None:
    """It comes before the sheet, and names its hash."""
    text = night_html(a_week())
    (policy,) = (meta["content"] for meta in Page(text).all("meta") if meta.get("http-equiv"))
    (sheet,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    digest = b64encode(sha256(sheet.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert text.index("Content-Security-Policy") < text.index("<style>")


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_hostile_text_stays_text(kind: str) -> None:
    """From all sources: names, reasons, calls, results, messages, notes."""
    bad = HOSTILE[kind]
    name, subject = bad[:300], bad[:200]
    report = report_of(nights({name: "ppp fff"}, subject=subject))
    trouble = FailingCell(eval=name, subject=subject, ways=(FailureMode(reason=bad, trials=(1,), chain=bad),))
    report = replace(report, failures=(trouble,), voids=(trouble,), notes=(bad,), run=replace(report.run, branch=bad))
    called = Called(turn=1, id=bad, tool=bad, kind=Kind.OTHER, arguments={bad[:50]: bad, "n": {bad[:9]: 1}}, result=bad)
    pair = a_pair(a_story(1, called), a_story(2, Said(turn=1, text=bad), passed=True), name, subject)
    page = Page(night_html(report, [pair]))
    assert {tag for tag, _ in page.elements} <= OURS
    assert {key for _, attributes in page.elements for key in attributes} <= ATTRIBUTES
    shown = "".join(page.text.values())
    assert not {sign for sign in shown if not sign.isprintable()} - {"\n", "\xa0"}
    if kind == "html":
        assert "<script>alert(1)</script>" in shown


def test_a_failing_trial_is_shown_next_to_a_passing_one() -> None:
    """Step by step; the first difference is marked."""
    text = night_html(a_week(), [a_pair(a_story(1, FAILED), a_story(3, ASKED, passed=True))])
    assert "Failed: trial 1 of run night-7" in text
    assert "Passed: trial 3 of run night-7" in text
    assert 'class="other divergence"' in text
    assert "Shall I delete it?" in text


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (a_story(1, FAILED), None, "The shown nights have no passing trial to compare with."),
        (
            replace(a_story(1), events=None, absence="the folder is not on this machine"), None,
            "The steps of the failing trial are not available: the folder is not on this machine.",
        ),
        (a_story(1), a_story(2, ASKED, passed=True), "The failing trial has no recorded steps."),
    ],
)  # fmt: skip
def test_missing_steps_have_a_note(left: TrialSteps, right: TrialSteps | None, expected: str) -> None:
    """Instead of an empty table."""
    assert expected in night_html(a_week(), [a_pair(left, right)])


def test_tables_are_accessible() -> None:
    """Tables have captions and header scopes, and drawings have labels."""
    page = Page(night_html(a_week(), [a_pair(a_story(1, FAILED), a_story(2, ASKED, passed=True))]))
    assert len(page.all("caption")) == len(page.all("table")) == 2
    assert all(head.get("scope") in {"col", "row"} for head in page.all("th"))
    assert all(image.get("role") == "img" and image.get("aria-label") for image in page.all("svg"))
    assert all(area.get("aria-label") for area in page.all("div") if area.get("class") == "wide")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {attributes["aria-labelledby"] for _, attributes in page.elements if "aria-labelledby" in attributes}
    assert named <= set(ids)


def test_missing_data_has_no_colour() -> None:
    """In particular not that of a failure."""
    page = Page(night_html(report_of(nights({"a": "vvv - s ppp"}))))
    text = night_html(report_of(nights({"a": "ppp vvv"})))
    assert "k-bad" not in {str(cell.get("class")) for cell in page.all("td")}
    assert "no data" in Page(text).text["span"]
    assert 'class="k-open"' in text


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_colour_has_enough_contrast() -> None:
    """At least 4.5 to 1, light and dark, for text on the page, on a panel, on code, and on its own tint."""
    (sheet,) = re.findall(r"<style>(.*?)</style>", night_html(a_week()), re.S)
    themes = re.findall(r":root\{(.*?)\}", sheet, re.S)
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+):(#\w{6}|#\w{3})\b", theme))
        full = {
            name: value if len(value) == 7 else "#" + "".join(c * 2 for c in value[1:])
            for name, value in colours.items()
        }
        for ink in ("ink", "soft", "bad", "good", "open", "news", "mixed", "mark", "accent"):
            for paper in ("bg", "panel", "code"):
                assert contrast(full[ink], full[paper]) >= 4.5, (ink, paper)
        for tint in ("good", "bad", "open", "news", "mixed"):
            assert contrast(full[tint], full[f"{tint}-bg"]) >= 4.5, tint
            assert contrast(full["ink"], full[f"{tint}-bg"]) >= 4.5, tint


def test_the_verdict_is_on_top_and_cells_lead_to_their_failures() -> None:
    """No dead ends, and an expected fail is not in the style of a failure."""
    text = night_html(a_week(), [a_pair(a_story(1, FAILED), a_story(3, ASKED, passed=True))])
    assert text.index("badge b-") < text.index("<table")
    page = Page(text)
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    targets = {str(link["href"]).removeprefix("#") for link in page.all("a")}
    assert targets
    assert targets <= ids


def test_an_empty_report_is_a_page_too() -> None:
    """Of a run in which nothing was planned."""
    empty: NightReport = replace(a_week(), subjects=(), failures=(), voids=())
    assert Page(night_html(empty)).all("h1")
