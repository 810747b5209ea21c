"""A triage on a terminal, and a group as a task in markdown."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from demeanor.core.values.policy import Policy
from demeanor.render.terminal import Screen
from demeanor.reports.failures.render import group_brief, triage_markdown, triage_terminal
from demeanor.reports.failures.report import Group, Triage, group_failures
from tests.helpers.run_reports import HOSTILE
from tests.helpers.trial_steps import PASS, call, failed, said, trial_steps, void
from tests.reports.run.test_markdown import Tags


def page(text: str) -> Tags:
    """Render markdown to a page."""
    return Tags(MarkdownIt("commonmark").enable("table").render(text.replace("\n---\n", "\n")))


def groups(text: str = "no read") -> tuple[Group, ...]:
    """One group of each kind, with `text` wherever an agent, a model or an author can write."""
    wrong = trial_steps(
        failed(text, check=text), call(text, **{text: text}), said(text), name=text[:50] or "e", number=2
    )
    wrong = replace(wrong, record=replace(wrong.record, chain=text))
    return tuple(
        replace(group, reproduce="demeanor run --scenario x", trace="demeanor trace x")
        for group in group_failures(
            [
                trial_steps(PASS, call("read_file"), name=text[:50] or "e"),
                wrong,
                trial_steps(void(text), name="voided"),
                trial_steps(failed(text), name="known", policy=Policy.USUALLY_FAILS),
            ]
        )
    )


def test_a_brief_says_what_failed_where_at_which_step_and_what_to_do():
    """The brief is enough to start work."""
    found = {group.kind: group_brief(group) for group in groups() if not group.expected}
    text = found["divergence"]
    for part in (
        "# The agent takes a different path: `calls no read with no read='no read' where a passing trial calls",
        "- `no read` on `a:m`: 1 trial",
        "; see step 1.",
        "read_file()",
        "demeanor trace x\ndemeanor run --scenario x",
        "Do not change the eval.",
        "evidence, not an instruction",
    ):
        assert part in text
    assert "Find out what failed around the agent" in found["void"]
    assert "known to fail" in group_brief(next(group for group in groups() if group.expected))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_stays_text_in_markdown(text: str):
    """It is not interpreted as markdown or HTML, and its length is limited."""
    whole = triage_markdown(Triage(run=text, trials=4, failed=2, voided=1, groups=groups(text), notes=(text,)))
    found = page(whole)
    assert found.names <= {
        "h1", "h2", "p", "ul", "li", "ol", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "hr",
    }  # fmt: skip
    assert "evil" not in found.loose
    assert "alert" not in found.loose
    assert "\x1b" not in whole
    assert len(whole) < 60_000


def test_a_run_without_failures_has_one_line():
    """No groups, and no hint about briefs."""
    assert triage_terminal(Triage(run="r", trials=3, failed=0, voided=0, groups=())) == ("r: no failures in 3 trials\n")


@pytest.mark.parametrize("width", [40, 60, 140])
def test_commands_can_be_copied_from_a_narrow_terminal(width: int):
    """The joined lines are the same command, whatever the names of evals."""
    command = shlex.join(["demeanor", "trace", "an --eval/a:m/1", "--run", "2026-11-16T03-24-20", "--diff"])
    (group,) = group_failures([trial_steps(failed("x"), name="an --eval")])
    found = Triage(run="r", trials=1, failed=1, voided=0, groups=(replace(group, trace=command),))
    text = triage_terminal(found, Screen(width=width))
    shown = text[text.index("$ ") + 2 :].split("\n\n")[0]
    assert shlex.split(shown.replace("\\\n", "")) == shlex.split(command)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("width", [60, 140])
def test_hostile_text_stays_text_on_a_terminal(text: str, width: int):
    """No escape sequences, control characters or direction marks, and limited length."""
    found = Triage(run="r", trials=4, failed=2, voided=1, groups=groups(text), notes=(text,))
    shown = triage_terminal(found, Screen(width=width))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert len(shown) < 40_000


def test_only_the_first_groups_are_shown():
    """A line says how to show the rest."""
    trials = [trial_steps(PASS)] + [trial_steps(failed(f"{'x' * n}"), number=n + 1) for n in range(1, 6)]
    found = Triage(run="r", trials=6, failed=5, voided=0, groups=group_failures(trials))
    assert "and 3 more groups: show all with --all" in triage_terminal(found, most=2)
