"""Nights: what was judged in one night, however many runs it took, and which nights count.

The nightly runs of one calendar day (UTC) at the same commit of the same branch are one night, whose cells have the
judged trials of all its runs: a night can be split into several runs or finished by another one, and no repetition
hides a failure. A run that tried an eval or a subject as the night had it in another version begins another night.

A nightly run counts for promotions and as baseline of a gate if it ran on the default branch without uncommitted
changes. The nights of a day that count are added up, whatever their commits, so that a day is one night. Outside a git
repository there are no branches, so every nightly run counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from demeanor.config import Config
from demeanor.core.text.wording import count
from demeanor.core.trees.git import default_branch, has_commits, unreadable
from demeanor.core.values.eval import Eval
from demeanor.core.values.history import Night, PastRun, RunCell
from demeanor.core.values.ports import History
from demeanor.core.values.record import RunInfo
from demeanor.core.values.trial import DEFAULT_TRIALS
from demeanor.core.values.usage import total

LAST_NIGHTS = 7
"""How many nights tell which cells there are: one night may lack a cell, and a week is the memory of promotion."""

_VERSIONS = " + "
_NAMED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class NightFilter:
    """Which nightly runs count, and which of their cells."""

    in_repository: bool
    """Whether the project is in a git repository."""

    branch: str | None
    """The branch that nights run on; None if it is unknown."""

    trials: int = DEFAULT_TRIALS
    """The configured number of trials of a cell."""

    min_trials: int | None = None
    """The number of judged trials that a cell needs; None means two thirds of the configured trials."""

    def problem(self, info: RunInfo) -> str | None:
        """Why a nightly run does not count; None if it does."""
        if not self.in_repository:
            return None
        if info.commit is None:
            return "without a commit"
        if info.dirty is not False:
            return "with uncommitted changes"
        if self.branch is None:
            return "as the default branch is unknown (set `branch` in [nightly])"
        if info.branch != self.branch:
            return f"on branch {info.branch}" if info.branch else "on no branch (detached HEAD)"
        return None

    def needed(self, own: Eval | None) -> int:
        """The number of judged trials that a cell of this eval needs in a night."""
        planned = own.trials if own is not None and own.trials else self.trials
        return min(self.min_trials, planned) if self.min_trials is not None else -(-planned * 2 // 3)


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedNights:
    """The nights that count, and why other nightly runs do not."""

    nights: tuple[Night, ...]
    """All runs of each day that count, oldest first."""

    ignored: Mapping[str, int]
    """Why nightly runs do not count → how many."""

    filter: NightFilter
    """The rules that were applied."""

    def cells(self, history: History, evals: Mapping[str, Eval | None], last: int | None = None) -> Iterator[RunCell]:
        """The cells of these evals in the last nights, oldest first: one per night, eval, subject and version. A cell
        without enough judged trials is left out."""
        nights = self.nights[-last:] if last is not None else self.nights
        for night, cells in zip(nights, _cells_by_night(history, nights, evals), strict=True):
            for own in _by_cell(cells).values():
                if sum(cell.judged for cell in own) >= self.filter.needed(evals.get(own[0].eval)):
                    versions = _by_version(_as_last_defined(own, cells))
                    yield from (_sum(same, night) for same in versions)

    def last_evals(self, history: History) -> frozenset[str]:
        """The names of the evals of the last night, skipped ones included; none if there is no night."""
        if not self.nights:
            return frozenset()
        return frozenset(cell.eval for cell in history.nightly_cells(None, runs=self.nights[-1].names))

    @property
    def notes(self) -> tuple[str, ...]:
        """Which nightly runs do not count, in a sentence."""
        if not self.ignored:
            return ()
        reasons = ", ".join(f"{number} {reason}" for reason, number in self.ignored.items())
        where = f"nights are clean runs on {self.filter.branch}" if self.filter.branch else "nights are clean runs"
        return (f"{count(sum(self.ignored.values()), 'nightly run')} not counted: {reasons}; {where}",)


def night_filter(config: Config) -> NightFilter:
    """The rules of a project."""
    night = config.at_night()
    return NightFilter(
        in_repository=has_commits(config.root) or unreadable(config.root) is not None,
        branch=config.nightly.branch or default_branch(config.root),
        trials=night.trials or DEFAULT_TRIALS,
        min_trials=config.nightly.min_trials,
    )


def uncounted(config: Config, info: RunInfo, cells: Iterable[tuple[Eval, str, int]]) -> Iterator[str]:
    """Why a nightly run that has just ended does not count, or some of its cells (eval, subject, judged trials)."""
    rules = night_filter(config)
    if (problem := rules.problem(info)) is not None:
        where = f" on {rules.branch}" if rules.branch else ""
        yield f"this run does not count as a night: it ran {problem}; nights are clean runs{where}"
        return
    few = [f"{own.name}/{subject}" for own, subject, judged in cells if judged < rules.needed(own)]
    if few:
        names = ", ".join(few[:_NAMED]) + (" …" if len(few) > _NAMED else "")
        yield f"no night for {count(len(few), 'cell')} with too few judged trials (min_trials): {names}"


def counted_nights(history: History, rules: NightFilter) -> CountedNights:
    """The nights of the history that count."""
    return count_nights(reversed(history.runs(kind="nightly")), rules)


def count_nights(runs: Iterable[PastRun], rules: NightFilter) -> CountedNights:
    """Select and group nightly runs, oldest first."""
    days: dict[str, list[PastRun]] = {}
    ignored: Counter[str] = Counter()
    for run in runs:
        problem = rules.problem(run.info)
        if problem is None:
            days.setdefault(run.info.started[:10], []).append(run)
        else:
            ignored[problem] += 1
    return CountedNights(nights=tuple(Night(runs=tuple(own)) for own in days.values()), ignored=ignored, filter=rules)


def nights_until(
    history: History, run: PastRun, number: int, *, branch: str | None = None, evals: Collection[str] = ()
) -> tuple[Night, ...]:
    """The night of a run, and up to `number` nights before it, oldest first; of a run that is not nightly, only itself
    and the nights before it. With `evals`, only what these tried tells one night from another."""
    every = history.runs(kind="nightly", branch=branch)
    days = _days(reversed(every))
    if run.info.kind != "nightly":
        began = run.info.started, run.name
        earlier = [day for day in days if (day[-1].info.started, day[-1].name) < began]
        return (*_nights(history, earlier[-number:] if number else (), evals)[-number:], Night(runs=(run,)))
    place = next((index for index, day in enumerate(days) if run.name in {other.name for other in day}), None)
    if place is None:  # another branch than the one asked for
        return (Night(runs=(run,)),)
    nights = _nights(history, days[max(0, place - number) : place + 1], evals)
    own = next(index for index, night in enumerate(nights) if run.name in night.names)
    return nights[max(0, own - number) : own + 1]


def all_nights(history: History, *, evals: Collection[str] = ()) -> tuple[Night, ...]:
    """All nights of the history, oldest first."""
    return _nights(history, _days(reversed(history.runs(kind="nightly"))), evals)


def cells_of_nights(history: History, nights: Sequence[Night], evals: Collection[str] = ()) -> list[RunCell]:
    """The cells of these nights, oldest first: one per night, eval and subject."""
    cells = _cells_by_night(history, nights, evals)
    return [_sum(own, night) for night, cells in zip(nights, cells, strict=True) for own in _by_cell(cells).values()]


def recent_cells(history: History, nights: Sequence[Night]) -> dict[tuple[str, str], tuple[RunCell, ...]]:
    """By eval and subject: the cells with a judged trial in the last of these nights, oldest first."""
    by_cell: dict[tuple[str, str], list[RunCell]] = {}
    for cell in cells_of_nights(history, nights[-LAST_NIGHTS:]):
        if cell.judged:
            by_cell.setdefault((cell.eval, cell.subject), []).append(cell)
    return {key: tuple(cells) for key, cells in by_cell.items()}


def _days(runs: Iterable[PastRun]) -> list[tuple[PastRun, ...]]:
    """Nightly runs, oldest first, by day and by what they ran at; in the order of the last run of each."""
    by_day: dict[tuple[object, ...], list[PastRun]] = {}
    for run in runs:
        info = run.info
        by_day.setdefault((info.started[:10], info.branch, info.commit, info.dirty), []).append(run)
    return [tuple(own) for own in sorted(by_day.values(), key=lambda own: (own[-1].info.started, own[-1].name))]


def _nights(history: History, days: Sequence[Sequence[PastRun]], evals: Collection[str]) -> tuple[Night, ...]:
    """The nights of these days: a run begins another one if it tried a cell of the night in another version."""
    names = [run.name for day in days if len(day) > 1 for run in day]
    versions: dict[str, dict[tuple[str, str], tuple[str, str]]] = {name: {} for name in names}
    for cell in history.nightly_cells(None, runs=names, evals=evals) if names else ():
        if cell.judged:
            versions[cell.run][cell.eval, cell.subject] = cell.eval_hash, cell.fingerprint
    nights: list[Night] = []
    for day in days:
        runs: list[PastRun] = []
        seen: dict[tuple[str, str], tuple[str, str]] = {}
        for run in day:
            own = versions.get(run.name, {})
            if any(_differ(own[cell], seen[cell]) for cell in own.keys() & seen.keys()):
                nights.append(Night(runs=tuple(runs)))
                runs, seen = [], {}
            runs.append(run)
            seen |= own
        nights.append(Night(runs=tuple(runs)))
    return tuple(nights)


def _differ(versions: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two versions of a cell (eval hash and fingerprint) differ; what is unknown does not."""
    return any(a and b and a != b for a, b in zip(versions, other, strict=True))


