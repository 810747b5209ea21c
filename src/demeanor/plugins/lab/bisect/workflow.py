"""Run a bisection: test a commit, ask the rule which one is next, until the rule has an answer.

The trials of each commit are in a run of their own. A bisection that is started again reuses them from the history.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from demeanor.config import Config
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.errors import UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import PATH_TOOLS, TASK_ENVIRONMENT, subject_hash, without_files
from demeanor.core.values.history import RunCell
from demeanor.core.values.ports import History
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Cell, Plan
from demeanor.core.values.usage import total
from demeanor.plugins.lab.bisect.commit_trials import Visited, visit
from demeanor.plugins.lab.bisect.report import BisectOutcome
from demeanor.plugins.lab.bisect.rules import Search
from demeanor.results import eval_hashes, open_project_history
from demeanor.runner import (
    UI,
    Catalog,
    RunBudget,
    check_sandbox,
    choose_evals,
    path_tools,
    plan_evals,
    shared_executor,
    task_environment,
    uses_project_files,
)
from demeanor.statistics import Tries
from demeanor.vcs import BuildFailed, Checkout, Commit, CommitLine, Worktrees, commit_line

_BUILT_AT_ONCE = 8
_VOIDS_IN_A_ROW = 3


@dataclass(kw_only=True)
class BisectState:
    """One eval with one subject, and the commits with their trials so far, numbered from 0, the good end."""

    config: Config
    """The project's configuration as it is now."""

    environ: Mapping[str, str]
    """The environment, which contains API keys."""

    request: RunRequest
    """The options of its runs."""

    eval: Eval
    """The eval, as it is in the working tree."""

    cell: Cell
    """The eval with the subject, including configured faults."""

    line: CommitLine
    """The commits."""

    results: Path
    """The folder for runs."""

    kept: dict[int, PriorTrials]
    """Commit number → reusable trials of earlier runs."""

    confidence: float = 0.95
    """The required probability."""

    at_once: int = 1
    """Trials per visit of a commit."""

    most: int = 200
    """The maximum number of trials, including void ones."""

    visited: dict[int, Visited] = field(default_factory=dict)
    """Commit number → its trials of this bisection."""

    barred: dict[int, str] = field(default_factory=dict)
    """Commit number → why it can't be tested."""

    built: int = 0
    """Commits that were built."""

    notes: list[str] = field(default_factory=list)
    """Warnings and remarks."""

    @property
    def last(self) -> int:
        """The number of the bad end."""
        return len(self.line.commits) - 1

    @property
    def tries(self) -> dict[int, Tries]:
        """Commit number → all its trials."""
        old = {place: kept.tries for place, kept in self.kept.items()}
        new = {place: visited.tries for place, visited in self.visited.items() if visited.tries.judged}
        return {place: old.get(place, Tries()) + new.get(place, Tries()) for place in {*old, *new}}

    @property
    def search(self) -> Search:
        """The state of the search."""
        return Search(tries=self.tries, last=self.last, barred=frozenset(self.barred), confidence=self.confidence)

    @property
    def made(self) -> int:
        """Trials of this bisection, including void ones."""
        return sum(len(visited.trials) for visited in self.visited.values())

    @property
    def cost_usd(self) -> float | None:
        """Their cost, as far as known."""
        return total(record.spent for visited in self.visited.values() for record in visited.records).spent.cost_usd

    def run(self, ui: UI, show: Callable[[BisectState, int], None]) -> BisectOutcome:
        """Search to the end; calls `show` after each tested commit. Raises KeyboardInterrupt on Ctrl-C."""
        voids = 0
        if self.search.outcome() is None:
            check_sandbox(self.config, self.request, Plan(cells=(self.cell,)))
        with (
            shared_executor(self.config) as config,
            Worktrees(config, self.environ, most=_BUILT_AT_ONCE, log=ui.log) as trees,
        ):
            while (search := self.search).outcome() is None:
                if (why := self._stop_reason(voids)) is not None:
                    self.notes.append(why)
                    break
                place = search.next(at_hand=[self._places[commit] for commit in trees.at_hand])
                checkout = self._checkout(place, search, trees)
                self.built = trees.built
                if checkout is None:
                    ui.log(f"skipped {self._label(place)}: {self.barred[place]}")
                    continue
                ui.log(f"testing {self._label(place)}")
                judged = self._visit(place, checkout, ui)
                voids = 0 if judged else voids + 1
                show(self, place)
        return self.search.outcome() or BisectOutcome.UNDECIDED

    def _budget(self) -> RunBudget:
        """The budget, with what all tested commits have used of it."""
        budget = RunBudget(limit_usd=self.request.budget_usd, limit_tokens=self.request.budget_tokens)
        for visited in self.visited.values():
            budget.add(visited.records)
        return budget

    def _stop_reason(self, voids: int) -> str | None:
        """Why to stop without an answer; None to continue."""
        if spent := self._budget().reached():
            return f"stopped: {spent}"
        if self.made >= self.most:
            return f"stopped after {count(self.most, 'trial')}; a larger --max-trials allows more"
        ends = [name for place, name in ((0, "good"), (self.last, "bad")) if place in self.barred]
        if ends:
            return f"stopped: the {ends[0]} end can't be tested: {self.barred[0 if ends[0] == 'good' else self.last]}"
        if voids >= _VOIDS_IN_A_ROW:
            return f"stopped: {count(voids, 'commit')} in a row have only void trials"
        return None

    def _checkout(self, place: int, search: Search, trees: Worktrees) -> Checkout | None:
        """The commit, built; None if the build fails. Before the first trial, a failed build of an end is an error."""
        bits = search.belief.information()

        def get(place: int) -> Checkout:
            return trees.get(self._commit(place).hash, worth=lambda commit: bits[self._places[commit]])

        try:
            if not self.visited and place in (0, self.last):
                get(self.last)
            checkout = get(place)
        except BuildFailed as error:
            if not self.visited and place in (0, self.last):
                raise
            self.barred[place] = str(error).partition("\n")[0]
            return None
        if not self.visited:
            self._refuse_other_agent(checkout)
        return checkout

    def _refuse_other_agent(self, checkout: Checkout) -> None:
        """Refuse an agent that does not come from the commits: all of them would run the same."""
        catalog = Catalog(config=checkout.config, environ=self.environ)
        if not uses_project_files(catalog, self.cell.subject, checkout.folder):
            raise UsageError(
                f"{self.cell.subject} is the same in every commit: no path that the agent is started with is in the "
                "checkout of a commit\n"
                '  → start it from the repository: "./dist/cli.js" in `program`, `command` or `args`, or {project}/… '
                "anywhere in them or in `env`; `reads` makes further files readable"
            )

    def _visit(self, place: int, checkout: Checkout, ui: UI) -> bool:
        """Run the next trials of a commit; return whether any was judged."""
        asked = replace(self._budget().limited(self.request), seed=self._seed(place))
        before = self.visited[place].tries.judged if place in self.visited else 0
        visited, result = visit(
            self.visited.get(place),
            checkout,
            self.eval,
            asked,
            self.environ,
            results=self.results,
            trials=min(self.search.trials(place, at_once=self.at_once), self.most - self.made),
            ui=ui,
        )
        self.visited[place] = visited
        if result.interrupted:
            raise KeyboardInterrupt
        self.notes += [note for note in visited.notes if note not in self.notes]
        self._drop_other_subject(place, visited)
        if visited.tries.judged > before:
            return True
        if result.stopped is None:
            self.barred[place] = visited.why_void
        return False

    def _drop_other_subject(self, place: int, visited: Visited) -> None:
        """Ignore earlier trials whose fingerprint differs from that of the new ones."""
        kept = self.kept.get(place)
        if kept is not None and visited.fingerprints and visited.fingerprints != {kept.fingerprint}:
            del self.kept[place]
            self.notes.append(
                f"{self._commit(place).hash[:12]}: {count(kept.tries.judged, 'earlier trial')} ignored: the subject"
                " has changed since then (version, prompt, tools or settings)"
            )

    def _seed(self, place: int) -> int | None:
        """A seed per commit, so that trials are independent; a resumed bisection uses new ones."""
        if self.request.seed is None:
            return None
        judged = self.kept[place].tries.judged if place in self.kept else 0
        text = f"{self.request.seed}/{place}/{judged}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    @property
    def _places(self) -> Mapping[str, int]:
        return {commit.hash: place for place, commit in enumerate(self.line.commits)}

    def _commit(self, place: int) -> Commit:
        return self.line.commits[place]

    def _label(self, place: int) -> str:
        commit = self._commit(place)
        return f"{commit.hash[:12]} ({place} of {self.last}): {one_line(commit.subject)}"


