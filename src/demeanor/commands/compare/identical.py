"""Subjects that are the same on both sides: a comparison would only show chance, so it is refused.

A fingerprint does not cover the code of an agent that is started from the repository. Such a subject is the same only
if both sides are the same commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from demeanor.commands.compare.tried import without_evals
from demeanor.config import Config
from demeanor.core.text.wording import count
from demeanor.core.trees.git import git
from demeanor.core.values.errors import UsageError
from demeanor.core.values.history import RunCell
from demeanor.decide.nights import fingerprints
from demeanor.reports.comparison import Side
from demeanor.runner import Catalog, uses_project_files
from demeanor.vcs import Checkout, top_of

_ALLOW = "\n  → to see how much the results of one subject vary: --allow-identical"


def refuse_unchanged(config: Config, base: str, new: str, commits: Sequence[str]) -> None:
    """Refuse two commits that differ at most in evals, which are taken from the working tree in any case."""
    if commits[0] == commits[1]:
        raise UsageError(f"{base} and {new} are the same commit, {commits[0][:12]}{_ALLOW}")
    if not git(config.root, "diff", "--name-only", *commits, *without_evals(config)).strip():
        raise UsageError(
            f"{base} and {new} have the same files, apart from evals, and both sides get the evals of the working tree"
            f"{_ALLOW}"
        )


def outside_of_commits(subjects: Iterable[str], catalogs: Sequence[tuple[Checkout, Catalog]]) -> tuple[str, ...]:
    """The subjects that use no file of a checkout, so that both commits run the same; an error if all of them do."""
    subject_names = tuple(dict.fromkeys(subjects))
    same = tuple(
        name
        for name in subject_names
        if not any(uses_project_files(catalog, catalog.subject(name), place.folder) for place, catalog in catalogs)
    )
    if same and len(same) == len(subject_names):
        verb = "is" if len(same) == 1 else "are"
        raise UsageError(
            f"{', '.join(same)} {verb} the same on both sides: no path that the agent is started with is in the "
            "checkout of a commit\n"
            '  → start it from the repository: "./dist/cli.js" in `program`, `command` or `args`, or {project}/… '
            f"anywhere in them or in `env`; `reads` makes further files readable{_ALLOW}"
        )
    return same


def refuse_same_trials(base: Side, new: Side) -> None:
    """Refuse two names of the same trials."""
    if base.cells and base.cells == new.cells:
        raise UsageError(
            f"{base.name} and {new.name} are the same trials, of {count(len(base.runs), 'run')}: "
            f"{', '.join(base.runs)}\n"
            "  → name two different runs, subjects, branches or commits"
        )


def refuse_identical(catalog: Catalog, base: Side, new: Side) -> tuple[str, ...]:
    """Refuse sides whose subjects all have the same fingerprints on both; notes about those of which only some have."""
    subjects = tuple(dict.fromkeys(cell.subject for cell in base.cells))
    others = {cell.subject for cell in new.cells}
    if len(subjects) == len(others) == 1 and {*subjects} != others:
        _refuse_copies(catalog.config, subjects[0], next(iter(others)), base.cells, new.cells)
    common = [name for name in subjects if name in others]
    same = [name for name in common if _same(name, base.cells, new.cells, lambda name: _of_project(catalog, name))]
    if same and len(same) == len(common):
        prints = ", ".join(fingerprints(cell for cell in base.cells if cell.subject in same))
        raise UsageError(
            f"{base.name} and {new.name} are the same: {', '.join(same)} with fingerprint {prints} (the same agent, "
            f"version, prompt, tools and settings){_ALLOW}"
        )
    return tuple(f"{name} is the same on both sides, so its differences are chance" for name in same)


def same_fingerprint_notes(base: Side, new: Side) -> list[str]:
    """Notes about subjects whose commits differ, but not in anything that their fingerprint covers."""
    names = dict.fromkeys(cell.subject for cell in base.cells if cell.prompt_hash)
    return [
        f"{name} has the same fingerprint on both sides: the commits differ, but not in its version, prompt or tools"
        for name in names
        if _same(name, base.cells, new.cells, lambda _: False)
    ]


def _same(subject: str, base: Iterable[RunCell], new: Iterable[RunCell], of_project: Callable[[str], bool]) -> bool:
    sides = [[cell for cell in cells if cell.subject == subject and cell.judged] for cells in (base, new)]
    ours, theirs = ({*fingerprints(cells)} for cells in sides)
    if not ours or ours != theirs:
        return False
    commits = {(cell.commit, cell.dirty) for cells in sides for cell in cells}
    same_commit = len(commits) == 1 and all(commit and dirty is False for commit, dirty in commits)
    return same_commit or not of_project(subject)


def _of_project(catalog: Catalog, name: str) -> bool:
    """Whether a subject of the history uses files of the project; unknown subjects might."""
    try:
        top = top_of(catalog.config.root)
    except UsageError:
        top = catalog.config.root.resolve()
    try:
        return uses_project_files(catalog, catalog.subject(name), top)
    except UsageError:
        return True


def _refuse_copies(config: Config, subject: str, other: str, base: Iterable[RunCell], new: Iterable[RunCell]) -> None:
    """Refuse two agents that have different names only."""
    (a, _, model), (b, _, other_model) = subject.partition(":"), other.partition(":")
    tables = config.agents.get(a), config.agents.get(b)
    prompts = [{cell.prompt_hash for cell in cells if cell.judged} for cells in (base, new)]
    if model == other_model and tables[0] is not None and tables[0] == tables[1] and prompts[0] == prompts[1]:
        raise UsageError(
            f"{subject} and {other} are the same: [agents.{a}] and [agents.{b}] have the same settings{_ALLOW}"
        )
