"""The report of one run as a value, from which all formats are rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.record import Record, RunInfo, last_attempts
from demeanor.core.values.tally import CaseGroup, Decision, Summary, Tally
from demeanor.core.values.usage import Total, price_notes, total
from demeanor.decide import decide, exit_code
from demeanor.results import case_groups, despite_lost, summary, tally

if TYPE_CHECKING:
    from demeanor.core.values.trial import Cell, Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class CellReport:
    """One eval on one subject: its trials, their tally and the decision."""

    source: str
    """The path of the eval, as it is written on a command line."""

    line: int
    """The line of its definition."""

    agent: str
    """The subject's agent."""

    model: str
    """The subject's model; empty for an agent without one."""

    fingerprint: str
    """The subject's fingerprint, which changes with agent, model and settings."""

    tally: Tally
    """The verdicts, counted."""

    decision: Decision
    """What follows from the tally under the eval's policy."""

    records: tuple[Record, ...] = ()
    """All attempts at all trials, in the order in which they ended."""

    description: str = ""
    """One sentence about the eval."""

    suite: str | None = None
    """The suite it belongs to."""

    tags: tuple[str, ...] = ()
    """Its labels."""

    owner: str | None = None
    """Who maintains it."""

    issue: str | None = None
    """The issue it is tracked in."""

    cases_of: str | None = None
    """The name that it shares with the other cases of its table; None if it is not a case."""

    layer: int = 2
    """The layer of the pyramid: 2 for a behaviour, 3 for a whole task."""

    @property
    def trials(self) -> tuple[Record, ...]:
        """The attempt of each trial that counts, ordered by trial number."""
        return last_attempts(self.records)


@dataclass(frozen=True, kw_only=True, slots=True)
class Collection:
    """The evals that exist now, compared with those of an earlier time."""

    collected: int
    """How many evals were found, before any selection."""

    compared_with: str = ""
    """What they are compared with, such as `the base commit 0d1f2a3`; empty if there is nothing to compare with."""

    earlier: int | None = None
    """How many evals there were then; None if there is nothing to compare with."""

    removed: Mapping[str, str] = field(default_factory=dict)
    """The evals that are gone since then, by name, each with the file that it was in, if known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """One run: its cells, their decisions and its exit code."""

    run: RunInfo
    """The run's name, time, commit, seed and arguments."""

    cells: tuple[CellReport, ...]
    """One per eval and subject, in the order of the plan."""

    summaries: tuple[Summary, ...]
    """One per subject."""

    exit_code: ExitCode
    """What follows from all decisions."""

    case_groups: tuple[CaseGroup, ...] = ()
    """One per table of cases and subject."""

    seconds: float | None = None
    """Wall time of the run; None if unknown."""

    folder: str = ""
    """The run folder, as it is written on a command line."""

    notes: tuple[str, ...] = ()
    """What the user should know about the run."""

    collection: Collection | None = None
    """How many evals were collected, and which are gone; None if the run did not collect evals itself."""

    @property
    def total(self) -> Total:
        """What all attempts used."""
        return total(record.spent for cell in self.cells for record in cell.records)

    def of_subject(self, subject: str) -> list[CellReport]:
        """The cells of one subject."""
        return [cell for cell in self.cells if cell.tally.subject == subject]


def run_report(
    run: RunInfo,
    plan: Plan,
    records: Iterable[Record],
    *,
    decide: Callable[[Tally], Decision] = decide,
    root: Path | None = None,
    folder: Path | str = "",
    seconds: float | None = None,
    notes: tuple[str, ...] = (),
    interrupted: bool = False,
    collection: Collection | None = None,
) -> RunReport:
    """The report of a run from its plan and its records; paths below `root` are shown relative to it."""
    by_cell: dict[str, list[Record]] = {}
    for record in records:
        by_cell.setdefault(record.cell, []).append(record)
    cells = tuple(_cell_report(cell, tuple(by_cell.get(cell.id, ())), run.lost, decide, root) for cell in plan.cells)
    code = exit_code(cell.decision for cell in cells)
    lost = run.lost if any(cell.tally.missing for cell in cells) else ()
    if (lost or run.unread) and code is ExitCode.ACCEPTED:
        code = ExitCode.UNDECIDED
    return RunReport(
        run=run,
        cells=cells,
        summaries=summary([cell.tally for cell in cells]),
        case_groups=case_groups((cell.cases_of, cell.tally) for cell in cells),
        exit_code=ExitCode.INTERRUPTED if interrupted else code,
        seconds=seconds,
        folder=_shown(Path(folder), root) if folder else "",
        notes=tuple(
            dict.fromkeys(
                (*lost, *run.unread, *notes, *price_notes(note for cell in cells for note in _notes(cell.records)))
            )
        ),
        collection=collection,
    )


def _cell_report(
    cell: Cell,
    records: tuple[Record, ...],
    lost: tuple[str, ...],
    decide: Callable[[Tally], Decision],
    root: Path | None,
) -> CellReport:
    counted = despite_lost(tally(cell, records), lost)
    return CellReport(
        source=_shown(cell.eval.source.path, root),
        line=cell.eval.source.line,
        agent=cell.subject.agent,
        model=cell.subject.model,
        fingerprint=cell.subject.fingerprint,
        tally=counted,
        decision=decide(counted),
        records=records,
        description=cell.eval.description,
        suite=cell.eval.suite,
        tags=cell.eval.tags,
        owner=cell.eval.owner,
        issue=cell.eval.issue,
        layer=cell.layer,
        cases_of=cell.eval.cases_of,
    )


def _notes(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield from record.notes


def _shown(path: Path, root: Path | None) -> str:
    if root is not None and path.is_relative_to(root):
        path = path.relative_to(root)
    return path.as_posix()
