"""The report of `demeanor rejudge`: what changed, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from demeanor.commands.rejudge.render import rejudge_terminal
from demeanor.commands.rejudge.report import RejudgedTrial, Rejudgement, answer_changes, rejudgement
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Verdict
from demeanor.render.terminal import Screen
from tests.helpers.run_reports import HOSTILE
from tests.helpers.runs import VERDICTS, record


def again(
    before: str, after: str, *, policy: Policy = Policy.USUALLY_PASSES, run: str = "r", **given: object
) -> list[RejudgedTrial]:
    """Trials of one cell, such as `ppf` before and `pfp` after; `-` can't be judged again."""
    return [
        RejudgedTrial(
            run=run,
            before=record(number, VERDICTS[was], **given),
            after=None if now == "-" else record(number, VERDICTS[now], **(given | {"policy": policy})),
            refusal="its scenario has been edited" if now == "-" else "",
        )
        for number, (was, now) in enumerate(zip(before, after, strict=True), 1)
    ]


def judged(trials: Sequence[RejudgedTrial]) -> Rejudgement:
    """The report of these trials."""
    return rejudgement(trials, demeanor="1")


@given(st.lists(st.tuples(st.sampled_from("pfv"), st.sampled_from("pfv-")), max_size=8))
def test_every_trial_is_changed_or_the_same_or_refused(found: list[tuple[str, str]]):
    """The tallies count those that were judged again, before and after."""
    report = judged(again("".join(was for was, _ in found), "".join(now for _, now in found)))
    assert len(report.changed) == sum(was != now for was, now in found if now != "-")
    assert len(report.refused) == sum(now == "-" for _, now in found)
    assert report.same == len(found) - len(report.changed) - len(report.refused)
    for cell in report.cells:
        assert cell.tally_before.passed == sum(was == "p" for was, now in found if now != "-")
        assert cell.tally_after.passed == sum(now == "p" for _, now in found)
        assert cell.tally_before.judged + cell.tally_before.voided == len(found) - cell.refused


@pytest.mark.parametrize(
    ("before", "after", "policy", "decisions", "code"),
    [
        ("ppf", "ppp", Policy.USUALLY_PASSES, ("accept", "accept"), 0),
        ("ppp", "pff", Policy.USUALLY_PASSES, ("accept", "reject"), 1),
        ("ppf", "ppf", Policy.ALWAYS_PASSES, ("accept", "reject"), 1),
        ("fff", "fff", Policy.USUALLY_FAILS, ("reject", "accept"), 0),
        ("ppp", "vvv", Policy.USUALLY_PASSES, ("accept", "undecided"), 3),
        ("ppp", "---", Policy.USUALLY_PASSES, ("undecided", "undecided"), 3),
    ],
)
def test_decisions_follow_the_old_and_the_new_policy(
    before: str, after: str, policy: Policy, decisions: tuple[str, str], code: int
):
    """The exit code is that of a run with the new verdicts."""
    report = judged(again(before, after, policy=policy))
    (cell,) = report.cells
    assert (cell.decision_before.answer, cell.decision_after.answer) == decisions
    assert report.exit_code == code


def finding(check: str, answer: str, reason: str = "") -> Finding:
    """An answer."""
    return Finding(check=check, answer=answer, reason=reason)  # type: ignore[arg-type]


def test_checks_with_a_different_answer_are_listed():
    """Added, removed, with another answer or another reason; unchanged checks are left out."""
    before = Fail(findings=(finding("a", "no", "x"), finding("b", "yes"), finding("c", "yes"), finding("d", "no", "1")))
    after = Fail(
        findings=(finding("a", "yes"), finding("b", "yes"), finding("new", "no", "y"), finding("d", "no", "2"))
    )
    found = {one.check: (one.before, one.after) for one in answer_changes(before, after)}
    assert list(found) == ["a", "new", "d", "c"]
    assert found["new"][0] is None
    assert found["c"][1] is None
    assert answer_changes(before, before) == ()


def test_the_same_verdict_for_other_reasons_has_its_own_section():
    """It counts as unchanged."""
    one = again("f", "f")[0]
    assert one.after is not None
    other = replace(one.after, verdict=Fail(findings=(finding("saves", "no", "another reason"),)))
    report = judged([replace(one, after=other)])
    assert (len(report.changed), len(report.reworded), report.same) == (0, 1, 1)
    assert "The same verdict, for other reasons" in rejudge_terminal(report)


def test_the_text_shows_what_changed_why_and_what_could_not_be_judged():
    """Trials with the same changes are shown once."""
    text = rejudge_terminal(judged([*again("pffp", "ppp-"), *again("pp", "pp", eval="other")]), Screen(width=100))
    assert text.startswith("Judged again: 6 trials of r: 2 changed, 3 unchanged, 1 can't be judged again\n")
    assert "  saves · a:m  fail → pass  trials 2 and 3\n    saves: no → yes\n      was  it did not\n" in text
    assert "  saves · a:m  trial 4\n    its scenario has been edited\n" in text
    assert re.search(r"^saves +a:m +1/3, 33 % \[6–79\] +3/3, 100 % \[44–100\] +1 +reject → accept$", text, re.MULTILINE)
    assert "exit 0    accepted" in text


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_stays_text_on_a_terminal(hostile: str, width: int):
    """Reasons quote the agent."""
    no: Verdict = Fail(findings=(finding(hostile, "no", hostile),))
    found = record(1, no, eval=hostile[:50] or "e")
    refused: Record = record(2, no, eval=hostile[:50] or "e")
    answered = [
        RejudgedTrial(run="r", before=found, after=replace(found, verdict=Pass(findings=(finding(hostile, "yes"),)))),
        RejudgedTrial(run="r", before=refused, after=None, refusal=hostile),
    ]
    text = rejudge_terminal(judged(answered), Screen(width=width))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert len(text) < 20_000
