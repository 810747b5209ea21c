"""Trials of commits that were kept before, and answer the very question that a bisection asks.

They count where the eval asked the same, the subject was set up the same and the commit had no uncommitted changes.
Where one commit was tried with subjects that were not really the same (another version of the agent, say), only those
like the latest count: two of them are never averaged silently.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from demeanor.core.fingerprints import PATH_TOOLS, subject_hash
from demeanor.core.history import RunCell
from demeanor.core.ports import History
from demeanor.core.subject import Subject
from demeanor.runner.assemble import path_tools
from demeanor.statistics.bisection import Tries


@dataclass(frozen=True, kw_only=True, slots=True)
class PriorTrials:
    """What was kept of one commit."""

    tries: Tries
    """The trials that count."""

    fingerprint: str
    """Who was tried, as it really was."""

    runs: tuple[str, ...]
    """The runs that they are in, the latest last."""


def kept_tries(
    history: History, commits: Collection[str], name: str, subject: Subject, *, eval_hash: str
) -> dict[str, PriorTrials]:
    """By commit: the trials of an eval that count."""
    if not eval_hash:
        return {}
    by_commit: dict[str, list[RunCell]] = {}
    tools = {PATH_TOOLS: path_tools()}
    for cell in history.eval_history(name, str(subject)):
        same = subject_hash(subject, version=cell.agent_version, prompt=cell.prompt_hash, facts=tools)
        counts = cell.judged and cell.dirty is False and cell.eval_hash == eval_hash and cell.fingerprint == same
        if cell.commit is not None and cell.commit in commits and counts:
            by_commit.setdefault(cell.commit, []).append(cell)
    return {commit: _added_up(cells) for commit, cells in by_commit.items()}


def _added_up(cells: list[RunCell]) -> PriorTrials:
    latest = cells[-1].fingerprint
    alike = [cell for cell in cells if cell.fingerprint == latest]
    return PriorTrials(
        tries=sum((Tries(cell.passed, cell.failed) for cell in alike), Tries()),
        fingerprint=latest,
        runs=tuple(cell.run for cell in alike),
    )
