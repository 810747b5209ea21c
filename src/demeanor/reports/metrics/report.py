"""The analysis of one or more runs: pass@k, pass^k, flakiness, and why trials did not pass.

Trials of several runs are combined only if they are of the same version of the eval and of the subject, as far as
known; other versions get a row of their own, with a mark. In means, all evals have the same weight, and only the latest
version of each counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, last_attempts
from demeanor.core.values.tally import Summary, Tally
from demeanor.core.values.usage import price_notes
from demeanor.core.values.verdict import Void
from demeanor.render import ReportDocument
from demeanor.reports.metrics.classify import Classified, by_category, classify
from demeanor.reports.metrics.pattern_file import Pattern
from demeanor.results import summary, tally_trials
from demeanor.statistics import flakiness

Name: TypeAlias = tuple[str, str]
"""An eval and a subject."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """The plan for one eval with one subject."""

    policy: Policy = Policy.USUALLY_PASSES
    """The eval's policy."""

    trials: int = 0
    """The number of trials."""

    skipped: str | None = None
    """Why it was skipped; None if it was not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalysisSource:
    """One run to analyse."""

    name: str
    """Its name."""

    started: str = ""
    """When it began: ISO 8601, UTC."""

    records: tuple[Record, ...]
    """All attempts."""

    planned: Mapping[Name, Planned] = field(default_factory=dict)
    """The plan, as far as it is known."""

    imported: bool = False
    """Whether it is a run of another tool."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalysisRow:
    """The trials of one version of an eval with one version of a subject."""

    runs: tuple[str, ...]
    """Their runs."""

    tally: Tally
    """The verdicts, counted."""

    flakiness: float | None
    """From 0 (always the same result) to 1 (a coin toss); None without judged trials."""

    differs: bool
    """Whether this eval and subject have several rows, because one of them changed."""

    latest: bool = True
    """Whether this is the latest version; only that one is part of means."""

    mixed: bool = False
    """Whether trials of several versions of the subject are combined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Analysis:
    """The analysis of some runs."""

    sources: tuple[str, ...]
    """The runs."""

    ks: tuple[int, ...]
    """The values of k."""

    rows: tuple[AnalysisRow, ...]
    """One per eval and subject; more if one of them changed."""

    summaries: tuple[Summary, ...]
    """One per subject: means over the latest version of each eval, without USUALLY_FAILS."""

    categories: Mapping[str, int]
    """Category → number of trials that did not pass; always includes `unclassified`, last."""

    classified: tuple[Classified, ...]
    """Each trial that did not pass."""

    notes: tuple[str, ...] = ()
    """Remarks, such as a price without a rate for cached tokens."""


ANALYSIS_DOCUMENT = ReportDocument("metrics", Analysis)
"""The JSON document of this report."""


def analysis(
    sources: Sequence[AnalysisSource],
    *,
    ks: Sequence[int] = (1, 3),
    patterns: Sequence[Pattern] = (),
) -> Analysis:
    """Analyse some runs. Trials of different versions of an eval or model are not combined."""
    rows = [row for name in _names(sources) for row in _rows(name, sources, ks)]
    trials = [
        (trial, source.imported)
        for source in sources
        for own in _by_name(source.records).values()
        for trial in last_attempts(own)
    ]
    classified = [
        trial_class
        for trial, imported in trials
        if (trial_class := classify(trial, patterns, imported=imported)) is not None
    ]
    return Analysis(
        sources=tuple(source.name for source in sources),
        ks=tuple(sorted(set(ks))),
        rows=tuple(rows),
        summaries=summary([row.tally for row in rows if row.latest]),
        categories=by_category(classified),
        classified=tuple(classified),
        notes=price_notes(note for source in sources for record in source.records for note in record.notes),
    )


def _names(sources: Sequence[AnalysisSource]) -> list[Name]:
    """Every eval with every subject, those of one subject together, in the order of appearance."""
    names = dict.fromkeys(
        name for source in sources for name in (*source.planned, *((r.eval, r.subject) for r in source.records))
    )
    subjects = list(dict.fromkeys(subject for _, subject in names))
    return sorted(names, key=lambda name: subjects.index(name[1]))


def _by_name(records: Iterable[Record]) -> dict[Name, list[Record]]:
    by_name: dict[Name, list[Record]] = {}
    for record in records:
        by_name.setdefault((record.eval, record.subject), []).append(record)
    return by_name


@dataclass(kw_only=True, slots=True)
class _Group:
    """Trials of one version of eval and subject."""

    runs: dict[str, None] = field(default_factory=dict)
    trials: list[Record] = field(default_factory=list)
    attempts: list[Record] = field(default_factory=list)
    missing: int = 0


def _rows(name: Name, sources: Sequence[AnalysisSource], ks: Sequence[int]) -> Iterator[AnalysisRow]:
    groups: dict[tuple[str, str], _Group] = {}
    policy, skipped = Policy.USUALLY_PASSES, None
    newest: _Group | None = None
    for source in sorted(sources, key=lambda source: (not _judged(source, name), source.started)):
        own = [record for record in source.records if (record.eval, record.subject) == name]
        plan = source.planned.get(name, Planned(policy=own[-1].policy) if own else None)
        if plan is None:
            continue
        policy, skipped = plan.policy, plan.skipped
        trials = last_attempts(own)
        group = groups.setdefault(_identity(trials, groups), _Group())
        newest = group if trials or newest is None else newest
        group.runs[source.name] = None
        group.trials += trials
        group.attempts += own
        group.missing += max(0, plan.trials - len(trials))
    for group in groups.values():
        reason = skipped if not group.attempts else None
        tally = tally_trials(
            *name,
            policy,
            group.trials,
            group.attempts,
            missing=0 if reason is not None else group.missing,
            skipped=reason,
            ks=ks,
        )
        score = flakiness(tally.judged, tally.passed)
        yield AnalysisRow(
            runs=tuple(group.runs),
            tally=tally,
            flakiness=score,
            differs=len(groups) > 1,
            latest=group is newest,
            mixed=len({record.fingerprint for record in group.trials if record.fingerprint and _is_judged(record)}) > 1,
        )


def _judged(source: AnalysisSource, name: Name) -> bool:
    return any((record.eval, record.subject) == name and _is_judged(record) for record in source.records)


def _is_judged(record: Record) -> bool:
    return not isinstance(record.verdict, Void)


def _identity(trials: Sequence[Record], groups: dict[tuple[str, str], _Group]) -> tuple[str, str]:
    """The eval and model hashes of the judged trials; if unknown, those of the previous run."""
    judged = [trial for trial in trials if _is_judged(trial)]
    evals = dict.fromkeys(trial.eval_hash for trial in judged if trial.eval_hash)
    models = dict.fromkeys(trial.model_hash for trial in judged if trial.model_hash)
    last = next(reversed(groups), ("", ""))
    return " + ".join(evals) or last[0], " + ".join(models) or last[1]
