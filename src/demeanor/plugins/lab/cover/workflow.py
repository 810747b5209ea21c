"""Run `cover`: try each eval with the prompt as it is, then remove instructions as the rule asks, round by round.

All trials are in one run below `results/cover/`, which is not part of the history: their rates are those of other
prompts. A trial is numbered within its eval, whatever was removed, so that all trials of a run are independent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import fsum

from demeanor.core.text.instructions import SYSTEM, PromptInstruction, PromptPiece, instructions, pieces
from demeanor.core.text.prompt_edits import shortened
from demeanor.core.text.wording import count, one_line
from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.progress import AttemptJudged, Progress
from demeanor.core.values.record import Record
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Cell, Plan, Trial
from demeanor.core.values.verdict import Void, VoidCause
from demeanor.decide.nights import Baseline
from demeanor.observe import first_request
from demeanor.plugins.lab.cover.kept_trials import kept_trials
from demeanor.plugins.lab.cover.rules import BASELINE_TRIALS, CoverEval, CoverRule, CoverState, Removal, order_evals
from demeanor.reports.prompt_coverage import CoverOperator
from demeanor.statistics import Tries
from demeanor.store.captures import read_capture
from demeanor.store.runs import RunFolder
from demeanor.vcs import words_of

_MOST_VOIDS = 3
_NOTHING: frozenset[str] = frozenset()
_SHORTEST = 4
"""Shorter words say little."""


@dataclass(kw_only=True)
class CoverRun:
    """One search: what it is asked, and its trials so far."""

    plan: Plan
    """The evals with one subject; each cell has its first trial."""

    rule: CoverRule
    """What must be noticed."""

    history: Mapping[str, Baseline]
    """Eval → what the nights found of it."""

    earlier: Sequence[Sequence[Record]] = ()
    """The trials of earlier searches."""

    operator: CoverOperator = "remove"
    """What is done to instructions."""

    choose: Callable[[Sequence[PromptInstruction]], Collection[str]] = lambda instructions: [
        instruction.id for instruction in instructions
    ]
    """Which instructions to try."""

    max_trials: int | None = None
    """The largest number of trials, including void ones."""

    baseline_trials: int = BASELINE_TRIALS
    """Trials with the prompt as it is, for an eval that has no history."""

    log: Callable[[str], None] = lambda line: None
    """Prints one line about the progress."""

    folder: RunFolder | None = None
    """The run."""

    state: CoverState | None = None
    """The search; None until all evals were tried with the prompt as it is."""

    sent: dict[str, PromptInstruction] = field(default_factory=dict)
    """The instructions of all evals, by id."""

    records: list[Record] = field(default_factory=list)
    """Every attempt of this run."""

    reused: int = 0
    """Trials of earlier runs that were used."""

    absent: dict[str, set[str]] = field(default_factory=dict)
    """Eval → instructions that some of its trials did not send, although earlier ones did."""

    _partners: dict[str, str] = field(default_factory=dict)
    _asked: dict[str, Removal] = field(default_factory=dict)
    _made: Counter[str] = field(default_factory=Counter)
    _tries: dict[Removal, Tries] = field(default_factory=dict)
    _base: dict[str, list[Record]] = field(default_factory=dict)
    _baselines: dict[str, Tries] = field(default_factory=dict)
    _kept: dict[str, dict[str, Tries]] = field(default_factory=dict)
    _voids: Counter[Removal] = field(default_factory=Counter)
    _barred: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for cell in self.plan.cells:
            self._made[cell.eval.name] = len(cell.trials)
            for trial in cell.trials:
                self._asked[trial.id] = (cell.eval.name, _NOTHING)
            if cell.skipped is not None:
                self._barred[cell.eval.name] = cell.skipped

    @property
    def trials(self) -> int:
        """Trials of this run, including void ones."""
        return len(self._asked)

    @property
    def out_of_trials(self) -> bool:
        """Whether no further trial is allowed."""
        return self.max_trials is not None and self.trials >= self.max_trials

    @property
    def voided(self) -> int:
        """Void trials of this run."""
        return self._voids.total()

    def past(self, name: str) -> Baseline | None:
        """The nights of an eval, if there are enough of them with the subject as it is now."""
        past, now = self.history.get(name), self._base.get(name)
        if past is None or now is None or past.judged < self.baseline_trials:
            return None
        return past if past.fingerprints[-1:] == (now[0].fingerprint,) else None

    def watch(self, news: Progress) -> None:
        """Note the end of a trial."""
        if not isinstance(news, AttemptJudged):
            return
        record = news.record
        self.records.append(record)
        if not record.final:
            return
        key = self._asked[record.trial]
        if isinstance(record.verdict, Void):
            self._note_void(record, key, record.verdict)
            return
        self._add(key, Tries(1, 0) if record.verdict.outcome == "pass" else Tries(0, 1))
        if not key[1]:
            self._base.setdefault(record.eval, []).append(record)

    def _add(self, key: Removal, tries: Tries) -> None:
        self._tries[key] = self._tries.get(key, Tries()) + tries

    def _note_void(self, record: Record, key: Removal, verdict: Void) -> None:
        """Leave out instructions that were not sent this time, and evals that can't be judged."""
        self._voids[key] += 1
        if verdict.cause is VoidCause.INTERVENTION:
            interventions = {
                intervention for exchange in self._capture(record).exchanges for intervention in exchange.interventions
            }
            missing = {id_ for id_ in key[1] if not {id_, self._partners[id_] or id_} <= interventions}
            self.absent.setdefault(record.eval, set()).update(missing)
            self.state = None
        elif self._voids[key] >= _MOST_VOIDS or not key[1]:
            self._barred[record.eval] = one_line(verdict.reason, width=120)
            self.state = None

    def more(self) -> list[Trial]:
        """The trials of the next round; none if the search is complete or may not go on."""
        missing = self._missing_baselines()
        if missing and not self.out_of_trials:
            return self._limited(missing)
        state = self.update()
        steps = () if self.out_of_trials else state.next()
        if steps:
            self.log(_progress(state, self.trials))
        return self._limited([(step.eval, step.removed, step.trials) for step in steps])

    def update(self) -> CoverState:
        """What follows from the trials so far, with those of earlier searches that answer the same questions."""
        state = replace(self.state or self._begin(), tries=dict(self._tries))
        while kept_steps := [
            (step, kept) for step in state.next() if (kept := self._take_kept(step.eval, step.removed))
        ]:
            for step, kept in kept_steps:
                self._add((step.eval, step.removed), kept)
            state = state.after({(step.eval, step.removed): kept for step, kept in kept_steps})
        self.state = replace(state, earlier=state.searches)
        return self.state

    def _take_kept(self, name: str, removed: frozenset[str]) -> Tries | None:
        """The trials of earlier searches for a removal, once."""
        subject = self._without(self._cells[name].subject, removed)
        kept = self._kept.get(name, {}).pop(subject.fingerprint, None)
        self.reused += kept.judged if kept else 0
        return kept

    def _missing_baselines(self) -> list[tuple[str, frozenset[str], int]]:
        """Trials with the prompt as it is that evals without a history need."""
        baselines = []
        for name, records in self._base.items():
            if name not in self._kept:
                self._kept[name] = kept_trials(self.earlier, records[0])
                self._add((name, _NOTHING), self._take_kept(name, _NOTHING) or Tries())
            missing = self.baseline_trials - self._tries[name, _NOTHING].judged
            if name not in self._baselines and name not in self._barred and self.past(name) is None and missing > 0:
                baselines.append((name, _NOTHING, missing))
        return baselines

    @property
    def _cells(self) -> Mapping[str, Cell]:
        return {cell.eval.name: cell for cell in self.plan.cells}

    def _limited(self, removals: Sequence[tuple[str, frozenset[str], int]]) -> list[Trial]:
        """The trials of a round, as many as are allowed."""
        trials: list[Trial] = []
        for name, removed, number in removals:
            left = number if self.max_trials is None else min(number, self.max_trials - self.trials)
            trials += [self._trial(self._cells[name], removed) for _ in range(left)]
        return trials

    def _trial(self, cell: Cell, removed: frozenset[str]) -> Trial:
        self._made[cell.eval.name] += 1
        subject = self._without(cell.subject, removed)
        trial = replace(cell.trials[0], subject=subject, number=self._made[cell.eval.name])
        self._asked[trial.id] = (cell.eval.name, removed)
        return trial

    def _begin(self) -> CoverState:
        """The state before the first removal; also after instructions or evals had to be left out."""
        sent = {name: self._sent(name) for name in self._base}
        self.sent = {instruction.id: instruction for own in sent.values() for instruction in own}
        self._partners = changeable(self.operator, tuple(self.sent.values()))
        chosen = set(self.choose(tuple(self.sent.values()))) & {*self._partners}
        words = shared_words(
            {name: text_of(cell.eval) for name, cell in self._cells.items()},
            {id_: instruction.text for id_, instruction in self.sent.items()},
        )
        evals = [self._cover_eval(name, sent.get(name, ()), words) for name in self._cells]
        affinity = {
            name: fsum(words[name, instruction.id] for instruction in own if instruction.id in chosen)
            for name, own in sent.items()
        }
        return CoverState(
            instructions=tuple(id_ for id_ in self.sent if id_ in chosen),
            evals=order_evals(evals, affinity),
            tries={},
            rule=self.rule,
        )

    def _cover_eval(
        self, name: str, sent: Sequence[PromptInstruction], words: Mapping[tuple[str, str], float]
    ) -> CoverEval:
        if name not in self._base or name in self._barred:
            why = self._barred.get(name, "it was not run with the prompt as it is")
            return CoverEval(name=name, baseline=Tries(), parts=(), barred=why)
        if not sent:
            why = "its agent sent no system prompt and no tools through the gateway"
            return CoverEval(name=name, baseline=Tries(), parts=(), barred=why)
        past, absent = self.past(name), self.absent.get(name, set())
        measured = Tries(past.passed, past.failed) if past else self._tries[name, _NOTHING]
        return CoverEval(
            name=name,
            baseline=self._baselines.setdefault(name, measured),
            parts=tuple(
                sorted(
                    (instruction.id for instruction in sent if instruction.id not in absent),
                    key=lambda id_: -words[name, id_],
                )
            ),
        )

    def _sent(self, name: str) -> tuple[PromptInstruction, ...]:
        """The instructions that every trial with the prompt as it is has sent; sections are tried by their parts."""
        sent_by_record = [self._instructions(record) for record in self._base[name]]
        common = set.intersection(*({instruction.id for instruction in own} for own in sent_by_record))
        return tuple(
            instruction
            for instruction in sent_by_record[0]
            if instruction.id in common and instruction.kind != "section"
        )

    def _instructions(self, record: Record) -> tuple[PromptInstruction, ...]:
        capture = self._capture(record)
        request = first_request(capture.exchanges)
        return instructions(request, capture.facts) if request else ()

    def prompt(self) -> tuple[PromptPiece, ...]:
        """The prompt and the tools as a whole, as the first eval sends them."""
        for records in self._base.values():
            capture = self._capture(records[0])
            if request := first_request(capture.exchanges):
                return pieces(request, capture.facts)
        return ()

    def _without(self, subject: Subject, removed: frozenset[str]) -> Subject:
        """The subject with some instructions removed, or changed in another way; descriptions that the eval itself
        replaces stay replaced."""
        own = Intervention.of(subject).tools
        return replace(change(self.operator, removed, self._partners), tools=own).on(subject)

    def _capture(self, record: Record) -> Capture:
        return read_capture(record, Tree(), run=self.folder)


