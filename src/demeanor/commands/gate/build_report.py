"""What a gate said → its report, and its decisions into the history."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from demeanor.commands.gate import always
from demeanor.commands.gate.render import gate_markdown
from demeanor.commands.gate.report import GATE_DOCUMENT, GateReport, gate_report
from demeanor.commands.gate.rules import rule_named
from demeanor.commands.gate.workflow import GateState
from demeanor.commands.run.report import RunReport
from demeanor.config.config import Config
from demeanor.core.codec import encode
from demeanor.core.error_rates import ErrorRates
from demeanor.core.history import KeptDecision
from demeanor.core.policy import Policy
from demeanor.core.text import count
from demeanor.runner.history import open_project_history


class Files(TypedDict):
    """What a gate adds to the files of a run."""

    lead: str
    files: Mapping[str, str]


def gate_notes(state: GateState, *, stopped: bool) -> tuple[str, ...]:
    """What a person should know of a gate."""
    notes = []
    wanting = sum(one.more for one in state.answers())
    if wanting and not stopped and state.max_trials is not None:
        notes.append(f"stopped: {count(state.max_trials, 'trial')} at most, and {wanting} more are wanted")
    if state.base.problem:
        notes.append(f"new and edited evals are told by the history alone: {state.base.problem}")
    return tuple(notes)


def make_gate_report(state: GateState, report: RunReport) -> GateReport:
    """The value that all formats are made of."""
    return gate_report(
        report,
        state.answers(),
        rule=state.rule,
        base=state.base.base,
        edited=state.edited,
        characteristics=tuple(_characteristics(state)),
        notes=report.notes,
    )


def gate_files(found: GateReport) -> Files:
    """What a gate adds to the files of a run."""
    return Files(lead=gate_markdown(found), files={"gate.json": GATE_DOCUMENT.write(found)})


def keep_answers(
    state: GateState, found: GateReport, config: Config, environ: Mapping[str, str], results: Path
) -> None:
    """Keep what was decided, each with the numbers it was decided from."""
    made = datetime.now(UTC).isoformat(timespec="milliseconds")
    history = open_project_history(config, environ, results=results, reading=False)
    try:
        for row in found.rows:
            if row.decision.answer == "skipped":
                continue
            history.add_decision(
                KeptDecision(
                    made=made,
                    ruling="gate",
                    eval=row.eval,
                    subject=row.subject,
                    answer=row.decision.answer,
                    rule=row.decision.rule,
                    reason=row.decision.reason,
                    run=found.run.id,
                    commit=found.run.commit,
                    eval_hash=state.hashes.get(row.eval, ""),
                    evidence={
                        "passed": row.passed,
                        "failed": row.failed,
                        "voided": row.voided,
                        "past": encode(row.past),
                        "p_value": row.p_value,
                        "adjusted": row.adjusted,
                    },
                )
            )
    finally:
        history.close()


def _characteristics(state: GateState) -> list[ErrorRates]:
    policies = {cell.eval.policy for cell in state.plan.cells}
    found = [always.error_rates()] if Policy.ALWAYS_PASSES in policies else []
    return found + ([rule_named(state.rule).error_rates()] if Policy.USUALLY_PASSES in policies else [])
