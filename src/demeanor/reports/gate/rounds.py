"""Run a gate: after each round of trials, ask the rules for answers and for the trials of the next round."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from demeanor.config import Config
from demeanor.core.text.codec import encode
from demeanor.core.text.wording import count
from demeanor.core.trees.git import unusable_base
from demeanor.core.values.errors import BadInput, UnknownName
from demeanor.core.values.eval import Eval
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.history import KeptDecision, RunCell
from demeanor.core.values.policy import USUALLY_FAILS
from demeanor.core.values.ports import History
from demeanor.core.values.progress import AttemptJudged, Progress
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.tally import Decision
from demeanor.core.values.trial import Cell, Plan, Trial
from demeanor.core.values.verdict import Void
from demeanor.decide.gate import (
    STANDARD,
    THOROUGH,
    Effort,
    GateAnswer,
    GateCell,
    Unjudged,
    applied_rates,
    gate,
    gate_suite,
    next_trials,
    skip,
    unrejectable_notes,
)
from demeanor.decide.nights import Baseline, correlation_of
from demeanor.define import Edit, Edits, edits
from demeanor.reports.gate.cells_before import GateScope, unjudged_cells
from demeanor.reports.gate.render import gate_markdown
from demeanor.reports.gate.report import GATE_DOCUMENT, GateReport, gate_report
from demeanor.reports.gate.unknown import unknown
from demeanor.reports.run import (
    Collection,
    JoinedRun,
    RunReport,
    find_shards,
    join_shards,
    require_command,
    since_commit,
    since_night,
)
from demeanor.results import (
    CountedNights,
    baselines_of,
    counted_nights,
    edited_since,
    eval_hashes,
    latest_nights,
    lost_calibrations,
    manual_promotion,
    night_filter,
    open_project_history,
    promoted_by_hand,
    recent_cells,
    uncalibrated,
)
from demeanor.runner import (
    DEFAULT_TIMEOUT,
    UI,
    Catalog,
    RunResult,
    eval_paths,
    execute,
    plan_evals,
    prepare,
    select_evals,
    usable_evals,
)
from demeanor.store.runs import sync_run


@dataclass(kw_only=True)
class GateState:
    """The cells of a gate, and their trials so far."""

    plan: Plan
    """All cells; a skipped cell has a reason."""

    effort: Effort = STANDARD
    """How much its plans spend."""

    confirm: int = 0
    """Fresh trials that confirm a rejection."""

    correlation: float = 0.0
    """How alike the trials of a gate are, estimated from those of the nights."""

    key_subjects: frozenset[str] = frozenset()
    """The subjects that the gate depends on; empty means all."""

    pasts: Mapping[str, Baseline] = field(default_factory=dict)
    """Cell → its history."""

    hashes: Mapping[str, str] = field(default_factory=dict)
    """Eval → its current hash."""

    edited: Mapping[str, Edit] = field(default_factory=dict)
    """The evals that the change adds or edits."""

    base: Edits = field(default_factory=lambda: Edits(base=None))
    """The commit that evals are compared with, to find new and edited ones."""

    collection: Collection = field(default_factory=lambda: Collection(collected=0))
    """How many evals were collected, and which ones the change removes."""

    timeout: float = DEFAULT_TIMEOUT
    """The timeout of a trial if its eval has none."""

    timeout_override: float | None = None
    """The timeout of every trial, if given on the command line."""

    max_trials: int | None = None
    """The maximum number of trials of all cells together."""

    by_hand: Mapping[str, str] = field(default_factory=dict)
    """The evals that were promoted by hand, which are rejected without a trial; each with the reason."""

    uncalibrated: Mapping[str, str] = field(default_factory=dict)
    """The evals whose judge is not calibrated, which can't block a merge; each with the reason."""

    unjudged: tuple[Unjudged, ...] = ()
    """What the change takes away from the gate."""

    accepted: tuple[str, ...] = ()
    """The removed evals, and the names of what is not judged any more, that the user accepts."""

    unknown: tuple[str, ...] = ()
    """What the gate does not know in CI, each with the line that repairs the workflow."""

    lacking: tuple[str, ...] = ()
    """The definitions of evals that can't be read on this machine, each with the reason."""

    notes: tuple[str, ...] = ()
    """Remarks about the history."""

    asked: dict[str, int] = field(default_factory=dict)
    """Cell → trials requested so far."""

    doubtful: dict[str, set[int]] = field(default_factory=dict)
    """Cell → the numbers of its void trials that the agent may have brought about."""

    ended: dict[str, dict[int, bool | None]] = field(default_factory=dict)
    """Cell → trial number → whether it passed; None for a void."""

    def answers(self) -> tuple[GateAnswer, ...]:
        """One answer per cell from the trials so far, in the order of the plan."""
        cells = {cell.id: self._gate_cell(cell) for cell in self.plan.cells}
        rejected = {cell.id: _by_hand(cells[cell.id], why) for cell in self.plan.cells if (why := self._why(cell))}
        missed = {unjudged.name: unjudged.why for unjudged in self.missed()}
        left_out = {
            cell.id: skip(cells[cell.id], self.uncalibrated[cell.eval.name])
            for cell in self.plan.cells
            if cell.eval.name in self.uncalibrated and cell.id not in rejected
        }
        missing = {cell.id: _undecided(cells[cell.id], why) for cell in self.plan.cells if (why := missed.get(cell.id))}
        settled = left_out | self._not_run(cells) | missing | rejected
        judged = [cells[c.id] for c in self.plan.cells if c.skipped is None and c.id not in settled]
        gated = gate(judged, effort=self.effort, confirm=self.confirm, correlation=self.correlation)
        settled |= {answer.cell.name: answer for answer in gated}
        return tuple(settled.get(cell.id) or _skipped(cells[cell.id], cell) for cell in self.plan.cells)

    def missed(self) -> tuple[Unjudged, ...]:
        """What the change takes away from the gate without being accepted."""
        return tuple(unjudged for unjudged in self.unjudged if not unjudged.accepted_by(self.accepted))

    def removed(self) -> Mapping[str, str]:
        """The evals that the change removes without being accepted, by name, each with its file, if known."""
        return {name: place for name, place in self.collection.removed.items() if name not in self.accepted}

    def round(self) -> list[Trial]:
        """The trials of the next round, the most doubtful cells first; none if all cells are decided."""
        spent = sum(self.asked.values())
        left = None if self.max_trials is None else self.max_trials - spent
        numbers = next_trials(self.answers(), budget=left)
        cells = {cell.id: cell for cell in self.plan.cells}
        trials = []
        for name, more in numbers.items():
            cell, first = cells[name], self.asked.get(name, 0) + 1
            trials += [self._trial(cell, number) for number in range(first, first + more)]
            self.asked[name] = first + more - 1
        return sorted(trials, key=lambda trial: trial.number)

    def watch(self, news: Progress) -> None:
        """Record the end of a trial."""
        if isinstance(news, AttemptJudged) and news.record.final:
            self.note(news.record)

    def note(self, record: Record) -> None:
        """Record the result of a trial."""
        how = None if isinstance(record.verdict, Void) else record.verdict.outcome == "pass"
        self.ended.setdefault(record.cell, {})[record.number] = how
        doubtful = self.doubtful.setdefault(record.cell, set())
        doubtful.discard(record.number)
        if isinstance(record.verdict, Void) and record.verdict.cause.agent_reachable:
            doubtful.add(record.number)

    def decisions(self) -> Mapping[tuple[str, str], Decision]:
        """Eval and subject → the decision."""
        return {(answer.cell.eval, answer.cell.subject): answer.decision for answer in self.answers()}

    def planned(self) -> Plan:
        """The plan with the trials requested so far; cells that the gate ignores are skipped."""
        decisions = self.decisions()
        cells = []
        for cell in self.plan.cells:
            decision = decisions[cell.eval.name, str(cell.subject)]
            skipped = cell.skipped or (decision.reason if decision.answer == "skipped" else None)
            trials = tuple(self._trial(cell, number) for number in range(1, self.asked.get(cell.id, 0) + 1))
            cells.append(replace(cell, trials=trials, skipped=skipped))
        return Plan(cells=tuple(cells))

    def _not_run(self, cells: Mapping[str, GateCell]) -> dict[str, GateAnswer]:
        """The answers for evals that the change adds or edits and that can't run here with any of their subjects. What
        the nights judged is in `unjudged`, where it can be accepted."""
        runs = {cell.eval.name for cell in self.plan.cells if cell.skipped is None}
        missed = {unjudged.name for unjudged in self.unjudged}
        return {
            cell.id: _undecided(cells[cell.id], f"{edit} by this change, and not run: {cell.skipped}")
            for cell in self.plan.cells
            if (edit := self.edited.get(cell.eval.name))
            and missed.isdisjoint({cell.id, cell.eval.name})
            and cell.eval.name not in runs
            and cell.eval.policy is not USUALLY_FAILS
            and not (cell.eval.subjects and str(cell.subject) not in cell.eval.subjects)
        }

    def _why(self, cell: Cell) -> str | None:
        """Why the policy of a cell's eval is a promotion by hand; None if it is not."""
        return self.by_hand.get(cell.eval.name)

    def _gate_cell(self, cell: Cell) -> GateCell:
        ended_by_number = sorted(self.ended.get(cell.id, {}).items())
        ended, doubtful = [how for _, how in ended_by_number], self.doubtful.get(cell.id, set())
        subject = str(cell.subject)
        return GateCell(
            eval=cell.eval.name,
            subject=subject,
            policy=cell.eval.policy,
            outcomes=tuple(how for how in ended if how is not None),
            voided=ended.count(None),
            worst=tuple(how or False for number, how in ended_by_number if how is not None or number in doubtful),
            past=self.pasts.get(cell.id),
            checked_in=cell.eval.name in self.edited,
            key=not self.key_subjects or subject in self.key_subjects,
        )

    def _trial(self, cell: Cell, number: int) -> Trial:
        seconds = self.timeout_override or cell.eval.scenario.timeout or self.timeout
        return Trial(eval=cell.eval, subject=cell.subject, number=number, timeout=seconds)


