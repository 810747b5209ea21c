"""The prefixes of decision-point evals: does the agent still do what was recorded? No model is asked.

The real agent gets the recorded answers up to the cut, where it is refused. If it sends other requests than the
recorded ones, or the scenario has changed, the prefix is stale. `--refresh` gives the agent the recorded answers
whatever it sends, and records its requests anew.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from demeanor.cli import make_ui
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import CassetteError, DemeanorError
from demeanor.core.values.eval import Eval
from demeanor.core.values.prefix import REACHED, Prefix
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import Void, VoidCause
from demeanor.runner import Catalog, execute, plan_evals, prepare, read_start, renew, stale_reason
from demeanor.store.captures import read_capture


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefixState:
    """The state of one prefix."""

    eval: str
    """The eval that starts from it."""

    file: str
    """Its file."""

    state: Literal["fresh", "refreshed", "stale", "unreadable", "unknown"]
    """Whether the agent still does what was recorded; `unknown` if it could not be started."""

    detail: str = ""
    """Why, if it is not fresh. Hostile text."""

    @property
    def faulty(self) -> bool:
        """Whether trials of the eval would be void."""
        return self.state in {"stale", "unreadable"}


def check_prefixes(
    catalog: Catalog, evals: Sequence[Eval], *, refresh: bool, show: Callable[[str], None]
) -> Iterator[PrefixState]:
    """The state of each prefix that an eval starts from; with `refresh`, stale ones are recorded anew."""
    for eval_ in evals:
        if eval_.scenario.start is not None:
            show(f"replaying the prefix {eval_.scenario.start.name} of {eval_.name}")
            yield _check(catalog, eval_, eval_.scenario.start, refresh=refresh)


def _check(catalog: Catalog, eval_: Eval, named: Prefix, *, refresh: bool) -> PrefixState:
    state = PrefixState(eval=eval_.name, file=named.file, state="fresh")
    try:
        start = read_start(named)
    except CassetteError as error:
        return replace(state, state="unreadable", detail=error.detail)
    stale = stale_reason(eval_, start)
    try:
        if not stale:
            _, verdict, _ = _try(catalog, eval_, start)
            if verdict.detail == REACHED:
                return state
            if verdict.cause is not VoidCause.PREFIX:
                return replace(state, state="unknown", detail=verdict.reason)
            stale = verdict.detail
        if not refresh:
            return replace(state, state="stale", detail=stale)
        trial, verdict, capture = _try(catalog, eval_, start, lenient=True)
    except DemeanorError as error:
        return replace(state, state="unknown", detail=str(error))
    if verdict.detail != REACHED:
        return replace(state, state="stale", detail=f"it can't be recorded anew: {verdict.reason}")
    renew(named, trial, capture, catalog.redactor)
    return replace(state, state="refreshed", detail=stale)


def _try(catalog: Catalog, eval_: Eval, start: Prefix, *, lenient: bool = False) -> tuple[Trial, Void, Capture]:
    """Let the agent start from a prefix and end at its cut: its trial, why it is void, and its capture."""
    start = replace(start, ends=True, lenient=lenient, digest=f"{start.digest}-{lenient}")
    offline = Catalog(config=replace(catalog.config, attempts=1), environ=catalog.environ, replaying=True)
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        no_cassettes = Path(folder) / "cassettes"
        request = RunRequest(
            subjects=(f"{start.agent}:{start.model}",), policy="all", trials=1, replay=str(no_cassettes)
        )
        forked = replace(eval_, subjects=(), models=(), log=False, scenario=replace(eval_.scenario, start=start))
        plan = plan_evals(offline, [forked], request, catalog.environ)
        trial = next(iter(plan.trials()), None)
        if trial is None:
            raise DemeanorError(plan.cells[0].skipped or "it has no trials")
        run = prepare(offline, plan, request, Path(folder) / "results", in_history=False)
        result = execute(run, ui=make_ui(quiet=True, kept=False))
        if result.interrupted:
            raise KeyboardInterrupt
        record = result.records[-1]
        capture = read_capture(record, Tree(), run=run.folder)
    verdict = record.verdict
    if not isinstance(verdict, Void):
        verdict = Void(cause=VoidCause.HARNESS, detail=f"expected the agent to be refused, found {verdict.outcome}")
    return trial, verdict, capture