def _cells_by_night(history: History, nights: Sequence[Night], evals: Collection[str]) -> list[list[RunCell]]:
    """The cells of the runs of each night, in the order of the runs, without trials that two runs share."""
    place = {name: index for index, night in enumerate(nights) for name in night.names}
    by_night: list[list[RunCell]] = [[] for _ in nights]
    nightly = [night for night in nights if night.info.kind == "nightly"]
    names = [name for night in nightly for name in night.names]
    for cell in history.nightly_cells(None, evals=evals, runs=names) if names else ():
        by_night[place[cell.run]].append(cell)
    for night in nights:
        if night.info.kind != "nightly":
            own = history.cells(night.name)
            by_night[place[night.name]] += [cell for cell in own if not evals or cell.eval in evals]
        elif len(night.runs) > 1:
            by_night[place[night.name]] = _without_repeats(history, by_night[place[night.name]])
    return by_night


def _without_repeats(history: History, cells: Sequence[RunCell]) -> list[RunCell]:
    """The cells of a night, in which a trial that several runs have, such as one that was imported twice, counts in
    the last of them only."""
    shared = [own[0].eval for own in _by_cell(cells).values() if len(own) > 1]
    if not shared:
        return list(cells)
    order = {run: place for place, run in enumerate(dict.fromkeys(cell.run for cell in cells))}
    trials = sorted(history.captured_trials(order, set(shared)), key=lambda trial: -order[trial.run])
    counted: dict[tuple[str, str, str], str] = {}
    repeated: dict[tuple[str, str, str], Counter[str]] = {}
    for trial in trials:
        if counted.setdefault((trial.eval, trial.subject, trial.capture_hash), trial.run) != trial.run:
            repeated.setdefault((trial.run, trial.eval, trial.subject), Counter())[trial.outcome] += 1
    kept = (_less(cell, repeated.get((cell.run, cell.eval, cell.subject))) for cell in cells)
    return [cell for cell in kept if cell is not None]