def _skipped(gate_cell: GateCell, cell: Cell) -> GateAnswer:
    reason = f"not run: {cell.skipped}"
    return GateAnswer(cell=gate_cell, decision=Decision(answer="skipped", rule="none", reason=reason))


def _undecided(cell: GateCell, why: str) -> GateAnswer:
    return GateAnswer(cell=cell, decision=Decision(answer="undecided", rule="none", reason=why))


def _by_hand(cell: GateCell, why: str) -> GateAnswer:
    reason = manual_promotion(cell.eval, why)
    return GateAnswer(cell=cell, decision=Decision(answer="reject", rule="manual_promotion", reason=reason))


def make_gate_state(
    catalog: Catalog,
    request: RunRequest,
    history: History,
    environ: Mapping[str, str],
    *,
    base: str | None = None,
    accepted: Sequence[str] = (),
) -> GateState:
    """The initial state: the selected evals, and all evals that the change adds or edits."""
    config = catalog.config
    every, lacking = usable_evals(config, request.paths)
    matching = select_evals(every, replace(request, policy="all"))
    chosen = {eval_.name for eval_ in select_evals(every, request)}
    held = edits(every, config.root, base=base, within=eval_paths(config, request.paths))
    if base is not None and held.problem:
        raise unusable_base(config.root, base, held.problem)
    if lacking:  # evals that can't be read are not removed
        held = replace(held, removed={})
    every_subject = not (request.subjects or request.model)
    key_subjects = frozenset(_key(catalog, config) if every_subject else ())
    plan = plan_evals(catalog, every, request, environ)
    counted = counted_nights(history, night_filter(config))
    nights = latest_nights(history, plan, counted)
    recent = recent_cells(history, counted.nights)
    hashes = eval_hashes(eval_ for eval_ in _evals(plan) if recent)
    edited: dict[str, Edit] = {**dict.fromkeys(edited_since(nights, hashes), "edited"), **held.evals}
    plan = Plan(
        cells=tuple(replace(c, trials=()) for c in plan.cells if c.eval.name in chosen or c.eval.name in edited)
    )
    collection = _collection(every, held, history, counted, everything=not request.paths and not lacking)
    left_out = uncalibrated(history, _evals(plan), config)
    changed_judges = lost_calibrations(history, left_out)
    scope = GateScope(
        evals=matching,
        others={*collection.removed, *(eval_.name for eval_ in every)} - {eval_.name for eval_ in matching},
        gated={*chosen, *edited},
        every_path=not request.paths and not lacking,
        every_subject=every_subject,
        judged={
            cell.id: cell.skipped or changed_judges.get(cell.eval.name)
            for cell in plan.cells
            if not key_subjects or str(cell.subject) in key_subjects
        },
    )
    correlation = correlation_of(nights).value
    return GateState(
        plan=plan,
        effort=THOROUGH if config.gate.thorough else STANDARD,
        confirm=config.gate.confirm,
        key_subjects=key_subjects,
        correlation=correlation,
        pasts=baselines_of(plan, nights, hashes, correlation=correlation),
        hashes=hashes,
        edited=edited,
        base=held,
        collection=collection,
        timeout=config.timeout or DEFAULT_TIMEOUT,
        timeout_override=request.timeout,
        max_trials=config.gate.max_trials,
        by_hand=(
            promoted_by_hand(history, _evals(plan), config.root) if config.gate.manual_promotion == "reject" else {}
        ),
        uncalibrated=left_out,
        unjudged=tuple(unjudged_cells(scope, recent, config, held)),
        accepted=tuple(accepted),
        unknown=(*(f"some evals can't be read: {line}" for line in lacking), *unknown(config, environ, held, counted)),
        lacking=lacking,
        notes=(*counted.notes, *_renamed(recent, hashes, {eval_.name for eval_ in every})),
    )


