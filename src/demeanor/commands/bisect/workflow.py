"""A bisection at work: it visits a commit, tries it, asks the rule what follows, and visits the next.

Every commit that is visited has a run of its own, which each visit adds to. So whoever starts the same bisection again
finds the trials of the first one in the history, and goes on from there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from demeanor.commands.bisect.commit_trials import Visited, visit
from demeanor.commands.bisect.prior_trials import PriorTrials, kept_tries
from demeanor.commands.bisect.rules import Search
from demeanor.commands.bisect.values import BisectOutcome
from demeanor.config.config import Config
from demeanor.core.errors import UsageError
from demeanor.core.eval import Eval
from demeanor.core.run_request import RunRequest
from demeanor.core.text import count, one_line
from demeanor.core.trial import Cell, Plan
from demeanor.runner.assemble import check_sandbox
from demeanor.runner.baselines import eval_hashes
from demeanor.runner.catalog import Catalog
from demeanor.runner.history import open_project_history
from demeanor.runner.plan import choose_evals, plan_evals
from demeanor.runner.ui import UI
from demeanor.statistics.bisection import Tries
from demeanor.vcs.checkout import BuildFailed, Checkout
from demeanor.vcs.commit_range import Commit, CommitLine, commit_line
from demeanor.vcs.worktree_pool import Worktrees

_BUILT_AT_ONCE = 8
_VOIDS_IN_A_ROW = 3


@dataclass(kw_only=True)
class BisectState:
    """One eval on one subject, a line of commits, and what is known of them so far."""

    config: Config
    """The project's configuration as it is now."""

    environ: Mapping[str, str]
    """Where keys are."""

    request: RunRequest
    """How trials are made."""

    eval: Eval
    """What is asked of every commit: the eval as it is written now."""

    cell: Cell
    """The same on one subject, under the faults of the configuration."""

    line: CommitLine
    """The commits."""

    results: Path
    """The folder that runs are kept in."""

    kept: dict[int, PriorTrials]
    """By place in the line: trials that were kept before."""

    confidence: float = 0.95
    """How sure it is to be."""

    at_once: int = 1
    """Trials at each visit."""

    most: int = 200
    """The most trials that are made, voids included."""

    visited: dict[int, Visited] = field(default_factory=dict)
    """By place in the line: what was tried now."""

    barred: dict[int, str] = field(default_factory=dict)
    """By place in the line: why a commit can't be tried."""

    built: int = 0
    """Commits that were built."""

    notes: list[str] = field(default_factory=list)
    """What a person should know."""

    @property
    def last(self) -> int:
        """The place of the bad end."""
        return len(self.line.commits) - 1

    @property
    def tries(self) -> dict[int, Tries]:
        """By place in the line: all trials that count."""
        old = {place: kept.tries for place, kept in self.kept.items()}
        new = {place: visited.tries for place, visited in self.visited.items() if visited.tries.judged}
        return {place: old.get(place, Tries()) + new.get(place, Tries()) for place in {*old, *new}}

    @property
    def search(self) -> Search:
        """What the rule makes of it."""
        return Search(tries=self.tries, last=self.last, barred=frozenset(self.barred), confidence=self.confidence)

    @property
    def made(self) -> int:
        """Trials that were made now, voids included."""
        return sum(len(visited.trials) for visited in self.visited.values())

    @property
    def cost_usd(self) -> float | None:
        """What they cost, as far as known."""
        known = [visited.cost_usd for visited in self.visited.values() if visited.cost_usd is not None]
        return sum(known) if known else None

    def run(self, ui: UI, show: Callable[[BisectState, int], None]) -> BisectOutcome:
        """Search to the end; `show` is told after each visit. Raises KeyboardInterrupt where a person ends it."""
        voids = 0
        if self.search.outcome() is None:
            check_sandbox(self.config, self.request, Plan(cells=(self.cell,)))
        with Worktrees(self.config, self.environ, most=_BUILT_AT_ONCE, log=ui.log) as trees:
            while (search := self.search).outcome() is None:
                if (why := self._enough(voids)) is not None:
                    self.notes.append(why)
                    break
                place = search.next(at_hand=[self._places[commit] for commit in trees.at_hand])
                checkout = self._checkout(place, search, trees)
                self.built = trees.built
                if checkout is None:
                    ui.log(f"skipped {self._told(place)}: {self.barred[place]}")
                    continue
                ui.log(f"trying {self._told(place)}")
                judged = self._visit(place, checkout, ui)
                voids = 0 if judged else voids + 1
                show(self, place)
        return self.search.outcome() or BisectOutcome.UNDECIDED

    def _enough(self, voids: int) -> str | None:
        """Why it ends before it is sure, if so."""
        budget = self.request.budget_usd
        if budget is not None and (self.cost_usd or 0.0) >= budget:
            return f"stopped: the budget of ${budget:g} is spent (${self.cost_usd:.4f})"
        if self.made >= self.most:
            return f"stopped: {count(self.most, 'trial')} were made; --most allows for more"
        ends = [name for place, name in ((0, "good"), (self.last, "bad")) if place in self.barred]
        if ends:
            return f"stopped: the {ends[0]} end can't be tried: {self.barred[0 if ends[0] == 'good' else self.last]}"
        if voids >= _VOIDS_IN_A_ROW:
            return f"stopped: {voids} commits in a row gave no trial that can be judged"
        return None

    def _checkout(self, place: int, search: Search, trees: Worktrees) -> Checkout | None:
        """The commit, built; None where it can't be. An end that can't be built is an error, before anything costs."""
        bits = search.belief.information()

        def get(one: int) -> Checkout:
            return trees.get(self._commit(one).hash, worth=lambda commit: bits[self._places[commit]])

        try:
            if not self.visited and place in (0, self.last):
                get(self.last)
            return get(place)
        except BuildFailed as error:
            if not self.visited and place in (0, self.last):
                raise
            self.barred[place] = str(error).partition("\n")[0]
            return None

    def _visit(self, place: int, checkout: Checkout, ui: UI) -> bool:
        """Make the next trials of a commit; whether any of them was judged."""
        left = None if self.request.budget_usd is None else self.request.budget_usd - (self.cost_usd or 0.0)
        asked = replace(self.request, budget_usd=left, seed=self._seed(place))
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
        self._left_out(place, visited)
        if visited.tries.judged > before:
            return True
        if result.stopped is None:
            self.barred[place] = visited.why_void
        return False

    def _left_out(self, place: int, visited: Visited) -> None:
        """Earlier trials of another subject by the same name are no answer to the same question."""
        kept = self.kept.get(place)
        if kept is not None and visited.fingerprints and visited.fingerprints != {kept.fingerprint}:
            del self.kept[place]
            self.notes.append(
                f"{self._commit(place).hash[:12]}: {count(kept.tries.judged, 'earlier trial')} left out: the subject is"
                " not what it was then (version, prompt, tools or settings)"
            )

    def _seed(self, place: int) -> int | None:
        """Of each commit another, so that their trials do not depend on each other; and another one when resumed."""
        if self.request.seed is None:
            return None
        known = self.kept[place].tries.judged if place in self.kept else 0
        text = f"{self.request.seed}/{place}/{known}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    @property
    def _places(self) -> Mapping[str, int]:
        return {commit.hash: place for place, commit in enumerate(self.line.commits)}

    def _commit(self, place: int) -> Commit:
        return self.line.commits[place]

    def _told(self, place: int) -> str:
        commit = self._commit(place)
        return f"{commit.hash[:12]} ({place} of {self.last}): {one_line(commit.subject)}"


