"""Diagnose failing evals: their trials, what was sent to the model, and where that text is in the repository.

A person or an agent should need nothing else to fix the cause.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from demeanor.commands.fix.project import FixProject, bounds_of, relative_to_top
from demeanor.core.text.wording import count
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError, UnknownName, UsageError
from demeanor.core.values.exchange import Request
from demeanor.core.values.history import PastRun
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import RunInfo
from demeanor.core.values.run_request import RunRequest
from demeanor.observe import first_request, observe
from demeanor.reports.night import FailingCell, FailureMode, NightReport, failing, load_step_pairs, make_night_report
from demeanor.results import TrialSteps, find_past_run, load_capture
from demeanor.runner import tree_of
from demeanor.store.captures import open_capture_store
from demeanor.store.history import SqlHistory
from demeanor.store.runs import place_of
from demeanor.vcs import TextLocation, find_texts, tracked_text_files

_MOST_EVALS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class FailingEval:
    """One eval that failed with one subject."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy."""

    passed: int
    """Trials of the run that passed."""

    judged: int
    """Trials of the run that passed or failed."""

    modes: tuple[FailureMode, ...] = ()
    """How trials failed, the most common first. Hostile text."""

    failing: TrialSteps | None = None
    """A trial that failed."""

    passing: TrialSteps | None = None
    """The most similar trial that passed, in this run or in a night before; None when there is none."""

    sent: str | None = None
    """System prompt and tools as the failing trial sent them; None when not available. Hostile text."""

    sent_when_passing: str | None = None
    """The same for the passing trial."""

    log: str = ""
    """What the agent of the failing trial printed, including errors. Hostile text."""

    absence: str = ""
    """Why the capture of the failing trial is not available; empty when it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DiagnosisTarget:
    """An eval that the fix should make pass."""

    name: str
    """Its name."""

    description: str
    """Its description, one sentence."""

    prompts: tuple[str, ...]
    """What the agent is asked to do."""

    where: str
    """`path:line` of its definition, relative to the top of the repository."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """Everything that is known about the failing evals of one run."""

    run: RunInfo
    """The run in which they failed."""

    commit: str
    """The commit that is to be fixed."""

    evals: tuple[DiagnosisTarget, ...]
    """The evals in the order of the report: the worst first."""

    failures: tuple[FailingEval, ...]
    """The failures, per eval and subject."""

    subjects: tuple[str, ...] = ()
    """All subjects of the run that ran one of these evals, including those that passed."""

    places: Mapping[str, tuple[TextLocation, ...]] = field(default_factory=dict)
    """Where each text that was sent (`system prompt`, `tool read_file`) was found in the repository."""

    allowed: tuple[str, ...] = ()
    """Patterns of the files that a fixer may change, relative to the top of the repository."""

    evals_allowed: bool = False
    """Whether a fixer may change evals, as a last resort."""

    notes: tuple[str, ...] = ()
    """Notes for the reader."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that the sent texts come from, as far as known."""
        paths = (place.path for places in self.places.values() for place in places if place.source)
        return tuple(dict.fromkeys(paths))


def diagnose(project: FixProject, history: SqlHistory, what: str | None, *, run: str | None = None) -> Diagnosis:
    """Diagnose a named eval, or the evals that failed or got worse in a named run or in the latest night.

    An eval whose rate fell may by chance pass in the latest night: then its latest failing run is diagnosed.
    """
    past, requested = _choose_run(project, history, what, run)
    report = make_night_report(history, past, project.config, details=10**6)
    if what is None and run is None and not _urgent(report):
        worse = next((shift.eval for shift in report.shifts if shift.fell and shift.eval in project.evals), None)
        if worse is not None:
            return diagnose(project, history, worse)
    cells, notes = _choose_failures(project, report, requested)
    failures, requests = [], []
    for failure, request in _load_failures(project, history, replace(report, failures=cells)):
        failures.append(failure)
        requests += [(failure.subject, request)] if request else []
    names = tuple(dict.fromkeys(failure.eval for failure in failures))
    places = find_texts(_prompt_texts(requests), tracked_text_files(project.tree, leave_out=bounds_of(project).is_eval))
    diagnosis = Diagnosis(
        run=past.info,
        commit=project.commit,
        evals=tuple(_target(project, name) for name in names),
        failures=tuple(failures),
        subjects=tuple(
            nights.subject for nights in report.subjects if any(row.eval in names and row.tally for row in nights.rows)
        ),
        places=places,
        evals_allowed=project.config.fix.evals,
        notes=(*notes, *_notes(project, past, places)),
    )
    return replace(diagnosis, allowed=project.config.fix.allowed or diagnosis.sources)


