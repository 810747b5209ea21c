"""The Python API to everything that is stored: `demeanor.open_store()`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demeanor.config import Config, read_config
from demeanor.core.installation import install_extra
from demeanor.core.values.errors import BadInput, UnknownName
from demeanor.core.values.history import PastRun
from demeanor.core.values.notes import NoteLabel
from demeanor.core.values.record import Record, RunKind
from demeanor.core.values.trajectory import Event
from demeanor.results import find_past_run, open_project_history, read_steps
from demeanor.store.captures import open_capture_store
from demeanor.store.exports import COLUMNS, arrow_schema, row
from demeanor.store.history import read_notes
from demeanor.store.runs import place_of

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]


class ResultStore(AbstractContextManager["ResultStore"]):
    """Stored runs, trials and trajectories, read-only. Close it, or use it in a `with` block."""

    def __init__(self, config: Config, environ: Mapping[str, str], *, project: bool = True) -> None:
        self._config = config
        self._project = project
        self._results = config.root / config.results
        self._history = open_project_history(config, environ, results=self._results)

    def runs(
        self, *, kind: RunKind | None = None, branch: str | None = None, limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """The runs, newest first: name, start, kind, commit, branch, dirty, and where each is stored."""
        for run in self._history.runs(kind=kind, branch=branch, limit=limit):
            info = run.info
            yield {
                "run": run.name,
                "started": info.started,
                "kind": info.kind,
                "origin": run.origin,
                "commit": info.commit,
                "branch": info.branch,
                "dirty": info.dirty,
                "source": run.source,
            }

    def trials(
        self,
        *,
        run: str | None = None,
        eval: str | None = None,  # noqa: A002 - the name of the column
        subject: str | None = None,
        attempts: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """The trials of a run, or of all runs, newest run first; one run is read at a time.

        Each is a dict with the columns of `demeanor store export --format csv`. `verdict` is `pass`, `fail` or `void`:
        a void trial is neither a pass nor a fail. With `attempts`, superseded attempts are included.
        """
        for past in (self._run(run),) if run is not None else self._history.runs():
            for record in self._records(past, eval, subject, attempts=attempts):
                yield dict(zip(COLUMNS, row(past, record), strict=True))

    def trajectory(self, trial: Mapping[str, Any]) -> tuple[Event, ...]:
        """What happened in a trial, step by step; raises StoreError, with the place, if that can't be reached."""
        past = self._run(trial["run"])
        key = (trial["trial"], trial["attempt"])
        for record in self._records(past, trial["eval"], trial["subject"], attempts=True):
            if (record.number, record.attempt) == key:
                return read_steps(place_of(past, self._results), record, open_capture_store(self._config))
        raise UnknownName("trial", f"{trial['eval']}/{trial['subject']}/{trial['trial']}", (), where=past.name)

    def notes(
        self,
        *,
        run: str | None = None,
        eval: str | None = None,  # noqa: A002 - the name of the column
        subject: str | None = None,
        label: NoteLabel | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The notes of people about trials, newest first; the newest about a trial counts.

        Each is a dict: run, eval, subject, trial, label (`real`, `flaky`, `eval-bug` or `infra`), text, author, made.
        """
        of = self._run(run).name if run is not None else None
        for note in read_notes(self._history, run=of, name=eval, subject=subject, label=label):
            yield {
                "run": note.run,
                "eval": note.eval,
                "subject": note.subject,
                "trial": note.number,
                "label": note.label,
                "text": note.text,
                "author": note.author,
                "made": note.made,
            }

    def arrow(
        self,
        *,
        run: str | None = None,
        eval: str | None = None,  # noqa: A002 - the name of the column
        subject: str | None = None,
        attempts: bool = False,
    ) -> pyarrow.RecordBatchReader:
        """The same trials as a reader of Arrow batches, one per run, for pandas, polars or DuckDB."""
        try:
            import pyarrow
        except ImportError:
            raise BadInput(
                "the package for Arrow is not installed",
                where="ResultStore.arrow",
                remedy=install_extra("parquet"),
            ) from None
        schema = arrow_schema()

        def batches() -> Iterator[pyarrow.RecordBatch]:
            for name in (run,) if run is not None else [past.name for past in self._history.runs()]:
                rows = list(self.trials(run=name, eval=eval, subject=subject, attempts=attempts))
                if rows:
                    yield pyarrow.RecordBatch.from_pylist(rows, schema=schema)

        return pyarrow.RecordBatchReader.from_batches(schema, batches())

    def close(self) -> None:
        """Close the connection to the database."""
        self._history.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, name: str) -> PastRun:
        """A run by its name, its uid or its folder; `latest` is the run that the commands take for it."""
        return find_past_run(self._history, name, results=self._results if self._project else None)

    def _records(self, run: PastRun, name: str | None, subject: str | None, *, attempts: bool) -> tuple[Record, ...]:
        read = self._history.records if attempts else self._history.trials
        return read(run.name, name=name, subject=subject)


def open_store(place: str | os.PathLike[str] | None = None) -> ResultStore:
    """Open the store of the project in the current folder, or at `place`: another project's folder, a database file,
    or `postgresql://…`."""
    if place is None:
        return ResultStore(read_config(Path()), os.environ)
    text = os.fspath(place)
    path = Path(text)
    if "://" not in text and not path.exists():
        raise BadInput("does not exist", where=path, remedy="name a project's folder, a database file or a URL")
    if "://" not in text and path.is_dir():
        return ResultStore(read_config(path), os.environ)
    config = read_config(Path() if "://" in text else path.parent)
    return ResultStore(replace(config, store=text if "://" in text else str(path.resolve())), {}, project=False)