def make_bisect_state(
    config: Config,
    environ: Mapping[str, str],
    request: RunRequest,
    *,
    good: str,
    bad: str,
    results: Path,
    confidence: float,
    at_once: int,
    most: int,
) -> BisectState:
    """The initial state. Finds every mistake that can be found without running anything."""
    line = commit_line(config.root, good, bad)
    eval_, cell = _only_cell(config, environ, request)
    with open_project_history(config, environ, results=results) as history:
        kept = find_prior_trials(
            history,
            {commit.hash for commit in line.commits},
            cell.eval.name,
            cell.subject,
            eval_hash=eval_hashes([cell.eval])[cell.eval.name],
            environment=task_environment(Catalog(config=config, environ=environ), request, Plan(cells=(cell,))),
        )
    places = {commit.hash: place for place, commit in enumerate(line.commits)}
    return BisectState(
        config=config,
        environ=environ,
        request=request,
        eval=eval_,
        cell=cell,
        line=line,
        results=results,
        kept={places[commit]: tries for commit, tries in kept.items()},
        confidence=confidence,
        at_once=at_once,
        most=most,
        notes=list(line.notes),
    )


def _only_cell(config: Config, environ: Mapping[str, str], request: RunRequest) -> tuple[Eval, Cell]:
    """The only eval, and its only cell."""
    evals = choose_evals(config, paths=request.paths, names=request.names, policy="all")
    if len(evals) != 1:
        raise UsageError(f"expected one eval, found {len(evals)}: {', '.join(eval_.name for eval_ in evals)}")
    plan: Plan = plan_evals(Catalog(config=config, environ=environ), evals, request, environ)
    if len(plan.cells) != 1:
        subjects = ", ".join(str(cell.subject) for cell in plan.cells)
        raise UsageError(f"expected one subject, found {len(plan.cells)}: {subjects}\n  → choose one: --subject NAME")
    cell = plan.cells[0]
    if cell.skipped is not None:
        raise UsageError(f"{cell.id}: it can't run: {cell.skipped}")
    return evals[0], cell


