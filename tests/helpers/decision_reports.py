"""A gate's report and a comparison, as values."""

from __future__ import annotations

from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy
from demeanor.decide import exit_code
from demeanor.decide.comparison.rules import compare
from demeanor.decide.gate.cell import GateCell
from demeanor.decide.gate.effort import STANDARD
from demeanor.decide.gate.error_rates import applied_rates
from demeanor.decide.gate.rules import gate
from demeanor.decide.nights.baseline import Baseline
from demeanor.reports.comparison.report import CompareReport, Side, compare_report
from demeanor.reports.gate.report import GateReport, gate_report
from demeanor.reports.run.report import RunReport
from tests.helpers.run_reports import make_mixed

PAST = Baseline(passed=57, failed=3, nights=20)


def gate_cell(name: str, outcomes: str, policy: Policy = Policy.USUALLY_PASSES, **more) -> GateCell:
    """`ppf` are the outcomes, `v` is a void."""
    judged = tuple(sign == "p" for sign in outcomes if sign != "v")
    return GateCell(eval=name, subject="a:m", policy=policy, outcomes=judged, voided=outcomes.count("v"), **more)


def a_gate() -> tuple[GateReport, RunReport]:
    """One of each answer."""
    answers = gate(
        [
            gate_cell("always_saves", "ppp", Policy.ALWAYS_PASSES),
            gate_cell("asks_before_it_deletes_what_it_did_not_make_itself", "f" * 11, past=PAST),
            gate_cell("forgiven", "pf" + "p" * 8, past=PAST),
            gate_cell("gone", "vvvv"),
            gate_cell("known", "", Policy.USUALLY_FAILS),
        ]
    )
    run = make_mixed()
    report = gate_report(
        run,
        answers,
        thorough=False,
        base="0" * 40,
        edited={"gone": "new"},
        characteristics=applied_rates(answers, effort=STANDARD),
        notes=("a note | with <b>signs</b>",),
    )
    assert exit_code(answer.decision for answer in answers) == 1
    return report, run


def side(name: str, run: str, **scores: tuple[int, int]) -> Side:
    """Evals with passed and failed."""
    cells = tuple(
        RunCell(
            run=run, started="2026-11-01T00:00:00+00:00", kind="local", eval=key, subject="a:m",
            policy=Policy.USUALLY_PASSES, passed=passed, failed=failed, eval_hash="e",
        )
        for key, (passed, failed) in scores.items()
    )  # fmt: skip
    return Side(name=name, kind="commit", runs=(run,), commit="0123456789abcdef", cells=cells)


def a_comparison() -> CompareReport:
    """One of each outcome, and one that can't be compared."""
    base = side("main", "r1", worse=(30, 0), better=(5, 25), same=(100, 0), little=(3, 0), gone=(3, 0))
    new = side("HEAD", "r2", worse=(10, 20), better=(30, 0), same=(99, 1), little=(2, 1))
    return compare_report(base, new, compare(base.cells, new.cells), notes=("a note",))