def make_bisecting(
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
    """Everything that a bisection begins with; every mistake that can be found without running is found here."""
    line = commit_line(config.root, good, bad)
    one, cell = _only_cell(config, environ, request)
    history = open_project_history(config, environ, results=results)
    try:
        kept = kept_tries(
            history,
            {commit.hash for commit in line.commits},
            cell.eval.name,
            cell.subject,
            eval_hash=eval_hashes([cell.eval])[cell.eval.name],
        )
    finally:
        history.close()
    places = {commit.hash: place for place, commit in enumerate(line.commits)}
    return BisectState(
        config=config,
        environ=environ,
        request=request,
        eval=one,
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
    """One eval, and its one cell."""
    evals = choose_evals(config, paths=request.paths, names=request.names, policy="all")
    if len(evals) != 1:
        raise UsageError(f"one eval can be bisected, not {len(evals)}: {', '.join(one.name for one in evals)}")
    plan: Plan = plan_evals(Catalog(config=config, environ=environ), evals, request, environ)
    if len(plan.cells) != 1:
        known = ", ".join(str(cell.subject) for cell in plan.cells)
        raise UsageError(f"one subject can be bisected, and there are {len(plan.cells)}: {known}\n  → --subject NAME")
    cell = plan.cells[0]
    if cell.skipped is not None:
        raise UsageError(f"{cell.id}: nothing can be tried: {cell.skipped}")
    return evals[0], cell
