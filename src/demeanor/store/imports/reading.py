"""Which format a file or folder has, and what it holds."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.store.imports import atif, cline, harbor, inspect, junit, own, vitest
from demeanor.store.imports.imported import Imported, ImportOptions, read_bytes, read_json
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder
from demeanor.store.runs.sync import kept_of, noted_cells

_KNOWN = (
    "a vitest JSON report, Cline's report.json, a Harbor job folder, JUnit XML, an Inspect log, or a run or report.json"
    " of Demeanor"
)
_REJUDGED = "holds trials of another run, judged again: counted here they would count twice"
_SUFFIXES = {".json", ".xml", ".eval"}


def read_imports(paths: Iterable[Path], options: ImportOptions) -> tuple[Imported, ...]:
    """Every run that some files and folders hold; any mistake in one of them is a BadInput."""
    found = [one for path in paths for one in _read(path, options)]
    for one in found:
        if not one.kept and not one.cells:
            raise BadInput("holds no trials", where=one.source, remedy="is it the report of an empty run?")
    return tuple(found)


def _read(path: Path, options: ImportOptions) -> Iterator[Imported]:
    if path.is_dir():
        yield from _read_folder(path, options)
    elif path.is_file():
        yield _read_file(path, options)
    else:
        raise BadInput("there is no such file or folder", where=path)


def _read_file(path: Path, options: ImportOptions) -> Imported:
    if path.suffix == ".eval" or zipfile.is_zipfile(path):
        return inspect.read(path, options)
    content = read_bytes(path)
    if content.lstrip()[:1] == b"<":
        if not junit.fits(content):
            raise BadInput("is XML, but no JUnit report", where=path, remedy=f"expected {_KNOWN}")
        return junit.read(path, options)
    data = read_json(path, content)
    if own.fits(data):
        return own.read(path, options)
    if vitest.fits(data):
        return vitest.read([path], path, options)
    if cline.fits(data):
        return cline.read(path, options)
    if harbor.fits(data):
        return harbor.read([path], path, options)
    if inspect.fits(data):
        return inspect.read(path, options)
    if atif.fits(data):
        raise BadInput("a trajectory says not whether it passed", where=path, remedy="import the job's folder instead")
    raise BadInput("is of no format that is known", where=path, remedy=f"expected {_KNOWN}")


def _read_folder(folder: Path, options: ImportOptions) -> Iterator[Imported]:
    if (folder / RUN_FILE).is_file():
        yield _read_run(RunFolder(folder), options)
        return
    trials = [path for path in sorted(folder.glob("*/result.json")) if harbor.fits(read_json(path))]
    if trials:
        yield harbor.read(trials, folder, options)
        return
    reports: list[Path] = []
    others: list[Imported] = []
    for path in _files(folder):
        if path.name == RUN_FILE:
            others.append(_read_run(RunFolder(path.parent), options))
        elif path.suffix == ".json":
            data = read_json(path)
            if vitest.fits(data):
                reports.append(path)
            elif any(fits(data) for fits in (own.fits, cline.fits, inspect.fits)):
                others.append(_read_file(path, options))
        elif path.suffix == ".eval" or junit.fits(read_bytes(path)):
            others.append(_read_file(path, options))
    if not reports and not others:
        raise BadInput("holds nothing that can be imported", where=folder, remedy=f"expected {_KNOWN}")
    if reports:
        yield vitest.read(reports, folder, options)
    yield from others


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder that may be imported; what a run of Demeanor left in its own folder is passed over."""
    runs = {path.parent for path in folder.rglob(RUN_FILE)}
    for path in sorted(folder.rglob("*")):
        inside = any(parent in runs for parent in (path.parent if path.name == RUN_FILE else path).parents)
        if path.suffix in _SUFFIXES and path.is_file() and not path.is_symlink() and not inside:
            yield path


def _read_run(run: RunFolder, options: ImportOptions) -> Imported:
    """A run's folder, whichever machine it comes from."""
    from dataclasses import replace

    info = run.info()
    if info.rejudges:
        raise BadInput(_REJUDGED, where=run.folder, remedy=f"import the run itself: {run.folder.parent.parent}")
    records = run.records()
    info = replace(info, kind=options.kind) if options.kind else info
    return Imported(
        run=info,
        origin=own.ORIGIN,
        source=run.folder,
        cells=tuple(noted_cells(run, records)),
        kept=kept_of(run, records),
    )