def _choose_run(
    project: FixProject, history: SqlHistory, what: str | None, run: str | None
) -> tuple[PastRun, tuple[str, ...]]:
    """Return the run to look at, and the requested evals; empty means those of the run that need a fix."""
    if what is None or run is not None:
        return find_past_run(history, run, results=project.results), (what,) if what else ()
    try:
        return find_past_run(history, what, results=project.results), ()
    except UnknownName as unknown:
        if what not in project.evals and not history.eval_history(what):
            raise UnknownName("run or eval", what, {*project.evals, *unknown.known}) from None
    cells = [cell for cell in history.eval_history(what) if cell.judged]
    if not cells:
        raise UsageError(f"no stored run has a result of {what!r}\n  → demeanor run --scenario {shlex.quote(what)}")
    latest = max(cells, key=lambda cell: (cell.failed > 0, cell.kind == "nightly", cell.started, cell.run))
    return history.run(latest.run), (what,)


def _choose_failures(
    project: FixProject, report: NightReport, names: Sequence[str]
) -> tuple[tuple[FailingCell, ...], list[str]]:
    """Return the cells of the named evals, or else those that need a fix, worst first, and notes about them."""
    rows = _rows_of(report, names) if names else _rows_to_fix(report)
    if not rows:
        which = f"{' and '.join(map(repr, names))} was not judged" if names else "no trial failed"
        raise UsageError(
            f"{which} in run {report.run.id}: there is nothing to fix\n"
            "  → name an eval or another run: demeanor fix EVAL|RUN"
        )
    reasons = {(cell.eval, cell.subject): cell for cell in report.failures}
    cells = [reasons.get(row) or FailingCell(eval=row[0], subject=row[1], ways=()) for row in rows]
    evals = list(dict.fromkeys(cell.eval for cell in cells))
    names_here = [name for name in evals if name in project.evals]
    notes = [f"{name} failed, but is no longer defined" for name in evals if name not in project.evals]
    if not names_here:
        raise UsageError(
            f"the evals that failed in run {report.run.id} are no longer defined: {', '.join(evals)}\n"
            "  → name an eval or another run: demeanor fix EVAL|RUN"
        )
    if len(names_here) > _MOST_EVALS:
        left = ", ".join(names_here[_MOST_EVALS:])
        notes.append(
            f"{count(len(names_here), 'eval')} failed; this fix covers the worst {_MOST_EVALS}, without {left}"
        )
    chosen = names_here[:_MOST_EVALS]
    return tuple(cell for cell in cells if cell.eval in chosen), notes


def _rows_of(report: NightReport, names: Sequence[str]) -> list[tuple[str, str]]:
    """The cells of the named evals, as eval and subject: those with failed trials, or else all that were judged."""
    rows = [(row, nights.subject) for nights in report.subjects for row in nights.rows if row.eval in names]
    failed = [(row, subject) for row, subject in rows if row.tonight.failed]
    return [(row.eval, subject) for row, subject in failed or rows if row.tonight.judged]


def _rows_to_fix(report: NightReport) -> list[tuple[str, str]]:
    """The cells that the policy rejects or that got worse in these nights, or else those with any failed trial."""
    return _urgent(report) or [(row.eval, subject) for row, subject in failing(report)]