def _renamed(
    recent: Mapping[tuple[str, str], Sequence[RunCell]], hashes: Mapping[str, str], names: Container[str]
) -> Iterator[str]:
    """For each new eval that is one of the last nights under another name: how it keeps its history."""
    gone = {cells[-1].eval_hash: name for (name, _), cells in recent.items() if name not in names}
    names_now = {name for name, _ in recent}
    for name, own in hashes.items():
        if own and name not in names_now and (old := gone.get(own)):
            yield f'{name} asks the same as {old}, which is gone: with name="{old}" it keeps the nights of {old}'


def _collection(
    every: Sequence[Eval], held: Edits, history: History, nights: CountedNights, *, everything: bool
) -> Collection:
    """Compare with the base commit; where that does not tell, with the last night that counts."""
    collection = since_commit(every, held)
    if collection.earlier is None and everything and (night := nights.last_evals(history)):
        return since_night(every, night)
    return collection


def _evals(plan: Plan) -> Sequence[Eval]:
    return list({cell.eval.name: cell.eval for cell in plan.cells}.values())


def _key(catalog: Catalog, config: Config) -> Sequence[str]:
    """The key subjects; an unknown one is an error."""
    return [str(catalog.subject(text, where=f"{config.where}: gate.subjects")) for text in config.gate.subjects]


