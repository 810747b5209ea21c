"""Grouping the failures of a run."""

from __future__ import annotations

import random

from hypothesis import given, strategies as st

from demeanor.core.values.policy import Policy
from demeanor.core.values.verdict import VoidCause
from demeanor.reports.failures.report import group_failures
from demeanor.results.trial_steps import TrialSteps
from tests.helpers.trial_steps import PASS, call, failed, said, trial_steps, void

READ, EDIT = call("read_file", path="a"), call("write_file", path="a")
VERDICTS = st.one_of(
    st.just(PASS),
    st.sampled_from(["a", "b 1", "b 2", "", "\x1b[31m"]).map(failed),
    st.sampled_from(["500", "503"]).map(void),
    st.just(void("gone", VoidCause.SANDBOX)),
    st.just(failed("exit 1", check="agent")),
)
EVENTS = st.lists(st.sampled_from([READ, EDIT, call("shell", command="ls"), said()]), max_size=4)
TRIALS = st.lists(
    st.tuples(VERDICTS, EVENTS, st.sampled_from(["e", "f"]), st.sampled_from(["a:m", "a:n"]), st.booleans()),
    max_size=12,
).map(
    lambda found: [
        trial_steps(verdict, *events, name=name, subject=subject, number=number, has_steps=has_steps)
        for number, (verdict, events, name, subject, has_steps) in enumerate(found, 1)
    ]
)


@given(TRIALS, st.randoms(use_true_random=False))
def test_every_trial_that_did_not_pass_is_in_one_group_in_any_order(trials: list[TrialSteps], chance: random.Random):
    """Passing trials are in no group."""
    groups = group_failures(trials)
    grouped = [record.trial for group in groups for record in group.trials]
    assert sorted(grouped) == sorted(one.record.trial for one in trials if one.record.verdict is not PASS)
    shuffled = chance.sample(trials, len(trials))
    assert group_failures(shuffled) == groups


@given(TRIALS)
def test_the_largest_group_comes_first(trials: list[TrialSteps]):
    """The fix with the largest effect comes first."""
    sizes = [len(group.trials) for group in group_failures(trials)]
    assert sizes == sorted(sizes, reverse=True)


def test_trials_with_the_same_divergence_are_one_group_across_evals():
    """Two evals, one thing to fix; each trial is compared with a passing one of its own eval."""
    trials = [
        trial_steps(PASS, READ, EDIT, said(), name="e", number=1),
        trial_steps(failed("no read"), EDIT, said(), name="e", number=2),
        trial_steps(PASS, call("read_file", path="b"), call("write_file", path="b"), said(), name="f", number=1),
        trial_steps(failed("hasty"), call("write_file", path="b"), said(), name="f", number=2),
        trial_steps(failed("hasty"), call("write_file", path="b"), said(), name="f", number=3),
    ]
    (group,) = group_failures(trials)
    assert group.title == "never calls read_file; a passing trial does"
    assert dict(group.cells) == {("f", "a:m"): 2, ("e", "a:m"): 1}
    assert group.parting is not None
    assert (group.parting.step, group.parting.passing.trial) == (1, "f/a:m/1")
    assert group.example.trial == "f/a:m/2"
    assert group.parting.did.startswith("write_file(")
    assert group.parting.instead.startswith("read_file(")
    assert [(reason.text, reason.trials) for reason in group.reasons] == [("hasty", 2), ("no read", 1)]


def test_doing_nothing_and_acting_without_reading_are_two_groups():
    """Both leave out the same first step, but they need different fixes."""
    trials = [trial_steps(PASS, READ, EDIT, said())]
    trials += [trial_steps(failed("x"), EDIT, said(), number=n) for n in (2, 3)]
    trials += [trial_steps(failed("x"), said(), number=4), trial_steps(failed("x"), number=5)]
    assert [(group.title, [one.number for one in group.trials]) for group in group_failures(trials)] == [
        ("calls no tool; a passing trial calls read_file", [4, 5]),
        ("never calls read_file; a passing trial does", [2, 3]),
    ]


def test_the_example_has_the_first_reason():
    """What is shown of a group comes from one of its trials: the reason, the step and the calls."""
    trials = [trial_steps(PASS, READ, EDIT, said(), number=1)]
    trials += [trial_steps(failed("rare"), call("write_file", path="b"), said(), number=2)]
    trials += [trial_steps(failed("frequent"), EDIT, said(), number=n) for n in (3, 4)]
    (group,) = group_failures(trials)
    assert [one.number for one in group.trials] == [3, 2, 4]
    assert [reason.text for reason in group.reasons] == ["frequent", "rare"]
    assert group.parting is not None
    assert "'a'" in group.parting.did