# Trials of earlier runs that a bisection can reuse.
#
# They count if the eval and the settings of the subject are the same and the commit had no uncommitted changes. If
# a commit has trials with several fingerprints (such as another version of the agent), only those with the latest
# count: they are never averaged silently.


@dataclass(frozen=True, kw_only=True, slots=True)
class PriorTrials:
    """The reusable trials of one commit."""

    tries: Tries
    """The trials that count."""

    fingerprint: str
    """The fingerprint of the subject."""

    runs: tuple[str, ...]
    """Their runs, the latest last."""


def find_prior_trials(
    history: History,
    commits: Collection[str],
    name: str,
    subject: Subject,
    *,
    eval_hash: str,
    environment: str | None = None,
) -> dict[str, PriorTrials]:
    """Commit → its reusable trials. `environment` is that of a Harbor task; other evals have none."""
    if not eval_hash:
        return {}
    by_commit: dict[str, list[RunCell]] = {}
    facts = {PATH_TOOLS: path_tools()} if environment is None else {TASK_ENVIRONMENT: environment}
    for cell in history.eval_history(name, str(subject)):
        same = subject_hash(subject, version=cell.agent_version, prompt=cell.prompt_hash, facts=facts)
        counts = (
            cell.judged
            and cell.dirty is False
            and cell.eval_hash == eval_hash
            and without_files(cell.fingerprint) == same
        )
        if cell.commit is not None and cell.commit in commits and counts:
            by_commit.setdefault(cell.commit, []).append(cell)
    return {commit: _sum_up(cells) for commit, cells in by_commit.items()}


def _sum_up(cells: list[RunCell]) -> PriorTrials:
    latest = cells[-1].fingerprint
    alike = [cell for cell in cells if cell.fingerprint == latest]
    return PriorTrials(
        tries=sum((Tries(cell.passed, cell.failed) for cell in alike), Tries()),
        fingerprint=latest,
        runs=tuple(cell.run for cell in alike),
    )