class GateFiles(TypedDict):
    """The files that a gate adds to its run."""

    lead: str
    files: Mapping[str, str]


def run_rounds(
    catalog: Catalog, state: GateState, request: RunRequest, results: Path, *, ui: UI, shards: Path | None = None
) -> RunResult:
    """Run the trials of all rounds; with `shards`, the first one has been run by these. If a part of them is missing,
    nothing more is run: the gate is undecided."""
    if shards is None:
        prepared = prepare(catalog, state.planned(), request, results, log=ui.log)
        return execute(prepared, ui=ui, watch=state.watch, more=state.round)
    joined = _joined(catalog, state, request, results, shards)
    if joined.info.lost:
        with open_project_history(catalog.config, catalog.environ, results=results, reading=False) as history:
            sync_run(history.database, joined.folder)
        return replace(joined.result, plan=state.planned(), stopped=f"stopped: {joined.info.lost[0]}")
    request = replace(request, seed=joined.info.seed)
    prepared = prepare(catalog, state.planned(), request, joined.folder, info=joined.info, log=ui.log)
    return execute(prepared, ui=ui, watch=state.watch, more=state.round)


def _joined(catalog: Catalog, state: GateState, request: RunRequest, results: Path, folder: Path) -> JoinedRun:
    """The run with the first round, whose results the state then has."""
    shards = find_shards([folder])
    if not shards:
        raise BadInput("contains no shard", where=folder, remedy="run them first: demeanor gate --shard K/N")
    require_command(shards, request, "join it with: demeanor store import DIR")
    joined = join_shards(shards, state.plan, catalog.config, results)
    for cell in joined.plan.cells:
        state.asked[cell.id] = max(state.asked.get(cell.id, 0), len(cell.trials))
    for record in joined.folder.records():
        if record.final:
            state.note(record)
    return joined


