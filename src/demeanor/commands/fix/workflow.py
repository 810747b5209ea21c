"""Run a fix: verify that the evals fail, start the fixer, check its change against the rules, try it on the wire,
verify the evals and the guard suite with it, and repeat for as many rounds as are allowed.

The user's tree is not touched. Everything runs in worktrees and is stored in the folder of the fix: trials of a change
that may never be made do not belong in the project's history.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from demeanor.commands.fix.agent import FixerResult, check_fixer, run_fixer
from demeanor.commands.fix.brief import evidence, fix_brief
from demeanor.commands.fix.check_rules import check_rules, touches_evals
from demeanor.commands.fix.diagnosis import Diagnosis
from demeanor.commands.fix.project import FixProject
from demeanor.commands.fix.render import describe_round
from demeanor.commands.fix.report import EXIT_CODES, FixOutcome, FixReport, FixRound, WireTrial
from demeanor.commands.fix.rules import combine_decisions, guard_suite
from demeanor.commands.fix.verify import (
    Verification,
    chance_notes,
    compare_cells,
    failing_cells,
    still_failing,
    verify,
    why_not_accepted,
)
from demeanor.commands.fix.wire_trial import WireCandidate, try_on_wire
from demeanor.config import FixRules
from demeanor.core.text.wording import count
from demeanor.core.trees.tree import Change, unified_diff
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trial import Plan
from demeanor.core.values.verdict import Void
from demeanor.runner import (
    UI,
    BudgetSpent,
    Catalog,
    RunBudget,
    check_budgets,
    check_sandbox,
    check_template,
    choose_evals,
    plan_evals,
    require_engines,
)
from demeanor.store.runs import RunFolder
from demeanor.vcs import BuildFailed, Checkout, checked_out, without_ignored, write_changes, write_patch

_DEEPER = 20
"""Trials that are suggested if a few all pass."""

_OUTCOMES = {"accept": FixOutcome.FIXED, "reject": FixOutcome.NOT_FIXED, "undecided": FixOutcome.UNDECIDED}


@dataclass(kw_only=True)
class FixState:
    """A fix in progress."""

    project: FixProject
    """The project; `fix` of its configuration has the settings."""

    diagnosis: Diagnosis
    """What is known about the failing evals."""

    request: RunRequest
    """How trials are run."""

    environ: Mapping[str, str]
    """The environment, with the API keys."""

    ui: UI
    """Progress output and interrupts."""

    folder: Path = Path()
    """The folder of the fix."""

    rounds: list[FixRound] = field(default_factory=list)
    """The rounds so far."""

    notes: list[str] = field(default_factory=list)
    """Notes for the reader."""

    def check(self) -> None:
        """Check that everything that the fix needs is there, before it costs anything."""
        check_fixer(self._catalog, self._fix.fixer)
        if not self.diagnosis.allowed:
            raise UsageError(
                "there is no file that the fixer may change: the prompt was not found in any file of the repository\n"
                '  → name the files in the configuration: [fix] allowed = ["prompts/**"]'
            )
        for name in self._guard:
            if name not in self.project.evals:
                raise UnknownName("eval", name, self.project.evals, where=f"{self.project.config.where}: fix.guard")
        evals = [*self._targets, *(self.project.evals[name] for name in self._guard)]
        request = replace(
            self.request,
            subjects=self._subjects,
            budget_usd=self._fix.budget_usd,
            budget_tokens=self._fix.budget_tokens,
        )
        check_budgets(self._catalog, [self._catalog.subject(self._fix.fixer)], request)
        require_engines(self._catalog, plan_evals(self._catalog, evals, request, self.environ))
        check_sandbox(self.project.config, request, Plan(cells=()))  # the fixer always needs it, even for tasks
        check_template(Scenario(prompts=("",), template=self.project.tree), self.project.top)

    def run(self, folder: Path) -> FixReport:
        """Run the fix, and store everything in `folder`."""
        self.folder = folder
        before: Verification | None = None
        outcome = FixOutcome.UNDECIDED
        try:
            with self._checkout() as base:
                before = self._verify(self._targets, base, "before")
                outcome = _outcome(before)
                if outcome is FixOutcome.FIXED and failing_cells(before):
                    outcome = FixOutcome.NOT_FIXED  # tolerated by the policy, and what is to be fixed
                if outcome is FixOutcome.UNDECIDED:
                    self.notes.append(f"without any change: {why_not_accepted(before)}")
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
            deeper = f"demeanor fix {shlex.quote(self._targets[0].name)} --trials {_DEEPER}"
            self.notes.append(f"every trial passes without a change; a rare failure needs more trials: {deeper}")
        if outcome is FixOutcome.FIXED:
            self.notes += chance_notes(self.rounds[-1].cells)
        return self._report(outcome, before)

    def _report(self, outcome: FixOutcome, before: Verification | None) -> FixReport:
        spent, unpriced, _ = self._budget.total
        return FixReport(
            id=self.folder.name,
            outcome=outcome,
            exit_code=EXIT_CODES[outcome],
            evals=tuple(target.name for target in self.diagnosis.evals),
            run=self.diagnosis.run.id,
            commit=self.project.commit,
            fixer=self._fix.fixer,
            rule=self._fix.rule,
            before=compare_cells(before),
            rounds=tuple(self.rounds),
            spent=spent,
            unpriced=unpriced,
            folder=str(self.folder),
            notes=tuple(dict.fromkeys((*self.diagnosis.notes, *self.notes))),
        )

    def _round(self, number: int, base: Checkout, before: Verification) -> FixRound:
        folder = self.folder / f"round-{number}"
        work = self._run_fixer(folder)
        changed = without_ignored(work.changes, self.project.tree)
        result = FixRound(
            number=number,
            outcome=FixOutcome.NOT_FIXED,
            detail="the fixer changed nothing",
            files=tuple(change.path for change in changed),
            patch=unified_diff(changed),
            root_cause=work.cause,
            fixer=work.record.spent,
        )
        if isinstance(work.record.verdict, Void):
            return replace(result, outcome=FixOutcome.UNDECIDED, detail=f"the fixer could not run: {work.problem}")
        if work.problem:
            return replace(result, detail=f"the fixer failed, so its change was not used: {work.problem}")
        if not changed:
            return result
        broken = check_rules(self.project, self.diagnosis, changed, self._catalog.redactor, self.environ)
        if broken:
            detail = f"the change broke {count(len(broken), 'rule')}, so it was not run"
            return replace(result, outcome=FixOutcome.REFUSED, detail=detail, refusals=broken)
        return self._try_change(result, changed, folder, base, before)

    def _run_fixer(self, folder: Path) -> FixerResult:
        brief = fix_brief(self.diagnosis, earlier=[describe_round(round_) for round_ in self.rounds])
        folder.mkdir(parents=True)
        (folder / "brief.md").write_text(self._catalog.redactor.text(brief), "utf-8")
        self.ui.log(f"round {len(self.rounds) + 1}: running the fixer {self._fix.fixer}")
        work = run_fixer(
            self._catalog,
            replace(self._budget.limited(self.request), subjects=(self._fix.fixer,), timeout=self._fix.timeout),
            self.project.tree,
            {"brief.md": brief, **evidence(self.diagnosis)},
            folder=folder / "fixer",
            ui=self.ui,
        )
        self._budget.add([work.record])
        return work

    def _try_change(
        self, result: FixRound, changed: Sequence[Change], folder: Path, base: Checkout, before: Verification
    ) -> FixRound:
        """Try a change that breaks no rule on the wire; if it may help, build it, and verify the evals and the guard
        suite with it."""
        patch = folder / "patch.diff"

        def make_change(tree: Path) -> None:
            nonlocal result
            write_changes(changed, tree)
            result = replace(result, patch=write_patch(changed, tree, patch), patch_file=str(patch))

        try:
            if self._fix.wire_trials:
                result = replace(result, wire=self._try_on_wire(changed, folder.name, base, before))
                if result.wire and result.wire.dropped:
                    return replace(result, detail=f"on the wire: {result.wire.detail}")
            with self._checkout(make_change) as checkout:
                evals = self._evals_of(checkout, changed)
                after = self._verify([evals[target.name] for target in self._targets], checkout, f"{folder.name}/after")
                result = replace(
                    result, outcome=_outcome(after), detail=why_not_accepted(after), cells=compare_cells(before, after)
                )
                if result.outcome is FixOutcome.FIXED and (still := still_failing(before, after)):
                    return replace(result, outcome=FixOutcome.NOT_FIXED, detail=still)
                if result.outcome is not FixOutcome.FIXED:
                    return result
                return self._check_guard(result, evals, folder, base, checkout)
        except BuildFailed as error:
            return replace(result, detail=f"the build failed with the change: {error}")
        except BudgetSpent as error:
            return replace(result, outcome=FixOutcome.UNDECIDED, detail=str(error))

    def _try_on_wire(self, changed: Sequence[Change], name: str, base: Checkout, before: Verification) -> WireTrial:
        """Try a change with the agent as it is, before anything is built."""

        def run(number: int, candidate: WireCandidate) -> Verification:
            self.ui.log(f"trying the change on the wire with {candidate.subject}")
            request = replace(
                self.request,
                subjects=(candidate.subject,),
                trials=self._fix.wire_trials,
                intervention=candidate.intervention,
            )
            evals = [self.project.evals[name] for name in candidate.evals]
            return self._run(evals, base, f"{name}/wire-{number}", request, rule="trials")

        return try_on_wire(changed, before, RunFolder(self.folder / "before"), run)

    def _evals_of(self, checkout: Checkout, changed: Sequence[Change]) -> Mapping[str, Eval]:
        """Return the evals to verify a change with: those of the project, unless the change includes evals."""
        if not touches_evals(self.project, changed):
            return self.project.evals
        self.notes.append("the change includes evals: before and after were not judged by the same evals")
        return {eval_.name: eval_ for eval_ in choose_evals(checkout.config, policy="all")}

    def _check_guard(
        self, result: FixRound, evals: Mapping[str, Eval], folder: Path, base: Checkout, checkout: Checkout
    ) -> FixRound:
        """Run the guard suite with the change. Evals that fail there are run without the change too."""
        if not self._guard:
            return replace(result, detail="there is no guard suite, so no other evals were run")
        after = self._verify([evals[name] for name in self._guard], checkout, f"{folder.name}/guard")
        rejected = dict.fromkeys(tally.eval for tally, decision in after.found if decision.answer == "reject")
        failing = [self.project.evals[name] for name in rejected]
        before = self._verify(failing, base, f"{folder.name}/guard-before") if failing else None
        result = replace(result, guard=compare_cells(before, after))
        worse = [f"{cell.eval} on {cell.subject}" for cell in result.guard if cell.worse]
        if worse:
            return replace(result, outcome=FixOutcome.REGRESSED, detail=f"worse than before: {', '.join(worse)}")
        if _outcome(after) is FixOutcome.UNDECIDED:
            return replace(result, outcome=FixOutcome.UNDECIDED, detail=f"the guard suite: {why_not_accepted(after)}")
        return replace(result, detail=f"{count(len(self._guard), 'other eval')} did not get worse")

    def _verify(self, evals: Sequence[Eval], checkout: Checkout, name: str) -> Verification:
        request = replace(self.request, subjects=self._subjects, trials=self._fix.trials)
        return self._run(evals, checkout, name, request, rule=self._fix.rule)

    def _run(
        self, evals: Sequence[Eval], checkout: Checkout, name: str, request: RunRequest, *, rule: str
    ) -> Verification:
        limited, folder = self._budget.limited(request), self.folder / name
        verification = verify(evals, checkout.config, limited, self.environ, rule=rule, folder=folder, ui=self.ui)
        self._budget.add(verification.records)
        self.notes += [*verification.notes, *([verification.stopped] if verification.stopped else [])]
        return verification

    def _checkout(self, change: Callable[[Path], None] | None = None) -> AbstractContextManager[Checkout]:
        return checked_out(
            self.project.config, self.project.commit, environ=self.environ, log=self.ui.log, change=change
        )

    @property
    def _fix(self) -> FixRules:
        return self.project.config.fix

    @property
    def _subjects(self) -> tuple[str, ...]:
        return self._fix.subjects or self.diagnosis.subjects

    @property
    def _targets(self) -> list[Eval]:
        return [self.project.evals[target.name] for target in self.diagnosis.evals]

    @cached_property
    def _guard(self) -> tuple[str, ...]:
        """The names of the other evals that must not get worse."""
        targets = [target.name for target in self.diagnosis.evals]
        return guard_suite(self.project.evals.values(), self._fix.guard, exclude=targets)

    @cached_property
    def _budget(self) -> RunBudget:
        return RunBudget(limit_usd=self._fix.budget_usd, limit_tokens=self._fix.budget_tokens)

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog(config=self.project.config, environ=self.environ)


def _outcome(verification: Verification) -> FixOutcome:
    """Return the outcome of a verification. One that was stopped can show a failure, but not a success."""
    answer = combine_decisions(decision for _, decision in verification.found)
    return _OUTCOMES["undecided" if verification.stopped and answer == "accept" else answer]
