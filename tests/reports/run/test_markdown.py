from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

from demeanor.core.values.trial import Cell
from demeanor.core.values.verdict import Fail, Finding
from demeanor.reports.run.markdown import markdown
from demeanor.reports.run.report import RunReport

GOLDEN = Path(__file__).parents[1] / "golden"
OURS = {
    "h2",
    "h3",
    "h4",
    "p",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "code",
    "pre",
    "details",
    "summary",
    "strong",
}
OURS |= {"ul", "li"}
NO = Fail(findings=(Finding(check="c", answer="no", reason="no file"),))


class Tags(HTMLParser):
    """Collects the elements of a page, and the text outside of code."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.open: list[str] = []
        self.loose = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "code" not in self.open:
            self.loose += data


def page(text: str) -> Tags:
    return Tags(MarkdownIt("commonmark").enable("table").render(text))


def test_the_summary_matches_its_golden_file(mixed: RunReport, golden: Callable[[Path, str], None]) -> None:
    """Fit for a CI job's summary."""
    golden(GOLDEN / "summary.md", markdown(mixed))


def test_the_most_important_thing_comes_first(mixed: RunReport) -> None:
    """Did it hold? What broke?"""
    text = markdown(mixed)
    assert text.startswith("## ❌ Rejected: 2 of 10 cells (8 evals on 2 subjects) do not hold")
    broken = text.index("### What broke\n\n- `asks_before_deleting` · `native:scripted`: 1 of 3 passed")
    assert text.index("| `saves_the_note`") < broken < text.index("<details>") < text.index("### Skipped")


def test_the_summary_is_the_markdown_it_seems_to_be(mixed: RunReport) -> None:
    """Tables are tables, details are closed, and there is nothing else."""
    found = page(markdown(mixed))
    assert found.names == OURS
    assert found.open == []


def test_a_summary_stays_below_the_size_that_ci_services_accept(
    cell: Callable[..., Cell], report: Callable[..., RunReport]
) -> None:
    """What is left out is counted, and the table is whole."""
    reasons = [Fail(findings=(Finding(check="c", answer="no", reason=f"{n} {'x' * 190}\n" * 40),)) for n in range(3)]
    text = markdown(report([(cell(f"e{n}"), reasons) for n in range(50)]), most_bytes=100_000)
    assert len(text.encode()) < 101_000
    assert "more sections, see report.json" in text
    assert "`e49`" in text
    assert text.count("<details>") == text.count("</details>")


def test_an_empty_run_can_be_reported(report: Callable[..., RunReport]) -> None:
    """It is undecided."""
    assert markdown(report([])).startswith("## ⚠️ Undecided: nothing could be run")


def test_hostile_text_stays_text(hostile: tuple[str, RunReport]) -> None:
    """No HTML, no link, no picture, no mention, no further table: it stays in code, unless it is a plain sentence."""
    text = markdown(hostile[1])
    found = page(text)
    assert found.names <= OURS
    assert not {"@everyone", "evil", "alert", "gnp"} & set(found.loose.replace(".", " ").split())
    assert len(text.encode()) < 100_000
    assert "\x1b" not in text
    assert "\u202e" not in text
