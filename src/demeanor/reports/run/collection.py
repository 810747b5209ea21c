"""How many evals were collected, and which ones are gone: compared with the last night or with a base commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from demeanor.config import Config
from demeanor.core.values.errors import StoreError
from demeanor.core.values.eval import Eval
from demeanor.define import Edits, edits
from demeanor.reports.run.report import Collection
from demeanor.results import counted_nights, night_filter, open_project_history
from demeanor.runner import eval_paths


def compare_collection(
    config: Config, evals: Sequence[Eval], paths: Sequence[str], environ: Mapping[str, str], results: Path
) -> Collection:
    """Compare with the last night or, if there is none or only some paths were collected, with the base commit."""
    if not paths and (night := _last_night(config, environ, results)):
        return since_night(evals, night)
    return since_commit(evals, edits(evals, config.root, within=eval_paths(config, paths)))


def since_night(evals: Iterable[Eval], night: Iterable[str]) -> Collection:
    """Compare with the names of the evals of the last night."""
    now, then = {eval_.name for eval_ in evals}, set(night)
    return Collection(
        collected=len(now),
        compared_with="the last night",
        earlier=len(then),
        removed=dict.fromkeys(sorted(then - now), ""),
    )


def since_commit(evals: Sequence[Eval], edits: Edits) -> Collection:
    """Compare with a base commit."""
    if edits.base is None or edits.unsure:
        return Collection(collected=len(evals), removed=edits.removed)
    new = sum(edit == "new" for edit in edits.evals.values())
    return Collection(
        collected=len(evals),
        compared_with=f"the base commit {edits.base[:7]}",
        earlier=len(evals) - new + len(edits.removed),
        removed=edits.removed,
    )


def _last_night(config: Config, environ: Mapping[str, str], results: Path) -> frozenset[str]:
    """The names of the evals of the last night that counts; none if there is none or the history can't be read."""
    try:
        history = open_project_history(config, environ, results=results)
        try:
            if not history.runs(kind="nightly"):  # most projects; the rules below need several git commands
                return frozenset()
            return counted_nights(history, night_filter(config)).last_evals(history)
        finally:
            history.close()
    except StoreError:
        return frozenset()  # the run itself reports a history that can't be reached
