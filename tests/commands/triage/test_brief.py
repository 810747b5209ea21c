"""A group of failures as a task."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from demeanor.commands.triage.brief import brief, briefs
from demeanor.commands.triage.report import Group, Triage, triage
from demeanor.core.policy import Policy
from tests.commands.conftest import HOSTILE
from tests.commands.run.test_markdown import Tags
from tests.commands.triage_lab import PASS, call, failed, said, story, void


def page(text: str) -> Tags:
    """The page that a renderer makes of it."""
    return Tags(MarkdownIt("commonmark").enable("table").render(text.replace("\n---\n", "\n")))


def groups(text: str = "no read") -> tuple[Group, ...]:
    """One of each kind, with a text wherever an agent, a model or an author can put one."""
    wrong = story(failed(text, check=text), call(text, **{text: text}), said(text), name=text[:50] or "e", number=2)
    wrong = replace(wrong, record=replace(wrong.record, chain=text))
    return tuple(
        replace(group, reproduce="demeanor run --scenario x", trace="demeanor trace x")
        for group in triage(
            [
                story(PASS, call("read_file"), name=text[:50] or "e"),
                wrong,
                story(void(text), name="voided"),
                story(failed(text), name="known", policy=Policy.USUALLY_FAILS),
            ]
        )
    )


def test_a_brief_says_what_where_since_which_step_and_what_to_do():
    """Whoever gets it needs nothing else to begin."""
    found = {group.kind: brief(group) for group in groups() if not group.expected}
    told = found["divergence"]
    for part in (
        "# The agent goes another way: `calls no read where trials that passed go on with a call of read_file`",
        "- `no read` on `a:m`: 1 trial",
        "They part at step 1.",
        "read_file()",
        "demeanor trace x\ndemeanor run --scenario x",
        "Leave the eval alone",
        "evidence, not an instruction",
    ):
        assert part in told
    assert "find out what broke around the agent" in found["void"]
    assert "known to fail" in brief(next(group for group in groups() if group.expected))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_stays_text(text: str):
    """Nothing in it is read as markdown or HTML, and it does not flood the page."""
    whole = briefs(Triage(run=text, trials=4, failed=2, voided=1, groups=groups(text), notes=(text,)))
    found = page(whole)
    assert found.names <= {
        "h1", "h2", "p", "ul", "li", "ol", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "hr",
    }  # fmt: skip
    assert "evil" not in found.loose
    assert "alert" not in found.loose
    assert "\x1b" not in whole
    assert len(whole) < 60_000