def test_a_reason_is_listed_once():
    """Of several checks of a trial, and of trials that differ in numbers and names only."""
    trials = [trial_steps(failed("gone", "gone", check="saves"), number=1)]
    trials += [trial_steps(failed(f"took {n}.5 s\nin saves/a:m/{n}"), number=n) for n in (2, 3)]
    first, second = group_failures(trials)
    assert [(reason.text, reason.trials) for reason in first.reasons] == [("took 2.5 s\nin saves/a:m", 2)]
    assert (second.title, [reason.text for reason in second.reasons]) == ("saves: gone", ["gone"])


def test_a_trial_is_compared_with_its_own_subject_if_one_passed():
    """Another model behaves differently anyway."""
    trials = [
        trial_steps(PASS, READ, EDIT, EDIT, EDIT, said(), number=1),
        trial_steps(PASS, EDIT, EDIT, said(), subject="a:other", number=1),
        trial_steps(failed("x"), EDIT, said(), number=2),
    ]
    (group,) = group_failures(trials)
    assert group.parting is not None
    assert group.parting.passing.subject == "a:m"


def test_a_passing_trial_of_an_earlier_run_is_used_if_none_passed():
    """Without one, the trials are grouped by their findings."""
    wrong = [trial_steps(failed("no read"), EDIT, said(), number=number) for number in (1, 2)]
    (alone,) = group_failures(wrong)
    assert (alone.kind, alone.title, alone.parting) == ("finding", "saves: no read", None)
    (held,) = group_failures(wrong, [trial_steps(PASS, READ, EDIT, said(), run="earlier")])
    assert held.kind == "divergence"
    assert held.parting is not None
    assert held.parting.run == "earlier"


def test_trials_with_the_same_steps_are_grouped_by_findings():
    """Numbers and trial names are ignored."""
    trials = [trial_steps(PASS, READ, said())]
    trials += [trial_steps(failed(f"saves/a:m/{n}: 0x{n:x}ff is not {n}.5"), READ, said(), number=n) for n in (2, 3)]
    trials += [trial_steps(failed("something else"), READ, said(), number=4)]
    assert [(group.kind, len(group.trials)) for group in group_failures(trials)] == [("finding", 2), ("finding", 1)]


def test_voids_are_grouped_by_cause_and_known_failures_come_last():
    """A provider outage is one group; expected failures are not news."""
    trials = [trial_steps(void(f"HTTP 503 after {n} s"), number=n) for n in (1, 2)]
    trials += [trial_steps(void("HTTP 503", VoidCause.SANDBOX), number=3)]
    trials += [trial_steps(failed("x"), name="known", number=n, policy=Policy.USUALLY_FAILS) for n in range(5)]
    groups = group_failures(trials)
    assert [(group.kind, len(group.trials), group.expected) for group in groups] == [
        ("void", 2, False),
        ("void", 1, False),
        ("finding", 5, True),
    ]


def test_an_agent_that_crashed_is_grouped_by_its_exit():
    """The step at which it stopped is not the cause."""
    trials = [trial_steps(PASS, READ, EDIT, said()), trial_steps(failed("exit code 1", check="agent"), READ, number=2)]
    (group,) = group_failures(trials)
    assert (group.kind, group.title) == ("finding", "agent: exit code 1")
    assert group.parting is not None


def test_trials_that_lack_different_files_share_a_title_that_is_true_of_each():
    """The sentence of the example would be false of the others."""
    trials = []
    for name in ("e", "f"):
        other, own = call("read_file", path="other"), call("read_file", path=name)
        trials.append(trial_steps(PASS, other, own, said(), name=name, number=1))
        trials.append(trial_steps(failed("x"), other, said(), name=name, number=2))
    (group,) = group_failures(trials)
    assert group.title == "never calls read_file with the path that a passing trial gives it"
    assert group.parting is not None
    assert group.parting.sentence == "never calls read_file with path='e'; a passing trial does"


def test_failures_that_no_single_step_explains_are_grouped_by_their_checks():
    """What differs first may be anything."""
    steps = [call(name) for name in ("a", "b", "c", "d", "e", "f", "g", "h")]
    trials = [trial_steps(PASS, *steps[:4]), *(trial_steps(failed("no port"), *steps[n:], number=n) for n in (4, 5))]
    (group,) = group_failures(trials)
    assert (group.kind, group.title) == ("finding", "saves: no port")