def _urgent(report: NightReport) -> list[tuple[str, str]]:
    """The cells with a failed trial that the policy rejects or that got worse in these nights."""
    worse = {(shift.eval, shift.subject) for shift in report.shifts if shift.fell}
    return [
        (row.eval, subject)
        for row, subject in failing(report)
        if (row.decision is not None and row.decision.answer == "reject") or (row.eval, subject) in worse
    ]


def _load_failures(
    project: FixProject, history: SqlHistory, report: NightReport
) -> Iterator[tuple[FailingEval, Request | None]]:
    """Yield each failure with its trials and captures, and the first request of the failing trial."""
    nights = {run.name: run for night in report.nights for run in night.runs}
    pairs = load_step_pairs(history, report, project.config, project.results)
    for cell, pair in zip(report.failures, pairs, strict=True):
        row = report.row(cell.eval, cell.subject)
        capture, absence = _capture(project, nights, pair.failing)
        passing, _ = _capture(project, nights, pair.passing)
        shown = capture or passing
        request = first_request(shown.exchanges) if shown else None
        yield (
            FailingEval(
                eval=cell.eval,
                subject=cell.subject,
                policy=row.policy,
                passed=row.tonight.passed,
                judged=row.tonight.judged,
                modes=cell.ways,
                failing=pair.failing,
                passing=pair.passing,
                sent=observe(capture, {}).asked if capture else None,
                sent_when_passing=observe(passing, {}).asked if passing else None,
                log=_log(capture) if capture else "",
                absence=absence,
            ),
            request,
        )


def _capture(
    project: FixProject, nights: Mapping[str, PastRun], trial: TrialSteps | None
) -> tuple[Capture | None, str]:
    """Return a trial's capture, or None and the reason why it is not available."""
    if trial is None:
        return None, "the history has no such trial"
    try:
        captures = open_capture_store(project.config)
        return load_capture(place_of(nights[trial.run], project.results), trial.record, captures), ""
    except StoreError as error:
        return None, str(error).partition("\n")[0]


def _log(capture: Capture) -> str:
    return "".join(
        f"## program {number}: {name}\n{stream.text.rstrip()}\n"
        for number, end in enumerate(capture.ends, 1)
        for name, stream in (("output", end.stdout), ("errors", end.stderr))
        if stream.text.strip()
    )


def _prompt_texts(requests: Iterable[tuple[str, Request]]) -> dict[str, str]:
    """Return every text that instructs a model, by name; a text that several subjects share appears once."""
    texts: dict[str, str] = {}
    for subject, request in requests:
        for name, text in _instructions(request):
            if not text.strip():
                continue
            first = texts.setdefault(name, text)
            if first != text:
                texts[f"{name} ({subject})"] = text
    return texts


def _instructions(request: Request) -> Iterator[tuple[str, str]]:
    yield "system prompt", request.system
    for tool in request.tools:
        yield f"tool {tool.name}", tool.description
        arguments = tool.schema.get("properties")
        for name, about in arguments.items() if isinstance(arguments, Mapping) else ():
            if isinstance(about, Mapping) and isinstance(about.get("description"), str):
                yield f"tool {tool.name}, argument {name}", about["description"]


def _target(project: FixProject, name: str) -> DiagnosisTarget:
    eval_ = project.evals[name]
    path = next(relative_to_top(project.top, [eval_.source.path]), str(eval_.source.path))
    where = f"{path}:{eval_.source.line}" if eval_.source.path.suffix == ".py" else path
    return DiagnosisTarget(name=name, description=eval_.description, prompts=eval_.scenario.prompts, where=where)


def _notes(project: FixProject, past: PastRun, places: Mapping[str, object]) -> Iterator[str]:
    ran = past.info.commit
    if ran and ran != project.commit:
        yield f"the run was of commit {ran[:12]}; this fix is for commit {project.commit[:12]}"
    if tree_of(project.config, RunRequest(), project.results).dirty:
        yield "uncommitted changes are ignored: a fix starts from the last commit"
    if past.info.dirty:
        yield "the run was made with uncommitted changes"
    lost = [name for name, place in places.items() if not place]
    if lost:
        yield f"not found in any file of the repository: {', '.join(lost[:8])}{' …' if len(lost) > 8 else ''}"