def _progress(state: CoverState, trials: int) -> str:
    """The state of the search, and what is tried next."""
    answers = Counter(state.answers().values())
    done = sum(number for answer, number in answers.items() if answer != "not tried")
    step = state.next()[0]
    what = f"with {count(len(step.removed), 'instruction')} changed" if step.removed else "with its usual prompt"
    progress = f"{answers['held']} held, {done} of {len(state.instructions)} answered"
    return f"{count(trials, 'trial')} · {progress} · next: {one_line(step.eval)} {what}"


def checked_plan(plan: Plan, max_trials: int | None) -> Plan:
    """The plan, if it has one subject and the limit allows one trial per eval; raises UsageError otherwise."""
    subjects = sorted({str(cell.subject) for cell in plan.cells})
    if len(subjects) != 1:
        names = ", ".join(subjects)
        raise UsageError(f"expected one subject, found {len(subjects)}: {names}\n  → choose one: --subject NAME")
    if all(cell.skipped is not None for cell in plan.cells):
        raise UsageError(f"no eval can run: {plan.cells[0].id}: {plan.cells[0].skipped}")
    least = sum(len(cell.trials) for cell in plan.cells if cell.skipped is None)
    if max_trials is not None and max_trials < least:
        remedy = f"give {least} or more, or choose fewer evals"
        needed = f"{count(least, 'trial')} are needed, one per eval, to see the prompt"
        raise UsageError(f"--max-trials {max_trials}: {needed}\n  → {remedy}")
    return plan


