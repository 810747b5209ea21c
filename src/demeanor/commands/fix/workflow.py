"""A fix from beginning to end: prove that something is broken, let the fixer work, hold its change against the rules,
prove that it is mended and that nothing else broke; and again, as often as rounds are allowed.

The user's tree is not touched. What is tried lies in worktrees, and what is kept lies in the fix's own folder: trials
of a change that may never be made are no part of the project's history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from demeanor.commands.fix.agent import Work, check_fixer, let_fix
from demeanor.commands.fix.before_after import doubts, fix_cells, why_not
from demeanor.commands.fix.brief import evidence, fix_brief
from demeanor.commands.fix.check_rules import held_against_the_rules, touches_evals
from demeanor.commands.fix.diagnosis import Diagnosis
from demeanor.commands.fix.phrases import told_round
from demeanor.commands.fix.project import FixProject
from demeanor.commands.fix.report import CODES, FixOutcome, FixReport, FixRound
from demeanor.commands.fix.rules import guard_suite, standing
from demeanor.commands.fix.verify import Verification, prove
from demeanor.config.fix import FixRules
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.eval import Eval
from demeanor.core.run_request import RunRequest
from demeanor.core.scenario import Scenario
from demeanor.core.text import count
from demeanor.core.tree import Change, unified_diff
from demeanor.core.trial import Plan
from demeanor.core.verdict import Void
from demeanor.runner.assemble import check_sandbox
from demeanor.runner.budget import BudgetSpent, RunBudget
from demeanor.runner.catalog import Catalog
from demeanor.runner.plan import choose_evals, plan_evals
from demeanor.runner.tasks import has_tasks, require_harbor
from demeanor.runner.template import check_template
from demeanor.runner.ui import UI
from demeanor.vcs.checkout import BuildFailed, Checkout, checked_out
from demeanor.vcs.patch import without_ignored, write_changes, write_patch

_STANDING = {"accept": FixOutcome.FIXED, "reject": FixOutcome.NOT_FIXED, "undecided": FixOutcome.UNDECIDED}


@dataclass(kw_only=True)
class FixState:
    """A fix that is under way."""

    project: FixProject
    """The project; `fix` of its configuration says how."""

    found: Diagnosis
    """What is known of what fails."""

    request: RunRequest
    """How trials are run."""

    environ: Mapping[str, str]
    """Where keys are."""

    ui: UI
    """How it is steered and shown."""

    folder: Path = Path()
    """Where all of it is kept."""

    rounds: list[FixRound] = field(default_factory=list)
    """What was tried so far."""

    notes: list[str] = field(default_factory=list)
    """What a person should know."""

    def check(self) -> None:
        """Find what is missing before anything is spent."""
        check_fixer(self._catalog, self._fix.fixer)
        if not self.found.allowed:
            raise UsageError(
                "nothing may be changed: what the model was told was found in no file of the repository\n"
                '  → say what may be: [fix] allowed = ["prompts/**"]'
            )
        for name in self._guard:
            if name not in self.project.evals:
                raise UnknownName("eval", name, self.project.evals, where=f"{self.project.config.where}: fix.guard")
        tried = [*self._targets, *(self.project.evals[name] for name in self._guard)]
        request = replace(self.request, subjects=self._subjects)
        if has_tasks(plan_evals(self._catalog, tried, request, self.environ)):
            require_harbor(self.project.config, self.environ)
        check_sandbox(self.project.config, request, Plan(cells=()))  # the fixer works in it, whatever is tried
        check_template(Scenario(prompts=("",), template=self.project.tree), self.project.top)

    def run(self, folder: Path) -> FixReport:
        """All of it, kept in a folder of its own."""
        self.folder = folder
        before: Verification | None = None
        outcome = FixOutcome.UNDECIDED
        try:
            with self._built() as base:
                before = self._prove(self._targets, base, "before")
                outcome = _stands(before)
                self.notes += [f"without any change: {why_not(before)}"] if outcome is FixOutcome.UNDECIDED else []
                for number in range(1, self._fix.rounds + 1):
                    if outcome is FixOutcome.FIXED or (number == 1 and outcome is FixOutcome.UNDECIDED):
                        break
                    self.rounds.append(self._round(number, base, before))
                    outcome = self.rounds[-1].outcome
        except BudgetSpent as error:
            outcome = self.rounds[-1].outcome if self.rounds else FixOutcome.UNDECIDED
            self.notes.append(f"stopped: {error}")
        if outcome is FixOutcome.FIXED and not self.rounds:
            outcome = FixOutcome.PASSES
        if outcome is FixOutcome.FIXED:
            self.notes += doubts(self.rounds[-1].cells)
        return self._report(outcome, before)

    def _report(self, outcome: FixOutcome, before: Verification | None) -> FixReport:
        spent, unpriced, _ = self._purse.total
        return FixReport(
            id=self.folder.name,
            outcome=outcome,
            exit_code=CODES[outcome],
            evals=tuple(one.name for one in self.found.evals),
            run=self.found.run.id,
            commit=self.project.commit,
            fixer=self._fix.fixer,
            rule=self._fix.rule,
            before=fix_cells(before),
            rounds=tuple(self.rounds),
            spent=spent,
            unpriced=unpriced,
            folder=str(self.folder),
            notes=tuple(dict.fromkeys((*self.found.notes, *self.notes))),
        )

    def _round(self, number: int, base: Checkout, before: Verification) -> FixRound:
        place = self.folder / f"round-{number}"
        work = self._work(place)
        changed = without_ignored(work.changes, self.project.tree)
        told = FixRound(
            number=number,
            outcome=FixOutcome.NOT_FIXED,
            detail="the fixer changed nothing",
            files=tuple(change.path for change in changed),
            patch=unified_diff(changed),
            root_cause=work.cause,
            fixer=work.record.spent,
        )
        if isinstance(work.record.verdict, Void):
            detail = f"the fixer could not work: {work.problem}"
            return replace(told, outcome=FixOutcome.UNDECIDED, detail=detail)
        if work.problem:
            return replace(told, detail=f"the fixer did not end well, so its work is not used: {work.problem}")
        if not changed:
            return told
        broken = held_against_the_rules(self.project, self.found, changed, self._catalog.redactor, self.environ)
        if broken:
            detail = f"{count(len(broken), 'rule')} broken, so the change was not tried"
            return replace(told, outcome=FixOutcome.REFUSED, detail=detail, refusals=broken)
        return self._tried(told, changed, place, base, before)

    def _work(self, place: Path) -> Work:
        brief = fix_brief(self.found, earlier=[told_round(one) for one in self.rounds])
        place.mkdir(parents=True)
        (place / "brief.md").write_text(self._catalog.redactor.text(brief), "utf-8")
        self.ui.log(f"round {len(self.rounds) + 1}: {self._fix.fixer} is asked to mend it")
        work = let_fix(
            self._catalog,
            replace(self._purse.paid(self.request), subjects=(self._fix.fixer,), timeout=self._fix.timeout),
            self.project.tree,
            {"brief.md": brief, **evidence(self.found)},
            folder=place / "fixer",
            ui=self.ui,
        )
        self._purse.pay([work.record])
        return work

    def _tried(
        self, told: FixRound, changed: Sequence[Change], place: Path, base: Checkout, before: Verification
    ) -> FixRound:
        """A change that breaks no rule, built and proven."""
        patch = place / "patch.diff"

        def make(tree: Path) -> None:
            nonlocal told
            write_changes(changed, tree)
            told = replace(told, patch=write_patch(changed, tree, patch), patch_file=str(patch))

        try:
            with self._built(make) as mended:
                evals = self._evals_of(mended, changed)
                after = self._prove([evals[one.name] for one in self._targets], mended, f"{place.name}/after")
                told = replace(told, outcome=_stands(after), detail=why_not(after), cells=fix_cells(before, after))
                if told.outcome is not FixOutcome.FIXED:
                    return told
                return self._guarded(told, evals, place, base, mended)
        except BuildFailed as error:
            return replace(told, detail=f"what was changed can't be built: {error}")
        except BudgetSpent as error:
            return replace(told, outcome=FixOutcome.UNDECIDED, detail=str(error))

    def _evals_of(self, mended: Checkout, changed: Sequence[Change]) -> Mapping[str, Eval]:
        """The evals to try a change with: those of the project, unless the change is to evals too."""
        if not touches_evals(self.project, changed):
            return self.project.evals
        self.notes.append("evals were changed too: before and after are not judged by the same evals")
        return {one.name: one for one in choose_evals(mended.config, policy="all")}

    def _guarded(
        self, told: FixRound, evals: Mapping[str, Eval], place: Path, base: Checkout, mended: Checkout
    ) -> FixRound:
        """What is mended, held against what must not break; what fails there is tried without the change too."""
        if not self._guard:
            return replace(told, detail="nothing else was tried: there is no guard suite")
        after = self._prove([evals[name] for name in self._guard], mended, f"{place.name}/guard")
        fallen = dict.fromkeys(tally.eval for tally, said in after.found if said.answer == "reject")
        doubtful = [self.project.evals[name] for name in fallen]
        old = self._prove(doubtful, base, f"{place.name}/guard-before") if doubtful else None
        told = replace(told, guard=fix_cells(old, after))
        worse = [f"{cell.eval} on {cell.subject}" for cell in told.guard if cell.worse]
        if worse:
            return replace(told, outcome=FixOutcome.REGRESSED, detail=f"worse than before: {', '.join(worse)}")
        if _stands(after) is FixOutcome.UNDECIDED:
            return replace(told, outcome=FixOutcome.UNDECIDED, detail=f"the guard suite: {why_not(after)}")
        return replace(told, detail=f"{count(len(self._guard), 'other eval')} held")

    def _prove(self, evals: Sequence[Eval], place: Checkout, name: str) -> Verification:
        proof = prove(
            evals,
            place.config,
            replace(self._purse.paid(self.request), subjects=self._subjects, trials=self._fix.trials),
            self.environ,
            rule=self._fix.rule,
            folder=self.folder / name,
            ui=self.ui,
        )
        self._purse.pay(proof.records)
        self.notes += [*proof.notes, *([proof.stopped] if proof.stopped else [])]
        return proof

    def _built(self, change: Callable[[Path], None] | None = None) -> AbstractContextManager[Checkout]:
        return checked_out(
            self.project.config, self.project.commit, environ=self.environ, tell=self.ui.log, change=change
        )

    @property
    def _fix(self) -> FixRules:
        return self.project.config.fix

    @property
    def _subjects(self) -> tuple[str, ...]:
        return self._fix.subjects or self.found.subjects

    @property
    def _targets(self) -> list[Eval]:
        return [self.project.evals[one.name] for one in self.found.evals]

    @cached_property
    def _guard(self) -> tuple[str, ...]:
        """The other evals that must not get worse."""
        return guard_suite(self.project.evals.values(), self._fix.guard, but=[one.name for one in self.found.evals])

    @cached_property
    def _purse(self) -> RunBudget:
        return RunBudget(limit_usd=self._fix.budget_usd)

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog(config=self.project.config, environ=self.environ)


def _stands(proof: Verification) -> FixOutcome:
    """What a proof says; one that was stopped proves nothing but failure."""
    stands = standing(said for _, said in proof.found)
    return _STANDING["undecided" if proof.stopped and stands == "accept" else stands]