def gate_notes(state: GateState, *, stopped: bool) -> tuple[str, ...]:
    """Remarks for the report."""
    unneeded = [name for name in state.accepted if not _acceptable(state, name)]
    notes = [f"--accept-removed {name}: nothing of this name was removed" for name in unneeded]
    answers = state.answers()
    needed = sum(answer.more for answer in answers if answer.decision.answer == "undecided")
    if needed and not stopped and state.max_trials is not None:
        notes.append(f"stopped after {count(state.max_trials, 'trial')} (max_trials): {needed} more are needed")
    if state.base.problem:
        notes.append(f"new, edited and removed evals were found from the history only: {state.base.problem}")
    elif state.base.unsure and state.collection.earlier is None:
        files = ", ".join(state.base.unsure)
        notes.append(
            f"removed evals may be missing here: the names of the evals of {files} are known only when it runs"
        )
    return (*notes, *unrejectable_notes(answers), *state.notes)


def _acceptable(state: GateState, name: str) -> bool:
    return name in state.collection.removed or any(unjudged.accepted_by({name}) for unjudged in state.unjudged)


def require_removed(state: GateState) -> None:
    """Refuse an accepted name that was not removed while another removal is not accepted: it is probably misspelt."""
    if others := [*state.removed(), *(unjudged.name for unjudged in state.missed())]:
        for name in (name for name in state.accepted if not _acceptable(state, name)):
            raise UnknownName("removed eval or cell", name, others, where="--accept-removed")


def nothing_gated(state: GateState) -> bool:
    """Whether there was nothing to gate: no eval was selected, or the gate ignores all of them by their policy."""
    ignored = {answer.cell.name for answer in state.answers() if answer.decision.answer == "skipped"}
    return all(cell.id in ignored and cell.skipped is None for cell in state.plan.cells)


def final_exit_code(state: GateState, exit_code: ExitCode, *, empty: ExitCode) -> ExitCode:
    """The exit code of a gate, from that of its run: `empty` if nothing was gated. It accepts only if what it judged
    before, and does not judge now, was accepted by name."""
    code = empty if nothing_gated(state) and exit_code is not ExitCode.INTERRUPTED else exit_code
    gaps = state.removed() or state.missed() or state.unknown
    return ExitCode.UNDECIDED if gaps and code is ExitCode.ACCEPTED else code


def make_gate_report(state: GateState, report: RunReport) -> GateReport:
    """Make the report."""
    answers = state.answers()
    effort, confirm, correlation = state.effort, state.confirm, state.correlation
    return gate_report(
        report,
        answers,
        thorough=state.effort is THOROUGH,
        base=state.base.base,
        edited=state.edited,
        characteristics=applied_rates(answers, effort=effort, confirm=confirm, correlation=correlation),
        suite=gate_suite(answers, effort=effort, confirm=confirm, correlation=correlation),
        notes=report.notes,
        empty=nothing_gated(state),
        removed=state.removed(),
        unjudged={unjudged.name: unjudged.why for unjudged in state.missed()},
        unknown=state.unknown,
    )


def gate_files(report: GateReport) -> GateFiles:
    """The files that a gate adds to its run."""
    return GateFiles(lead=gate_markdown(report), files={"gate.json": GATE_DOCUMENT.write(report)})


def gate_decisions(state: GateState, report: GateReport) -> tuple[KeptDecision, ...]:
    """All decisions with their numbers, for the history."""
    made = datetime.now(UTC).isoformat(timespec="milliseconds")
    return tuple(
        KeptDecision(
            made=made,
            ruling="gate",
            eval=row.eval,
            subject=row.subject,
            answer=row.decision.answer,
            rule=row.decision.rule,
            reason=row.decision.reason,
            run=report.run.id,
            commit=report.run.commit,
            eval_hash=state.hashes.get(row.eval, ""),
            evidence={
                "passed": row.passed,
                "failed": row.failed,
                "voided": row.voided,
                "past": encode(row.past),
                "rates": encode(row.rates),
            },
        )
        for row in report.rows
        if row.decision.answer != "skipped"
    )