def shared_words(evals: Mapping[str, str], instructions: Mapping[str, str]) -> dict[tuple[str, str], float]:
    """Eval and instruction → how many words they share; words that many instructions have count less.

    Those that share more are tried first. A wrong guess costs trials, but changes no answer.
    """
    words = {
        instruction: {word for word in words_of(text) if len(word) >= _SHORTEST}
        for instruction, text in instructions.items()
    }
    counts = Counter(word for own in words.values() for word in own)
    weight = {word: math.log((1 + len(words)) / number) for word, number in counts.items()}
    shared = {}
    for name, text in evals.items():
        spoken = set(words_of(text))
        for instruction, own in words.items():
            shared[name, instruction] = math.fsum(sorted(weight[word] for word in own & spoken))
    return shared


def text_of(eval_: Eval) -> str:
    """What an eval speaks of: its name, its description and its prompts."""
    return "\n".join((eval_.name.replace("_", " "), eval_.description, *map(str, eval_.scenario.prompts)))


# What is done to an instruction to see whether an eval notices: it is removed, negated, shortened or moved.


def changeable(operator: CoverOperator, sent: Sequence[PromptInstruction]) -> dict[str, str]:
    """The instructions that the operator can change → the one that it needs for it, or an empty text."""
    if operator == "shorten":
        return {instruction.id: "" for instruction in sent if shortened(instruction.text) != instruction.text}
    if operator == "negate":
        return {instruction.id: "" for instruction in sent if instruction.kind != "block"}
    if operator == "swap":
        own = [instruction.id for instruction in sent if instruction.place == SYSTEM]
        return {id_: other for number, (id_, other) in enumerate(pairwise(own)) if number % 2 == 0}
    return {instruction.id: "" for instruction in sent}


def change(operator: CoverOperator, ids: Collection[str], partners: Mapping[str, str]) -> Intervention:
    """The intervention that changes some instructions."""
    chosen = tuple(sorted(ids))
    if operator == "negate":
        return Intervention(negated=chosen)
    if operator == "shorten":
        return Intervention(shortened=chosen)
    if operator == "swap":
        return Intervention(swapped=tuple((id_, partners[id_]) for id_ in chosen))
    return Intervention(without=chosen)
