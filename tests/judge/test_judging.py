"""Evidence → Verdict."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from demeanor.core.values.checks import CommandSucceeds, FileExists, FunctionCheck, RewardCheck, ToolUsed
from demeanor.core.values.errors import WorldError
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import USUALLY_FAILS, USUALLY_PASSES
from demeanor.core.values.process import ProcessEnd
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.verdict import Fail, Finding, Pass, Void, VoidCause
from demeanor.judge.calls_view import Calls
from demeanor.judge.judging import judge
from tests.judge.helpers import called, evidence, no_command

YES, NO, UNKNOWN = FileExists(path="a"), FileExists(path="b"), ToolUsed(tool="rm")


def eval_with(*checks, policy=USUALLY_PASSES) -> Eval:
    made = tuple(FunctionCheck(function=check) if callable(check) else check for check in checks)
    return Eval(
        name="e", policy=policy, scenario=Scenario(prompts=("x",)), checks=made, source=Source(path=Path(__file__))
    )


def verdict(*checks, run=no_command, events=("Done.",), **known):
    known = {"after": {"a": ""}, **known}
    return judge(evidence(*events, **known), eval_with(*checks), run)


def test_all_checks_satisfied_is_a_pass():
    """Every answer is kept with it."""
    found = verdict(YES, YES)
    assert isinstance(found, Pass)
    assert [finding.answer for finding in found.findings] == ["yes", "yes"]


def test_one_refuted_check_is_a_fail_and_all_are_asked():
    """Also those after the first that said no."""
    found = verdict(NO, YES, FileExists(path="c"))
    assert isinstance(found, Fail)
    assert [finding.answer for finding in found.findings] == ["no", "yes", "no"]
    assert "'b'" in found.reason
    assert "'c'" in found.reason


def test_unknown_answer_is_void():
    """Not a pass, and not a fail."""
    found = verdict(YES, UNKNOWN, gaps=("the log was cut",))
    assert isinstance(found, Void)
    assert found.cause is VoidCause.UNREADABLE
    assert "the log was cut" in found.detail


def test_refuted_check_outweighs_an_unknown_one():
    """One certain no is enough for a fail."""
    assert isinstance(verdict(NO, UNKNOWN, gaps=("cut",)), Fail)


TROUBLE = {"trouble": (VoidCause.RATE_LIMIT, "429 until the end"), "ends": (ProcessEnd(exit_code=0),)}


def test_a_no_that_nothing_can_change_is_a_fail_whatever_broke_afterwards():
    """A call that must not happen, a leak, a refused request; the trouble is told beside it."""

    def asks_first(rig, result):
        assert rig.calls.of_kind("delete").count() == 0
        assert "sorry" in result

    deleted = [called("delete_file", path="b")]
    for found in (
        verdict(YES, asks_first, events=deleted, **TROUBLE),
        verdict(ToolUsed(kind="delete", at_most=0), events=deleted, **TROUBLE),
        verdict(YES, misdeed="was refused", **TROUBLE),
        verdict(YES, leak="the token was leaked", **TROUBLE),
    ):
        assert isinstance(found, Fail)
        assert [finding.answer for finding in found.findings] == ["no", "unknown"]
        assert "429" not in found.reason


def test_a_no_that_could_still_have_changed_stays_void_and_is_kept():
    """The agent was not done: its file, its message and its next call were still to come."""

    def reads(rig, result):
        assert rig.calls.of_kind("read")

    def says(rig, result):
        assert "sorry" in result

    def after_the_end(rig, result):
        assert rig.exit_code == 1

    for check in (NO, reads, says, after_the_end):
        found = verdict(check, events=["Done.", called("write_file", path="a")], **TROUBLE)
        assert isinstance(found, Void)
        assert found.refuted
    assert verdict(YES, **TROUBLE) == Void(cause=VoidCause.RATE_LIMIT, detail="429 until the end")


def test_a_check_that_breaks_on_what_broke_off_is_kept_too():
    """So that an agent that crashes the check, or hides its calls, gets no second attempt; a broken eval has no say."""

    def breaks(rig, result):
        raise KeyError("x")

    for check, known in ((breaks, {}), (UNKNOWN, {"gaps": ("cut",)})):
        found = verdict(check, **TROUBLE, **known)
        assert isinstance(found, Void)
        assert found.cause is VoidCause.RATE_LIMIT
        assert found.refuted
    broken = judge(
        evidence("Done.", after={"a": ""}, **TROUBLE), eval_with(breaks), no_command, find_blame=lambda *_: "eval"
    )
    assert broken == Void(cause=VoidCause.RATE_LIMIT, detail="429 until the end")


def test_nothing_is_asked_about_an_agent_that_did_nothing():
    """A provider that fails at the first request says nothing about the agent, so that the trial is tried again."""
    found = verdict(NO, events=(), **{**TROUBLE, "after": {}})
    assert found == Void(cause=VoidCause.RATE_LIMIT, detail="429 until the end")
    without = {"trouble": (VoidCause.HARNESS, "no agent ran")}
    assert verdict(NO, **without) == Void(cause=VoidCause.HARNESS, detail="no agent ran")


def test_misdeed_is_a_fail_with_a_finding_of_its_own():
    """An agent that reached its time limit has failed, whatever it left behind."""
    found = verdict(YES, misdeed="ran out of its 60 seconds")
    assert isinstance(found, Fail)
    assert found.findings[0] == Finding(check="agent", answer="no", reason="ran out of its 60 seconds")
    assert found.findings[1].answer == "yes"


def test_misdeed_outweighs_a_crash_and_an_unknown():
    """A check that breaks on what a dead agent left does not excuse the agent."""

    def breaks(rig, result):
        raise KeyError("x")

    found = verdict(breaks, UNKNOWN, misdeed="ran out of its 60 seconds", gaps=("cut",))
    assert isinstance(found, Fail)
    assert found.reason == "ran out of its 60 seconds"


def test_policy_does_not_change_a_verdict():
    """A known weakness that shows is a fail like any other."""
    assert isinstance(judge(evidence(), eval_with(NO, policy=USUALLY_FAILS), no_command), Fail)


def test_function_gets_the_rig_and_the_final_text():
    """And passes when it returns."""
    seen = []
    assert isinstance(verdict(lambda rig, result: seen.append((rig.final_text, result))), Pass)
    assert seen == [("Done.", "Done.")]


def test_failed_assert_is_a_fail_with_values_and_place():
    """The reason shows what was compared, and the author's line."""

    def check(rig, result):
        assert result == "Saved."

    found = verdict(check)
    assert isinstance(found, Fail)
    assert "assert 'Done.' == 'Saved.'" in found.reason
    assert "at test_judging.py:" in found.reason
    assert 'assert result == "Saved."' in found.reason
    assert found.findings[0].check == "check"


