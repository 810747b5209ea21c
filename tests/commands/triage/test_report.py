"""What went wrong in a run, in groups."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from demeanor.commands.trace.trial_steps import TrialSteps
from demeanor.commands.triage.report import triage
from demeanor.core.policy import Policy
from demeanor.core.verdict import VoidCause
from tests.commands.triage_lab import PASS, call, failed, said, story, void

READ, EDIT = call("read_file", path="a"), call("write_file", path="a")
VERDICTS = st.one_of(
    st.just(PASS),
    st.sampled_from(["a", "b 1", "b 2", "", "\x1b[31m"]).map(failed),
    st.sampled_from(["500", "503"]).map(void),
    st.just(void("gone", VoidCause.SANDBOX)),
    st.just(failed("exit 1", check="agent")),
)
EVENTS = st.lists(st.sampled_from([READ, EDIT, call("shell", command="ls"), said()]), max_size=4)
STORIES = st.lists(
    st.tuples(VERDICTS, EVENTS, st.sampled_from(["e", "f"]), st.sampled_from(["a:m", "a:n"]), st.booleans()),
    max_size=12,
).map(
    lambda found: [
        story(verdict, *events, name=name, subject=subject, number=number, told=told)
        for number, (verdict, events, name, subject, told) in enumerate(found, 1)
    ]
)


@given(STORIES, st.randoms(use_true_random=False))
def test_every_trial_that_did_not_pass_is_in_one_group_in_whichever_order_they_come(
    stories: list[TrialSteps], chance: random.Random
):
    """And no other trial is in any."""
    groups = triage(stories)
    grouped = [record.trial for group in groups for record in group.trials]
    assert sorted(grouped) == sorted(one.record.trial for one in stories if one.record.verdict is not PASS)
    shuffled = chance.sample(stories, len(stories))
    assert triage(shuffled) == groups


@given(STORIES)
def test_the_largest_group_comes_first(stories: list[TrialSteps]):
    """What mends most is looked at first."""
    sizes = [len(group.trials) for group in triage(stories)]
    assert sizes == sorted(sizes, reverse=True)


def test_trials_that_go_the_same_other_way_are_one_group_whatever_they_are_asked():
    """Two evals, one thing to mend; each is held against a trial of its own eval that passed."""
    stories = [
        story(PASS, READ, EDIT, said(), name="e", number=1),
        story(failed("no read"), EDIT, said(), name="e", number=2),
        story(PASS, call("read_file", path="b"), call("write_file", path="b"), said(), name="f", number=1),
        story(failed("hasty"), call("write_file", path="b"), said(), name="f", number=2),
        story(failed("hasty"), call("write_file", path="b"), said(), name="f", number=3),
    ]
    (group,) = triage(stories)
    assert group.title == "leaves out a call of read_file, which trials that passed do not"
    assert dict(group.cells) == {("f", "a:m"): 2, ("e", "a:m"): 1}
    assert group.parting is not None
    assert (group.parting.step, group.parting.passing.trial) == (1, "e/a:m/1")
    assert group.parting.did.startswith("write_file(")
    assert group.parting.instead.startswith("read_file(")
    assert [(reason.text, reason.trials) for reason in group.reasons] == [("hasty", 2), ("no read", 1)]


def test_the_nearest_is_of_the_same_subject_where_one_passed():
    """Another model goes another way anyway."""
    stories = [
        story(PASS, READ, EDIT, EDIT, EDIT, said(), number=1),
        story(PASS, EDIT, EDIT, said(), subject="a:other", number=1),
        story(failed("x"), EDIT, said(), number=2),
    ]
    (group,) = triage(stories)
    assert group.parting is not None
    assert group.parting.passing.subject == "a:m"


def test_where_no_trial_passed_one_of_an_earlier_run_is_taken():
    """And where there is none either, the findings are what they have in common."""
    wrong = [story(failed("no read"), EDIT, said(), number=number) for number in (1, 2)]
    (alone,) = triage(wrong)
    assert (alone.kind, alone.title, alone.parting) == ("finding", "saves: no read", None)
    (held,) = triage(wrong, [story(PASS, READ, EDIT, said(), run="earlier")])
    assert held.kind == "divergence"
    assert held.parting is not None
    assert held.parting.run == "earlier"


def test_the_same_steps_with_another_end_are_told_by_their_findings():
    """Numbers and names of trials do not keep them apart."""
    stories = [story(PASS, READ, said())]
    stories += [story(failed(f"saves/a:m/{n}: 0x{n:x}ff is not {n}.5"), READ, said(), number=n) for n in (2, 3)]
    stories += [story(failed("something else"), READ, said(), number=4)]
    assert [(group.kind, len(group.trials)) for group in triage(stories)] == [("finding", 2), ("finding", 1)]


def test_voids_are_told_by_their_cause_and_known_failures_come_last():
    """A night that the provider was down is one thing; what is known to fail is no news."""
    stories = [story(void(f"HTTP 503 after {n} s"), number=n) for n in (1, 2)]
    stories += [story(void("HTTP 503", VoidCause.SANDBOX), number=3)]
    stories += [story(failed("x"), name="known", number=n, policy=Policy.USUALLY_FAILS) for n in range(5)]
    groups = triage(stories)
    assert [(group.kind, len(group.trials), group.expected) for group in groups] == [
        ("void", 2, False),
        ("void", 1, False),
        ("finding", 5, True),
    ]


def test_an_agent_that_ended_badly_is_told_by_that():
    """Where it stopped is only where it fell."""
    stories = [story(PASS, READ, EDIT, said()), story(failed("exit code 1", check="agent"), READ, number=2)]
    (group,) = triage(stories)
    assert (group.kind, group.title) == ("finding", "agent: exit code 1")
    assert group.parting is not None