def _less(cell: RunCell, repeated: Mapping[str, int] | None) -> RunCell | None:
    """A cell without some of its trials; None if it has no other."""
    if repeated is None:
        return cell
    less = replace(
        cell,
        passed=cell.passed - repeated.get("pass", 0),
        failed=cell.failed - repeated.get("fail", 0),
        voided=cell.voided - repeated.get("void", 0),
    )
    return less if less.judged or less.voided else None


def _by_cell(cells: Iterable[RunCell]) -> dict[tuple[str, str], list[RunCell]]:
    by_cell: dict[tuple[str, str], list[RunCell]] = {}
    for cell in cells:
        by_cell.setdefault((cell.eval, cell.subject), []).append(cell)
    return by_cell


def _as_last_defined(own: Sequence[RunCell], cells: Sequence[RunCell]) -> list[RunCell]:
    """Of the cells of a night: those of the eval and policy that its last run had. An edit starts again, on the day on
    which it is made too."""
    last = next((cell for cell in reversed(cells) if cell.eval == own[0].eval and cell.judged), own[-1])
    return [
        cell for cell in own if cell.policy is last.policy and not _differ((cell.eval_hash, ""), (last.eval_hash, ""))
    ]


def _by_version(cells: Sequence[RunCell]) -> list[list[RunCell]]:
    """The cells of an eval and subject, by commit and fingerprint, in the order in which these ran first."""
    versions: dict[tuple[str | None, str], list[RunCell]] = {}
    for cell in cells:
        versions.setdefault((cell.commit, cell.fingerprint), []).append(cell)
    return list(versions.values())


def _sum(cells: Sequence[RunCell], night: Night) -> RunCell:
    """The cells of some runs as one cell of their night."""
    if len(night.runs) == 1:  # nearly always: a copy of each cell would take longer than the rest
        return cells[-1]
    tried = [cell for cell in cells if not cell.skipped] or cells
    last = next((cell for cell in reversed(tried) if cell.judged), tried[-1])
    return replace(
        last,
        run=night.name,
        started=night.info.started,
        runs=tuple(cell.run for cell in tried),
        passed=sum(cell.passed for cell in tried),
        failed=sum(cell.failed for cell in tried),
        voided=sum(cell.voided for cell in tried),
        planned=max(cell.planned for cell in tried),
        attempts=sum(cell.attempts for cell in tried),
        spent=total(cell.spent for cell in tried if cell.attempts).spent,
        unpriced=sum(cell.unpriced for cell in tried),
        uncounted=sum(cell.uncounted for cell in tried),
        eval_hash=_joined(cell.eval_hash for cell in tried),
        prompt_hash=_joined(cell.prompt_hash or "" for cell in tried) or None,
        agent_version=_joined(cell.agent_version or "" for cell in tried) or None,
        fingerprint=_joined(cell.fingerprint for cell in tried),
        model_hash=_joined(cell.model_hash for cell in tried),
    )


def _joined(values: Iterable[str]) -> str:
    """The distinct values, as a cell with several has them."""
    return _VERSIONS.join(dict.fromkeys(version for value in values for version in value.split(_VERSIONS) if version))
