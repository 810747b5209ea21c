"""A bisection → the value that it is reported by, and the decision that is kept of it."""

from __future__ import annotations

from datetime import UTC, datetime

from demeanor.commands.bisect.report import BisectReport, rate_found
from demeanor.commands.bisect.rules import boundary
from demeanor.commands.bisect.values import BisectOutcome, CommitFound
from demeanor.commands.bisect.workflow import BisectState
from demeanor.core.exit_code import ExitCode
from demeanor.core.history import KeptDecision
from demeanor.core.ports import History
from demeanor.statistics.bisection import Tries


def make_bisect_report(
    one: BisectState, outcome: BisectOutcome, *, good: str, bad: str, interrupted: bool = False
) -> BisectReport:
    """Everything that can be said of a bisection."""
    search = one.search
    commits = commits_found(one)
    suspects = search.suspects()
    before, after = boundary(search.tries, suspects)
    own = [visited.tries.judged for visited in one.visited.values()]
    stopped = ("interrupted: start it again to go on; the trials that were made are kept",) if interrupted else ()
    return BisectReport(
        eval=one.cell.eval.name,
        subject=str(one.cell.subject),
        good=good,
        bad=bad,
        outcome=outcome,
        exit_code=ExitCode.INTERRUPTED if interrupted else outcome.exit_code,
        asked_confidence=one.confidence,
        confidence=suspects.chance,
        no_difference=search.belief.none,
        suspects=commits[suspects.first : suspects.last + 1],
        credible=tuple(commits[place].commit.hash for place in search.credible()),
        before=rate_found(before),
        after=rate_found(after),
        commits=commits,
        trials=sum(own),
        voided=one.made - sum(own),
        reused=sum(kept.tries.judged for kept in one.kept.values()),
        built=one.built,
        cost_usd=one.cost_usd,
        notes=(*one.notes, *stopped),
    )


def commits_found(one: BisectState) -> tuple[CommitFound, ...]:
    """What is known of each commit of the line."""
    chances, tries = one.search.belief.chances(), one.tries
    found = []
    for place, commit in enumerate(one.line.commits):
        visited, kept = one.visited.get(place), one.kept.get(place)
        made = tries.get(place, Tries())
        found.append(
            CommitFound(
                commit=commit,
                chance=chances[place],
                passed=made.passed,
                failed=made.failed,
                voided=len(visited.trials) - visited.tries.judged if visited else 0,
                reused=kept.tries.judged if kept else 0,
                skipped=one.barred.get(place),
                run=visited.run.info.id if visited else kept.runs[-1] if kept else None,
            )
        )
    return tuple(found)


def keep_bisection(history: History, report: BisectReport) -> None:
    """Keep what was found."""
    told = [found.commit for found in report.suspects]
    history.add_decision(
        KeptDecision(
            made=datetime.now(UTC).isoformat(timespec="milliseconds"),
            ruling="bisect",
            eval=report.eval,
            subject=report.subject,
            answer=report.outcome.value,
            rule="bayes",
            reason=f"{report.good}..{report.bad}: {report.confidence:.3f} for {', '.join(c.hash[:12] for c in told)}",
            commit=told[-1].hash if report.outcome is BisectOutcome.FOUND else None,
            evidence={
                "asked_confidence": report.asked_confidence,
                "no_difference": report.no_difference,
                "tries": {
                    one.commit.hash: [one.passed, one.failed] for one in report.commits if one.passed or one.failed
                },
            },
        )
    )
