"""The result of `demeanor validate` as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from demeanor.commands.validate.prefixes import PrefixState
from demeanor.commands.validate.render import validation_json, validation_text
from demeanor.commands.validate.report import ValidationReport
from demeanor.judge.offline_test import Complaint, SelfTest, SelfTestFault

UNPROVEN = Complaint(fault=SelfTestFault.UNPROVEN, detail="nothing shows that it can pass")
VACUOUS = Complaint(fault=SelfTestFault.VACUOUS, detail="an agent that does nothing passes\nin detail")
REPORT = ValidationReport(
    tests=(
        SelfTest(eval="good", rehearsed=2, complaints=()),
        SelfTest(eval="unproven", rehearsed=1, complaints=(UNPROVEN,)),
        SelfTest(eval="vacuous", rehearsed=1, complaints=(VACUOUS,)),
        SelfTest(eval="task", rehearsed=0, complaints=()),
    ),
    faulty=("vacuous",),
    too_early=frozenset(),
    promoted_by_hand=frozenset({"good"}),
    faulty_by_hand=frozenset(),
    reasons_by_hand={},
    tasks=("task",),
    tasks_not_run="--static was given",
    warnings={"task": ("it has no timeout",)},
    cassettes=(),
    prefixes=(),
    lacking=(),
    base="0123",
    problem=None,
    strict=False,
)


def test_every_eval_has_a_mark_and_its_complaints():
    """An unproven eval is not a fault, and a task that was not run is marked `read`."""
    assert validation_text(REPORT).splitlines() == [
        "ok     good      2 rehearsals",
        "ok     unproven  1 rehearsal",
        "       unproven: nothing shows that it can pass",
        "FAULT  vacuous   1 rehearsal",
        "       vacuous: an agent that does nothing passes",
        "         in detail",
        "read   task      not run",
        "warning: good: ALWAYS_PASSES without a recorded promotion; `demeanor promote` shows whether it qualifies",
        "warning: task: it has no timeout",
        "",
        "4 evals, 4 rehearsals, 1 faulty",
    ]


def test_strict_makes_faults_of_unproven_evals_and_unrecorded_promotions():
    """New evals that are ALWAYS_PASSES are always faults."""
    strict = replace(REPORT, strict=True, faulty_by_hand=frozenset({"good"}), too_early=frozenset({"good"}))
    text = validation_text(strict)
    assert "FAULT  unproven" in text
    assert "FAULT: good: ALWAYS_PASSES without a recorded promotion" in text
    assert (
        "FAULT  good      2 rehearsals\n       ALWAYS_PASSES: is new, and a new eval starts as USUALLY_PASSES" in text
    )


def test_json_has_the_same_facts():
    """For programs."""
    found = json.loads(validation_json(REPORT))
    assert (found["ok"], found["faulty"], found["promoted_by_hand"]) == (False, ["vacuous"], ["good"])
    assert (found["tasks_not_run"], found["warnings"]) == ("--static was given", {"task": ["it has no timeout"]})
    assert [one["eval"] for one in found["evals"]] == ["good", "unproven", "vacuous", "task"]


def test_what_was_not_checked_and_why_is_a_note():
    """Without a commit to compare with, a promotion by hand is not noticed."""
    text = validation_text(replace(REPORT, problem="the repository has no commit yet"))
    assert text.endswith(
        "\nnote: not checked whether evals became ALWAYS_PASSES by hand: the repository has no commit yet"
    )


def test_the_file_of_a_prefix_is_named_once():
    """The remedy is indented as elsewhere."""
    detail = "p/thrd.json: there is no such prefix\n  → did you mean 'third'?"
    missing = PrefixState(eval="good", file="p/thrd.json", state="unreadable", detail=detail)
    text = validation_text(replace(REPORT, prefixes=(missing,)))
    assert "prefix p/thrd.json: can't be read: there is no such prefix\n  → did you mean 'third'?\n" in text
