"""Finds out the format of files and folders, reads the runs in them, and writes these to the history."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from demeanor.core.entry_points import installed, loaded
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.redaction.values import redacted
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.errors import BadInput
from demeanor.core.values.ports import History
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Void, VoidCause
from demeanor.store.history.database import Database
from demeanor.store.history.run_writer import RunWriter, WrittenRecord
from demeanor.store.history.sql_history import SqlHistory
from demeanor.store.imports import cline, demeanor_report, inspect, junit, vitest
from demeanor.store.imports.common import Imported, ImportOptions, UnloadedFile, cells_of, read_bytes, read_json
from demeanor.store.runs.run_dirs import address_of
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder
from demeanor.store.runs.sync import planned_cells_of, written_records

_FORMATS = "a Vitest JSON report, Cline's report.json, JUnit XML, an Inspect log, a run or report.json of Demeanor"
_REJUDGED = "contains new verdicts for trials of another run, which would be counted twice"
_SUFFIXES = {".json", ".xml", ".eval"}
IMPORTS = "demeanor.imports"
"""The entry point of readers in other packages. It names a module."""


def read_imports(paths: Iterable[Path], options: ImportOptions) -> tuple[Imported, ...]:
    """Read all runs in some files and folders; raises BadInput if one of them can't be read."""
    imports = [imported for path in paths for imported in _read(path, options)]
    for imported in imports:
        if not imported.records and not imported.cells and not imported.unloaded:
            raise BadInput(
                "contains no trials", where=imported.source, remedy="import the report of a run that had trials"
            )
    return tuple(imports)


def _read(path: Path, options: ImportOptions) -> Iterator[Imported]:
    if path.is_dir():
        yield from _read_folder(path, options)
    elif path.is_file():
        yield _read_file(path, options)
    else:
        raise BadInput("does not exist", where=path)


def _read_file(path: Path, options: ImportOptions) -> Imported:
    if path.suffix == ".eval" or zipfile.is_zipfile(path):
        return inspect.read(path, options)
    content = read_bytes(path)
    if content.lstrip()[:1] == b"<":
        if not junit.matches(content):
            raise BadInput("is XML, but not a JUnit report", where=path, remedy=f"expected {_FORMATS}{other_formats()}")
        return junit.read(path, options)
    data = read_json(path, content)
    if demeanor_report.matches(data):
        return demeanor_report.read(path, options)
    if vitest.matches(data):
        return vitest.read([path], path, options)
    if cline.matches(data):
        return cline.read(path, options)
    if inspect.matches(data):
        return inspect.read(path, options)
    if reader := reader_of(path):
        return reader.read(path, options)
    if isinstance(data, dict) and str(data.get("schema_version", "")).startswith("ATIF-"):
        raise BadInput("is a trajectory, which has no verdict", where=path, remedy="import the job folder instead")
    raise BadInput("has an unknown format", where=path, remedy=f"expected {_FORMATS}{other_formats()}")


def _read_folder(folder: Path, options: ImportOptions) -> Iterator[Imported]:
    if (folder / RUN_FILE).is_file():
        yield _read_run(RunFolder(folder), options)
        return
    if reader := reader_of(folder):
        yield reader.read(folder, options)
        return
    reports: list[Path] = []
    others: list[Imported] = []
    for path in _files(folder):
        if path.name == RUN_FILE:
            others.append(_read_run(RunFolder(path.parent), options))
        elif path.suffix == ".json":
            data = read_json(path)
            if vitest.matches(data):
                reports.append(path)
            elif any(matches(data) for matches in (demeanor_report.matches, cline.matches, inspect.matches)):
                others.append(_read_file(path, options))
        elif path.suffix == ".eval" or junit.matches(read_bytes(path)):
            others.append(_read_file(path, options))
    if not reports and not others:
        remedy = f"expected {_FORMATS}{other_formats()}"
        raise BadInput("contains nothing that can be imported", where=folder, remedy=remedy)
    if reports:
        yield vitest.read(reports, folder, options)
    yield from others


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder that could be imported, without those inside a run of Demeanor, and without shards."""
    runs = {path.parent for path in folder.rglob(RUN_FILE)}
    for path in sorted(folder.rglob("*")):
        inside = any(parent in runs for parent in (path.parent if path.name == RUN_FILE else path).parents)
        if path.suffix not in _SUFFIXES or not path.is_file() or path.is_symlink() or inside:
            continue
        if path.name != RUN_FILE or not RunFolder(path.parent).info().is_shard:
            yield path


def _read_run(run: RunFolder, options: ImportOptions) -> Imported:
    """Read the folder of a run, from this machine or another one."""
    info = run.info()
    if info.rejudges:
        raise BadInput(_REJUDGED, where=run.folder, remedy=f"import the run itself: {run.folder.parent.parent}")
    records = run.records()
    info = replace(info, kind=options.kind) if options.kind else info
    return Imported(
        run=info,
        origin=demeanor_report.ORIGIN,
        source=run.folder,
        cells=tuple(planned_cells_of(run)),
        records=written_records(run, records),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """The result of writing one imported run."""

    imported: Imported
    """The run."""

    new: int
    """The number of attempts that were not in the history before."""


def write_imports(database: Database, imports: Iterable[Imported], redactor: Redactor) -> tuple[Written, ...]:
    """Write runs to the history, without this machine's secrets, each in one transaction."""
    written = []
    for imported in imports:
        if imported.unloaded:
            imported = void_unloaded(imported, SqlHistory(database))  # noqa: PLW2901 - the same run, completed
        writer = RunWriter(
            database,
            redacted(imported.run, redactor),
            origin=imported.origin,
            source=address_of(imported.source.absolute()),
        )
        new = writer.write(redacted(imported.cells, redactor), redacted(imported.records, redactor))
        written.append(Written(imported=imported, new=new))
    return tuple(written)