def test_failed_assert_without_values_shows_its_line():
    """An assert in a helper that was not rewritten is still found."""
    names: dict = {}
    exec(compile("def check(rig, result):\n    assert 0\n", "helper.py", "exec"), names)  # noqa: S102
    assert "at helper.py:2" in verdict(names["check"]).reason


def test_place_is_the_authors_line_and_not_ours():
    """A missing file is reported where the author asked for it."""

    def check(rig, result):
        return rig.workspace["nowhere.txt"].text

    reason = verdict(check).reason
    assert "there is no 'nowhere.txt'" in reason
    assert 'return rig.workspace["nowhere.txt"].text' in reason
    assert "workspace_view" not in reason


def test_async_check_is_waited_for():
    """An assert after an await counts."""

    async def check(rig, result):
        await asyncio.sleep(0)
        assert result == "Saved."

    assert "assert 'Done.' == 'Saved.'" in verdict(check).reason


def test_failures_of_several_tasks_are_all_reported():
    """A task group wraps what its tasks raise; nothing is lost."""

    async def check(rig, result):
        async def fails(word):
            raise AssertionError(word)

        async with asyncio.TaskGroup() as group:
            group.create_task(fails("first"))
            group.create_task(fails("second"))

    found = verdict(check)
    assert isinstance(found, Fail)
    assert "first" in found.reason
    assert "second" in found.reason


def test_pytest_fail_and_raises_are_answers_too():
    """Authors may use what they know from tests."""

    def fails(rig, result):
        pytest.fail("not good")

    def raises(rig, result):
        with pytest.raises(ValueError, match="x"):
            pass

    assert "not good" in verdict(fails).reason
    assert isinstance(verdict(raises), Fail)


def test_notes_of_an_error_are_kept():
    """`add_note` is part of the reason."""

    def check(rig, result):
        error = AssertionError("wrong")
        error.add_note("seen on Tuesdays")
        raise error

    assert "seen on Tuesdays" in verdict(check).reason


def test_returned_false_is_a_fail():
    """`return x in y` instead of `assert` is a slip that must not pass."""
    assert "returned False" in verdict(lambda rig, result: "Saved" in result).reason


def test_false_returned_by_an_async_check_is_a_fail_too():
    """`async def` changes nothing about what a returned False means."""

    async def check(rig, result):
        await asyncio.sleep(0)
        return "Saved" in result

    found = verdict(check)
    assert isinstance(found, Fail)
    assert "returned False" in found.reason


@pytest.mark.parametrize("value", [0, "", [], Calls([]), "yes", re.search("D", "Done.")])
def test_returned_value_that_is_no_boolean_is_a_crash(value):
    """`return rig.calls…` would pass whatever it contains: nothing was asserted."""

    async def waits(rig, result):
        return value

    for check in (lambda rig, result: value, waits):
        found = verdict(check)
        assert isinstance(found, Void)
        assert found.cause is VoidCause.CHECK
        assert "write `assert`, or return True or False" in found.detail


