"""Trials of earlier runs that a bisection can reuse.

They count if the eval and the settings of the subject are the same and the commit had no uncommitted changes. If a
commit has trials with several fingerprints (such as another version of the agent), only those with the latest count:
they are never averaged silently.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from demeanor.core.values.fingerprints import PATH_TOOLS, TASK_ENVIRONMENT, subject_hash, without_files
from demeanor.core.values.history import RunCell
from demeanor.core.values.ports import History
from demeanor.core.values.subject import Subject
from demeanor.runner import path_tools
from demeanor.statistics import Tries


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
