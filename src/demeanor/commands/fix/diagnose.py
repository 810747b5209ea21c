"""The history → what is known of evals that fail: their trials, what was sent, and where in the repository it lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.commands.fix.diagnosis import Diagnosis, DiagnosisTarget, Failing
from demeanor.commands.fix.patch_rules import Bounds
from demeanor.commands.fix.project import FixProject, bounds_of, inside
from demeanor.commands.fix.text_search import find_texts
from demeanor.commands.report.build import failing
from demeanor.commands.report.report import FailingCell, NightReport
from demeanor.commands.report.workflow import find_past_run, make_night_report
from demeanor.commands.trace.kept_trials import kept_capture, story_pairs
from demeanor.commands.trace.trial_steps import TrialSteps
from demeanor.core.capture import Capture
from demeanor.core.errors import StoreError, UnknownName, UsageError
from demeanor.core.exchange import Request
from demeanor.core.git import git
from demeanor.core.history import PastRun
from demeanor.core.ports import History
from demeanor.core.text import count
from demeanor.observe import observe
from demeanor.observe.conversations import Conversations
from demeanor.store.captures.capture_store import open_capture_store
from demeanor.vcs.git_info import git_state

_MOST_EVALS = 5
_LARGEST = 2**20
"""A larger file holds no prompt that a person wrote."""


def investigate(project: FixProject, history: History, what: str | None, *, run: str | None = None) -> Diagnosis:
    """What is known of the evals that failed: in the run, or of the eval, that is named; else in the latest night."""
    past, asked = _chosen(project, history, what, run)
    report = make_night_report(history, past, details=10**6)
    troubles, notes = _failing(project, report, asked)
    failures, sent = [], []
    for one in _told(project, history, replace(report, failures=troubles)):
        failures.append(one[0])
        sent += one[1]
    names = tuple(dict.fromkeys(one.eval for one in failures))
    places = find_texts(_texts(sent), _files(project.tree, bounds_of(project)))
    found = Diagnosis(
        run=past.info,
        commit=project.commit,
        evals=tuple(_target(project, name) for name in names),
        failures=tuple(failures),
        subjects=tuple(
            one.subject for one in report.subjects if any(row.eval in names and row.tally for row in one.rows)
        ),
        places=places,
        evals_too=project.config.fix.evals,
        notes=(*notes, *_notes(project, past, places)),
    )
    return replace(found, allowed=project.config.fix.allowed or found.sources)


def _chosen(
    project: FixProject, history: History, what: str | None, run: str | None
) -> tuple[PastRun, tuple[str, ...]]:
    """The run to look at, and the evals that are asked for; none means all that fail in it."""
    if what is None or run is not None:
        return find_past_run(history, run), (what,) if what else ()
    try:
        return find_past_run(history, what), ()
    except UnknownName as unknown:
        if what not in project.evals and not history.eval_history(what):
            raise UnknownName("run or eval", what, {*project.evals, *unknown.known}) from None
    cells = [cell for cell in history.eval_history(what) if cell.failed]
    if not cells:
        raise UsageError(f"no run that is kept has a failing trial of {what!r}\n  → demeanor run --scenario {what}")
    latest = max(cells, key=lambda cell: (cell.kind == "nightly", cell.started, cell.run))
    return history.run(latest.run), (what,)


def _failing(
    project: FixProject, report: NightReport, names: Sequence[str]
) -> tuple[tuple[FailingCell, ...], list[str]]:
    """What failed of what is asked for: evals that are named, or else those that the policy rejects."""
    rows = {
        (row.eval, subject)
        for row, subject in failing(report)
        if row.eval in names or (not names and row.decision is not None and row.decision.answer == "reject")
    }
    if not rows:
        which = " and ".join(map(repr, names)) if names else "no eval"
        raise UsageError(
            f"{which} {'did not fail' if names else 'was rejected'} in run {report.run.id}: there is nothing to fix\n"
            "  → name an eval or another run: demeanor fix EVAL|RUN"
        )
    evals = list(dict.fromkeys(one.eval for one in report.failures if (one.eval, one.subject) in rows))
    known = [name for name in evals if name in project.evals]
    notes = [f"{name} failed, but is not defined any more" for name in evals if name not in project.evals]
    if not known:
        raise UsageError(f"what failed in run {report.run.id} is not defined any more: {', '.join(evals)}")
    if len(known) > _MOST_EVALS:
        left = ", ".join(known[_MOST_EVALS:])
        notes.append(f"{count(len(known), 'eval')} failed; the worst {_MOST_EVALS} are taken, and left alone: {left}")
    chosen = known[:_MOST_EVALS]
    return tuple(one for one in report.failures if one.eval in chosen and (one.eval, one.subject) in rows), notes


def _told(
    project: FixProject, history: History, report: NightReport
) -> Iterator[tuple[Failing, list[tuple[str, Request]]]]:
    """Each failure with what is at hand of it; and the first request of its trial, by subject."""
    nights = {night.name: night for night in report.nights}
    pairs = story_pairs(history, report, project.config, project.results)
    for one, pair in zip(report.failures, pairs, strict=True):
        row = report.row(one.eval, one.subject)
        capture, absence = _capture(project, nights, pair.failing)
        passing, _ = _capture(project, nights, pair.passing)
        yield (
            Failing(
                eval=one.eval,
                subject=one.subject,
                policy=row.policy,
                passed=row.tonight.passed,
                judged=row.tonight.judged,
                ways=one.ways,
                failing=pair.failing,
                passing=pair.passing,
                sent=observe(capture, {}).asked if capture else None,
                sent_when_passing=observe(passing, {}).asked if passing else None,
                log=_log(capture) if capture else "",
                absence=absence,
            ),
            [(one.subject, exchange.request) for exchange in Conversations(capture.exchanges).main[:1]]
            if capture
            else [],
        )


def _capture(
    project: FixProject, nights: Mapping[str, PastRun], story: TrialSteps | None
) -> tuple[Capture | None, str]:
    if story is None:
        return None, "the history has no such trial"
    try:
        vault = open_capture_store(project.config)
        return kept_capture(nights[story.run], story.record, project.results, vault), ""
    except StoreError as error:
        return None, str(error).partition("\n")[0]


def _log(capture: Capture) -> str:
    return "".join(
        f"## program {number}: {name}\n{stream.text.rstrip()}\n"
        for number, end in enumerate(capture.ends, 1)
        for name, stream in (("output", end.stdout), ("errors", end.stderr))
        if stream.text.strip()
    )


def _texts(sent: Iterable[tuple[str, Request]]) -> dict[str, str]:
    """Every text that steers a model, by a name for it; the same text of several subjects is one."""
    found: dict[str, str] = {}
    for subject, request in sent:
        for name, text in _steering(request):
            if not text.strip():
                continue
            known = found.setdefault(name, text)
            if known != text:
                found[f"{name} ({subject})"] = text
    return found


def _steering(request: Request) -> Iterator[tuple[str, str]]:
    yield "system prompt", request.system
    for tool in request.tools:
        yield f"tool {tool.name}", tool.description
        arguments = tool.schema.get("properties")
        for name, about in arguments.items() if isinstance(arguments, Mapping) else ():
            if isinstance(about, Mapping) and isinstance(about.get("description"), str):
                yield f"tool {tool.name}, argument {name}", about["description"]


def _files(tree: Path, bounds: Bounds) -> Iterator[tuple[str, str]]:
    """The texts of the commit, without evals: their snapshots would always be found."""
    for path in git(tree, "ls-files", "-z").split("\0"):
        place = tree / path
        if not path or bounds.is_eval(path) or place.is_symlink() or not place.is_file():
            continue
        if place.stat().st_size > _LARGEST:
            continue
        content = place.read_bytes()
        if b"\0" not in content:
            yield path, content.decode("utf-8", "replace")


def _target(project: FixProject, name: str) -> DiagnosisTarget:
    one = project.evals[name]
    path = next(inside(project.top, [one.source.path]), str(one.source.path))
    where = f"{path}:{one.source.line}" if one.source.path.suffix == ".py" else path
    return DiagnosisTarget(name=name, description=one.description, prompts=one.scenario.prompts, where=where)


def _notes(project: FixProject, past: PastRun, places: Mapping[str, object]) -> Iterator[str]:
    ran = past.info.commit
    if ran and ran != project.commit:
        yield f"the run was of commit {ran[:12]}; what is mended is {project.commit[:12]}"
    if git_state(project.config.root).dirty:
        yield "there are uncommitted changes, which are left alone: only what is committed is mended"
    if past.info.dirty:
        yield "the run had uncommitted changes"
    lost = [name for name, found in places.items() if not found]
    if lost:
        yield f"found in no file of the repository: {', '.join(lost[:8])}{' …' if len(lost) > 8 else ''}"