def test_check_whose_body_never_runs_is_a_crash():
    """A wrapper can hide a generator from the definition; it is found when the check is called."""

    def generator(rig, result):
        yield
        raise AssertionError

    async def async_generator(rig, result):
        yield
        raise AssertionError

    async def nested(rig, result):
        return asyncio.sleep(0)

    for hidden in (generator, async_generator, nested):
        found = verdict(lambda rig, result, hidden=hidden: hidden(rig, result))
        assert isinstance(found, Void)
        assert found.cause is VoidCause.CHECK
        assert "the check returned a" in found.detail


@pytest.mark.parametrize("error", [KeyError("path"), ZeroDivisionError("x"), SystemExit(3), RecursionError("deep")])
def test_crashed_check_is_void_with_the_lines_that_led_to_it(error):
    """A bug in a check says nothing about the agent."""

    def check(rig, result):
        raise error

    found = verdict(YES, check)
    assert isinstance(found, Void)
    assert found.cause is VoidCause.CHECK
    assert f"check crashed: {type(error).__name__}" in found.detail
    assert "raise error" in found.detail
    assert [finding.answer for finding in found.findings] == ["yes", "unknown"]


def test_a_deep_traceback_is_shortened_and_its_error_named():
    """The error comes first, whatever is left out of its traceback."""

    def check(rig, result):
        return check(rig, result)

    found = verdict(check)
    assert isinstance(found, Void)
    assert "check crashed: RecursionError: maximum recursion depth exceeded" in found.detail
    assert "lines left out" in found.detail


def test_a_wrong_attribute_of_ours_has_a_remedy():
    """An object of the author is left alone: listing its names may run its code."""

    class Own:
        __slots__ = ("a",)

    checks = (lambda rig, _: rig.calls.name("a"), lambda rig, _: rig.calls.edit("a"), lambda rig, _: Own().aa)
    found = verdict(*checks)
    assert isinstance(found, Void)
    assert [line.partition(": ")[2] for line in found.detail.splitlines() if "AttributeError" in line] == [
        "AttributeError: 'Calls' object has no attribute 'name', did you mean 'names'?",
        "AttributeError: 'Calls' object has no attribute 'edit'; what checks can ask: demeanor help checks",
        "AttributeError: 'Own' object has no attribute 'aa'",
    ]


def test_refuted_check_outweighs_one_that_crashed_or_could_not_be_asked():
    """Whatever the others would have said, the trial can't pass any more; all that happened is kept."""

    def check(rig, result):
        raise KeyError("path")

    def missing(tree, argv, *, timeout):
        raise WorldError(VoidCause.MISSING, "there is no program 'node'")

    found = verdict(check, CommandSucceeds(argv=("node",)), NO, run=missing)
    assert isinstance(found, Fail)
    assert [finding.answer for finding in found.findings] == ["unknown", "unknown", "no"]
    assert "check crashed: KeyError" in found.findings[0].reason
    assert found.findings[1].reason == "void(missing): there is no program 'node'"
    assert found.reason == found.findings[2].reason


def test_interruption_is_not_swallowed():
    """Ctrl-C in a check stops the run."""

    def check(rig, result):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict(check)


def test_world_that_fails_a_check_is_void_with_its_cause():
    """A program that a check needs and that is not there is no fault of the agent."""

    def missing(tree, argv, *, timeout):
        raise WorldError(VoidCause.MISSING, "there is no program 'node'")

    found = verdict(CommandSucceeds(argv=("node",)), run=missing)
    assert isinstance(found, Void)
    assert (found.cause, found.detail) == (VoidCause.MISSING, "there is no program 'node'")


def test_not_called_is_void_where_the_trajectory_has_gaps():
    """The plain `assert not …` of an author can't pass on missing evidence."""

    def check(rig, result):
        assert not rig.calls.named("rm")

    assert isinstance(verdict(check), Pass)
    assert isinstance(verdict(check, gaps=("cut",)), Void)
    with_rm = judge(evidence(called("rm"), gaps=("cut",)), eval_with(check), no_command)
    assert isinstance(with_rm, Fail)


def test_hostile_text_in_a_reason_is_harmless():
    """What an agent said is shown without its terminal escapes."""

    def check(rig, result):
        raise AssertionError("\x1b[2Jgone")

    assert verdict(check).reason.startswith("gone")


REWARD = RewardCheck()


@pytest.mark.parametrize(
    ("given", "outcome"), [(1.0, "pass"), (2.0, "pass"), (0.999, "fail"), (0.0, "fail"), (-1, "fail")]
)
def test_the_reward_of_a_task_decides(given, outcome):
    """Enough is a pass, less is a fail; the key and the least are the task's own."""
    assert verdict(REWARD, rewards={"reward": given, "style": 0}).outcome == outcome
    assert verdict(RewardCheck(key="style", at_least=0.5), rewards={"style": 0.5}).outcome == "pass"


@pytest.mark.parametrize("given", [None, {}, {"rewards": 1.0}, {"reward": float("nan")}, {"reward": float("inf")}])
def test_a_missing_reward_is_void_and_never_zero(given):
    """What the agent did is unknown if the verifier broke."""
    found = verdict(REWARD, rewards=given)
    assert isinstance(found, Void)
    assert found.cause is VoidCause.VERIFIER
