"""Make the report of a bisection, and record its result in the history."""

from __future__ import annotations

from datetime import UTC, datetime

from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.history import KeptDecision
from demeanor.plugins.lab.bisect.report import BisectOutcome, BisectReport, CommitFound, rate_found
from demeanor.plugins.lab.bisect.rules import boundary
from demeanor.plugins.lab.bisect.workflow import BisectState
from demeanor.statistics import Tries


def make_bisect_report(
    state: BisectState, outcome: BisectOutcome, *, good: str, bad: str, interrupted: bool = False
) -> BisectReport:
    """Make the report."""
    search = state.search
    commits = commits_found(state)
    suspects = search.suspects()
    before, after = boundary(search.tries, suspects)
    own = [visited.tries.judged for visited in state.visited.values()]
    stopped = ("interrupted: run it again to continue; it reuses the trials so far",) if interrupted else ()
    return BisectReport(
        eval=state.cell.eval.name,
        subject=str(state.cell.subject),
        good=good,
        bad=bad,
        outcome=outcome,
        exit_code=ExitCode.INTERRUPTED if interrupted else outcome.exit_code,
        asked_confidence=state.confidence,
        confidence=suspects.chance,
        no_difference=search.belief.none,
        suspects=commits[suspects.first : suspects.last + 1],
        credible=tuple(commits[place].commit.hash for place in search.credible()),
        before=rate_found(before),
        after=rate_found(after),
        commits=commits,
        trials=sum(own),
        voided=state.made - sum(own),
        reused=sum(kept.tries.judged for kept in state.kept.values()),
        built=state.built,
        cost_usd=state.cost_usd,
        notes=(*state.notes, *stopped),
    )


def commits_found(state: BisectState) -> tuple[CommitFound, ...]:
    """The results of each commit."""
    chances, tries = state.search.belief.chances(), state.tries
    commits = []
    for place, commit in enumerate(state.line.commits):
        visited, kept = state.visited.get(place), state.kept.get(place)
        made = tries.get(place, Tries())
        run = kept.runs[-1] if kept else None
        commits.append(
            CommitFound(
                commit=commit,
                chance=chances[place],
                passed=made.passed,
                failed=made.failed,
                voided=len(visited.trials) - visited.tries.judged if visited else 0,
                reused=kept.tries.judged if kept else 0,
                skipped=state.barred.get(place),
                run=visited.run.info.id if visited else run,
            )
        )
    return tuple(commits)


def bisect_decision(report: BisectReport) -> KeptDecision:
    """The result, for the history."""
    suspects = [suspect.commit for suspect in report.suspects]
    names = ", ".join(commit.hash[:12] for commit in suspects)
    return KeptDecision(
        made=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ruling="bisect",
        eval=report.eval,
        subject=report.subject,
        answer=report.outcome.value,
        rule="bayes",
        reason=f"{report.good}..{report.bad}: {report.confidence:.3f} for {names}",
        commit=suspects[-1].hash if report.outcome is BisectOutcome.FOUND else None,
        evidence={
            "asked_confidence": report.asked_confidence,
            "no_difference": report.no_difference,
            "tries": {
                tried.commit.hash: [tried.passed, tried.failed]
                for tried in report.commits
                if tried.passed or tried.failed
            },
        },
    )
