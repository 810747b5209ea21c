"""A gate at work: it asks the rule after each round of trials, and plans the next one from what the rule wants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from demeanor.commands.gate.cell import GateAnswer, GateCell
from demeanor.commands.gate.rules import DEFAULT, gate, next_trials, rule_named
from demeanor.config.config import Config
from demeanor.core.errors import UsageError
from demeanor.core.eval import Eval
from demeanor.core.ports import History
from demeanor.core.progress import AttemptJudged, Progress
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.tally import Decision
from demeanor.core.trial import Cell, Plan, Trial
from demeanor.core.verdict import Void
from demeanor.define.eval_diff import Edit, Edits, edits
from demeanor.runner.baselines import Baseline, baselines_of, edited_since, eval_hashes, latest_nights
from demeanor.runner.catalog import Catalog
from demeanor.runner.plan import DEFAULT_TIMEOUT, choose_evals, plan_evals


@dataclass(kw_only=True)
class GateState:
    """The cells of a gate, and what is known of them so far."""

    plan: Plan
    """What may be tried; skipped cells say why they are not."""

    rule: str = DEFAULT
    """How USUALLY_PASSES is judged."""

    key_subjects: frozenset[str] = frozenset()
    """Those that the gate depends on; empty means all."""

    pasts: Mapping[str, Baseline] = field(default_factory=dict)
    """By cell: its nights."""

    hashes: Mapping[str, str] = field(default_factory=dict)
    """By eval: its hash now."""

    edited: Mapping[str, Edit] = field(default_factory=dict)
    """The evals that the change touches."""

    base: Edits = field(default_factory=lambda: Edits(base=None))
    """What the evals were held against."""

    timeout: float = DEFAULT_TIMEOUT
    """Seconds that a trial may take where its eval does not say."""

    overruled: float | None = None
    """Seconds that a trial may take whatever its eval says."""

    max_trials: int | None = None
    """The most trials of all cells together."""

    asked: dict[str, int] = field(default_factory=dict)
    """By cell: trials that were asked for."""

    ended: dict[str, dict[int, bool | None]] = field(default_factory=dict)
    """By cell: how each trial ended, None for a void."""

    def answers(self) -> tuple[GateAnswer, ...]:
        """What follows for each cell from all that is known so far, in the order of the plan."""
        cells = {cell.id: self._known(cell) for cell in self.plan.cells}
        judged = [cells[cell.id] for cell in self.plan.cells if cell.skipped is None]
        found = {answer.cell.name: answer for answer in gate(judged, rule=self.rule)}
        return tuple(found.get(cell.id) or _skipped(cells[cell.id], cell) for cell in self.plan.cells)

    def round(self) -> list[Trial]:
        """The trials of the next round, the most doubtful cells first; none where everything is decided."""
        spent = sum(self.asked.values())
        left = None if self.max_trials is None else self.max_trials - spent
        wanted = next_trials(self.answers(), budget=left)
        cells = {cell.id: cell for cell in self.plan.cells}
        found = []
        for name, more in wanted.items():
            cell, first = cells[name], self.asked.get(name, 0) + 1
            found += [self._trial(cell, number) for number in range(first, first + more)]
            self.asked[name] = first + more - 1
        return sorted(found, key=lambda trial: trial.number)

    def watch(self, news: Progress) -> None:
        """Take note of how a trial ended."""
        if isinstance(news, AttemptJudged) and news.record.final:
            self.note(news.record)

    def note(self, record: Record) -> None:
        """Take note of a trial."""
        how = None if isinstance(record.verdict, Void) else record.verdict.outcome == "pass"
        self.ended.setdefault(record.cell, {})[record.number] = how

    def decisions(self) -> Mapping[tuple[str, str], Decision]:
        """By eval and subject: what the gate says."""
        return {(one.cell.eval, one.cell.subject): one.decision for one in self.answers()}

    def planned(self) -> Plan:
        """The plan with as many trials as were asked for; a cell that the gate does not look at is skipped."""
        said = self.decisions()
        cells = []
        for cell in self.plan.cells:
            decision = said[cell.eval.name, str(cell.subject)]
            skipped = cell.skipped or (decision.reason if decision.answer == "skipped" else None)
            trials = tuple(self._trial(cell, number) for number in range(1, self.asked.get(cell.id, 0) + 1))
            cells.append(replace(cell, trials=trials, skipped=skipped))
        return Plan(cells=tuple(cells))

    def _known(self, cell: Cell) -> GateCell:
        ended = [how for _, how in sorted(self.ended.get(cell.id, {}).items())]
        subject = str(cell.subject)
        return GateCell(
            eval=cell.eval.name,
            subject=subject,
            policy=cell.eval.policy,
            outcomes=tuple(how for how in ended if how is not None),
            voided=ended.count(None),
            past=self.pasts.get(cell.id),
            key=not self.key_subjects or subject in self.key_subjects,
        )

    def _trial(self, cell: Cell, number: int) -> Trial:
        seconds = self.overruled or cell.eval.scenario.timeout or self.timeout
        return Trial(eval=cell.eval, subject=cell.subject, number=number, timeout=seconds)


def _skipped(known: GateCell, cell: Cell) -> GateAnswer:
    reason = f"nothing was tried: {cell.skipped}"
    return GateAnswer(cell=known, decision=Decision(answer="skipped", rule="none", reason=reason))


def make_gate_state(
    catalog: Catalog,
    request: RunRequest,
    history: History,
    environ: Mapping[str, str],
    *,
    rule: str | None = None,
    base: str | None = None,
    max_trials: int | None = None,
) -> GateState:
    """Which cells a gate looks at: those that were chosen, and whatever the change itself adds or edits."""
    config = catalog.config
    name = rule_named(rule or config.gate.rule or DEFAULT).name
    every = choose_evals(config, paths=request.paths, policy="all")
    chosen = {
        one.name
        for one in choose_evals(
            config,
            paths=request.paths,
            names=request.names,
            keyword=request.keyword,
            suites=request.suites,
            tags=request.tags,
            tasks=request.tasks,
            policy=request.policy or "all",
        )
    }
    held = edits(every, config.root, base=base)
    if base is not None and held.problem:
        raise UsageError(f"--base {base}: {held.problem}\n  → name a branch or a commit, such as --base main")
    plan = plan_evals(catalog, every, request, environ)
    nights = latest_nights(history, plan)
    hashes = eval_hashes(one for one in _evals(plan) if nights)
    edited: dict[str, Edit] = {**dict.fromkeys(edited_since(nights, hashes), "edited"), **held.evals}
    plan = Plan(
        cells=tuple(replace(c, trials=()) for c in plan.cells if c.eval.name in chosen or c.eval.name in edited)
    )
    return GateState(
        plan=plan,
        rule=name,
        key_subjects=frozenset(() if request.subjects or request.model else _key(catalog, config)),
        pasts=baselines_of(plan, nights, hashes),
        hashes=hashes,
        edited=edited,
        base=held,
        timeout=config.timeout or DEFAULT_TIMEOUT,
        overruled=request.timeout,
        max_trials=max_trials or config.gate.max_trials,
    )


def _evals(plan: Plan) -> Sequence[Eval]:
    return list({cell.eval.name: cell.eval for cell in plan.cells}.values())


def _key(catalog: Catalog, config: Config) -> Sequence[str]:
    """The key subjects, each of which must be one."""
    return [str(catalog.subject(text)) for text in config.gate.subjects]
