"""Request → run → report → report files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from demeanor.config import Config
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.text.codec import encode
from demeanor.core.trees.atomic_file import write_atomically, write_output, write_pieces
from demeanor.core.trees.git import unreadable
from demeanor.core.values.errors import DemeanorError, StoreError
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.fingerprints import asks_judge, files_unknown, unknown_files_note
from demeanor.core.values.history import KeptDecision
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.tally import Decision, Tally
from demeanor.core.values.trial import Plan
from demeanor.decide import decide
from demeanor.reports.run.report import Collection, RunReport, run_report
from demeanor.results import Stale, request_of_run, stale_attempts, uncounted
from demeanor.runner import SCRIPTED, UI, Catalog, RunResult, execute, prepare, tell_decisions
from demeanor.store.runs import RunFolder

_SCRIPTED_NOTE = (
    "`scripted` follows fixed rules in place of a model: it shows how Demeanor works, not how a model behaves"
)


def run_and_report(
    catalog: Catalog,
    plan: Plan,
    request: RunRequest,
    into: Path | RunFolder,
    *,
    ui: UI,
    environ: Mapping[str, str],
    collection: Collection | None = None,
    junit: Path | None = None,
) -> RunReport:
    """Run a plan, report on it and write the report files. `into` is as for `prepare`; a run folder is resumed."""
    if isinstance(into, RunFolder):
        info, stale = replace(into.info(), arguments=encode(request)), stale_attempts(into, plan)
        prepared = prepare(catalog, plan, request, into, info=info, stale=stale.attempts, log=ui.log)
    else:
        prepared, stale = prepare(catalog, plan, request, into, log=ui.log), Stale()
    result = execute(prepared, ui=ui)
    report = make_report(result, collection=collection, notes=stale.notes)
    return conclude(catalog, result, report, environ=environ, junit=junit)


def conclude(
    catalog: Catalog,
    result: RunResult,
    report: RunReport,
    *,
    environ: Mapping[str, str],
    junit: Path | None = None,
) -> RunReport:
    """The report with what is left to say at the end of a run; asks judges again after a night, tells the hooks, and
    writes the report files."""
    missing = result.stopped and any(cell.tally.missing for cell in report.cells)
    if missing and report.exit_code is ExitCode.ACCEPTED:
        report = replace(report, exit_code=ExitCode.UNDECIDED)
    drifted: tuple[str, ...] = ()
    if result.info.kind == "nightly" and not (
        request_of_run(result.info).replay or result.stopped or result.interrupted
    ):
        drifted = _drifted(catalog, result.plan, environ, results=result.folder.parent)
    notes = (*drifted, *_recorded(catalog.config, report, result.plan), *tell_decisions(_decisions(report)))
    report = replace(report, notes=(*report.notes, *notes))
    publish(report, result.folder, environ=environ, redactor=catalog.redactor, junit=junit)
    return report


def _drifted(catalog: Catalog, plan: Plan, environ: Mapping[str, str], *, results: Path) -> tuple[str, ...]:
    """Which judges have drifted; those that were not asked for a week are asked now."""
    evals = {cell.eval.name: cell.eval for cell in plan.cells if asks_judge(cell.eval)}
    if not evals:
        return ()
    from demeanor.reports.calibration import recheck_judges

    try:
        return recheck_judges(evals.values(), catalog, environ, results=results)
    except DemeanorError as error:  # the trials were run, and their result must not be lost
        return (f"judges were not asked about labelled trials again: {str(error).splitlines()[0]}",)


def make_report(
    result: RunResult,
    *,
    plan: Plan | None = None,
    collection: Collection | None = None,
    notes: Sequence[str] = (),
    decide: Callable[[Tally], Decision] = decide,
) -> RunReport:
    """Records → tallies → decisions → the value from which every report is made.

    `plan` replaces that of the result; `notes` come before those of the result.
    """
    plan = plan or result.plan
    return run_report(
        result.info,
        plan,
        result.records,
        decide=decide,
        root=Path.cwd(),
        folder=result.folder,
        seconds=result.seconds,
        notes=(*_notes(plan, result.stopped), *notes, *result.notes),
        interrupted=result.interrupted,
        collection=collection,
    )


def _recorded(config: Config, report: RunReport, plan: Plan) -> Iterator[str]:
    """What is not known of a run that git should have told, and whether it does not count as a night."""
    if report.run.commit is None and (why := unreadable(config.root)):
        yield f"git can't read the repository, so the run has no commit and no branch: {why}"
    for subject, prints in {cell.tally.subject: cell.records for cell in report.cells}.items():
        if any(files_unknown(record.fingerprint) for record in prints):
            yield unknown_files_note(subject)
    if report.run.kind == "nightly":
        tallies = {f"{cell.tally.eval}/{cell.tally.subject}": cell.tally for cell in report.cells}
        tried = (cell for cell in plan.cells if cell.skipped is None and cell.id in tallies)
        yield from uncounted(
            config, report.run, [(cell.eval, str(cell.subject), tallies[cell.id].judged) for cell in tried]
        )


def _decisions(report: RunReport) -> Iterator[KeptDecision]:
    """The decisions of a run, for hooks."""
    made = datetime.now(UTC).isoformat(timespec="milliseconds")
    for cell in report.cells:
        yield KeptDecision(
            made=made,
            ruling="run",
            eval=cell.tally.eval,
            subject=cell.tally.subject,
            answer=cell.decision.answer,
            rule=cell.decision.rule,
            reason=cell.decision.reason,
            run=report.run.id,
            commit=report.run.commit,
        )


def _notes(plan: Plan, stopped: str | None) -> tuple[str, ...]:
    scripted = any(cell.subject.model == SCRIPTED for cell in plan.cells)
    faults = dict.fromkeys(str(fault) for cell in plan.cells for fault in cell.eval.scenario.faults)
    online = sorted({cell.eval.name for cell in plan.cells if cell.eval.scenario.network == "host"})
    open_to = (f"agents had the network of the host in: {', '.join(online)}",) if online else ()
    changed = sorted({edit for cell in plan.cells for edit in Intervention.of(cell.subject).edits})
    prompts = (f"the prompt was changed on its way to the model: {', '.join(changed)}",) if changed else ()
    broken = (f"faults were injected on purpose: {', '.join(faults)}",)
    return (
        ((stopped,) if stopped else ())
        + prompts
        + open_to
        + (broken if faults else ())
        + ((_SCRIPTED_NOTE,) if scripted else ())
    )


def publish(
    report: RunReport,
    folder: Path,
    *,
    environ: Mapping[str, str],
    redactor: Redactor,
    junit: Path | None = None,
    lead: str = "",
    files: Mapping[str, str] | None = None,
) -> None:
    """Write the report files, without secrets: into the run folder, to `junit`, and to the summary of a GitHub job.

    `lead` takes the place of the run's own answer and tables in the summary; `files` are further files of the run.
    """
    try:
        for name, text in (files or {}).items():
            write_atomically(folder / name, redactor.text(text))
        _write(report, folder, environ, redactor, junit, lead)
    except OSError as error:
        raise StoreError(f"{error.filename or folder}: the report can't be written: {error.strerror}") from error


def _write(
    report: RunReport, folder: Path, environ: Mapping[str, str], redactor: Redactor, junit: Path | None, lead: str
) -> None:
    from demeanor.reports.run.markdown import markdown
    from demeanor.reports.run.to_json import json_pieces

    write_pieces(folder / "report.json", map(redactor.text, json_pieces(report)))
    summary = redactor.text(markdown(report, lead=lead))
    write_atomically(folder / "summary.md", summary)
    if junit is not None:
        from demeanor.reports.run.junit import junit_report as junit_xml

        junit.parent.mkdir(parents=True, exist_ok=True)
        write_output(junit, redactor.text(junit_xml(report)))
    if report.run.kind != "nightly":  # the summary of a night is `demeanor report`, which shows the nights before it
        append_step_summary(summary, environ)


def append_step_summary(text: str, environ: Mapping[str, str]) -> None:
    """Append a text to the summary of a GitHub job, in one."""
    if path := environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