class ResultReader(Protocol):
    """A module that reads the results of one tool."""

    FORMAT: str
    """What it reads, with an article: `a Harbor job folder`."""

    def matches(self, path: Path) -> bool:
        """Whether a folder or a JSON file has such results."""
        ...

    def read(self, path: Path, options: ImportOptions) -> Imported:
        """The run in it; raises BadInput."""
        ...


def reader_of(path: Path) -> ResultReader | None:
    """The reader of a folder or a JSON file; None if no package can read it."""
    return next((reader for reader in _readers() if reader.matches(path)), None)


def other_formats() -> str:
    """What else can be imported, to complete a sentence that lists formats."""
    return "".join(f", or {reader.FORMAT}" for reader in _readers())


def _readers() -> tuple[ResultReader, ...]:
    return tuple(loaded(point) for point in installed(IMPORTS))


# Test files that could not be loaded, or whose set-up failed.
#
# The report of the former has no tests, and of the latter only skipped ones; earlier runs tell which tests they
# had.

_RUNS = 50
"""An earlier run of the same subject is looked for among this many."""


def void_unloaded(imported: Imported, history: History) -> Imported:
    """The run with a void for each test that is missing because its file could not be loaded.

    These are the tests that the file has in other reports of the run, and those of the last earlier run of the subject
    that the report lacks: a report without a file can't tell whether a test was removed.
    """
    records, notes = list(imported.records), list(imported.notes)
    for file in imported.unloaded:
        tried = {record.record.eval for record in records if _is_of(record.record, file)}
        names = dict.fromkeys((*file.tests, *_earlier_tests(imported, file.subject, history)))
        skipped = {cell.eval for cell in imported.cells if cell.subject == file.subject and cell.skipped}
        missing = [name for name in names if name not in tried and name not in skipped]
        what = "could not be loaded"
        if file.skipped:  # a test that earlier runs skipped too is skipped on purpose
            missing, what = [name for name in file.skipped if name in names], "failed in its set-up"
        where = f"{one_line(file.path)} {what} ({file.subject}, trial {file.number})"
        detail = f"the test file {file.path} {what}: {file.reason}"
        records += [WrittenRecord(record=_void(name, file, detail)) for name in missing]
        voids = f"{count(len(missing), 'test')} of earlier runs void" if missing else "no earlier run tells its tests"
        notes.append(f"{where}, {voids}: {one_line(file.reason)}")
    policies = {(cell.eval, cell.subject): cell.policy for cell in imported.cells}
    cells = tuple(
        replace(cell, policy=policies.get((cell.eval, cell.subject), cell.policy))
        for cell in cells_of(records, [cell for cell in imported.cells if cell.skipped])
    )
    return replace(imported, records=tuple(records), cells=cells, notes=tuple(notes))


def _is_of(record: Record, file: UnloadedFile) -> bool:
    return (record.subject, record.number) == (file.subject, file.number)


def _void(name: str, file: UnloadedFile, detail: str) -> Record:
    verdict = Void(cause=VoidCause.CHECK, detail=detail)
    return Record(eval=name, subject=file.subject, number=file.number, attempt=1, verdict=verdict)


def _earlier_tests(imported: Imported, subject: str, history: History) -> tuple[str, ...]:
    """The tests of the last earlier run of the subject."""
    for run in history.runs(limit=_RUNS):
        if run.origin != imported.origin or run.info.started >= imported.run.started:
            continue
        names = tuple(cell.eval for cell in history.cells(run.name) if cell.subject == subject and not cell.skipped)
        if names:
            return names
    return ()
