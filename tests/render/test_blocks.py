"""Each kind of block in each format, with text that someone else wrote."""

from __future__ import annotations

import pytest

from demeanor.core.exit_code import ExitCode
from demeanor.render import blocks as b
from demeanor.render.markdown import markdown
from demeanor.render.table import terminal
from demeanor.render.terminal import Screen
from tests.helpers.run_reports import HOSTILE
from tests.reports.run.test_markdown import OURS, page


def all_kinds(text: str) -> list[b.Block]:
    """One of each kind, with `text` wherever a report may have text of others."""
    point = b.Item((text, b.Words(" on "), b.Span(text, "bold")), text[:9], [b.Sentence(text), b.Fields([("x", text)])])
    return [
        b.Title("Rejected", ExitCode.REJECTED),
        b.Heading(text),
        b.Sentence(text, "dim"),
        b.Fields([("a", text), ("b", text)]),
        b.GAP,
        b.Table([b.Column("eval", [text, "x"], least=8, comfort=20), b.figures("passed", ["1/2", "<1 %"])]),
        b.Listing([point, point]),
    ]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_text_of_others_stays_text(text: str) -> None:
    """On a page it is code; a terminal gets no control characters, and lines of a table are cut."""
    found = page(markdown(all_kinds(text)))
    assert found.names <= OURS
    assert not {"@everyone", "evil", "alert", "spam", "gnp"} & set(found.loose.replace(".", " ").split())
    shown = terminal(all_kinds(text), Screen(width=60))
    assert not {sign for sign in shown if not sign.isprintable()} - {"\n"}


def test_words_become_text_of_others_when_they_are_changed() -> None:
    """So that nothing that was put into them escapes."""
    assert markdown([b.Sentence(b.Words("a < b"))]) == "a &lt; b\n"
    assert markdown([b.Sentence(f"{b.Words('a < b')}")]) == "<code>a &#60; b</code>\n"


def test_a_terminal_leaves_out_what_does_not_fit() -> None:
    """A column of a high rank with the sentence about it, and a column that is the same everywhere."""
    table = b.Table(
        [b.Column("eval", ["x" * 30]), b.Column("far", ["y" * 30], rank=1), b.Column("s", ["z"], varied=True)]
    )
    blocks = [table, b.Sentence(b.Words("far: explained"), about="far")]
    assert terminal(blocks, Screen(width=40)) == f"eval\n{'x' * 30}\n"
    assert "far: explained" in terminal(blocks, Screen(width=80))
    assert "| Eval | Far | S |".lower() in markdown(blocks).lower()
