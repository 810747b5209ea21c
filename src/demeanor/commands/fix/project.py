"""A project whose last commit is to be mended: its evals, its repository, and where a fixer may write in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.fix.patch_rules import Bounds
from demeanor.config.config import Config
from demeanor.config.tables import BuildRules
from demeanor.core.errors import UsageError
from demeanor.core.eval import Eval
from demeanor.runner.plan import choose_evals
from demeanor.vcs.checkout import checked_out, resolve, top_of


@dataclass(frozen=True, kw_only=True, slots=True)
class FixProject:
    """A project whose last commit is to be mended."""

    config: Config
    """The project's configuration."""

    results: Path
    """Where its runs are kept."""

    evals: Mapping[str, Eval]
    """Its evals as they are now, by name."""

    top: Path
    """The top of its repository."""

    tree: Path
    """The commit that is to be mended, checked out."""

    commit: str
    """That commit."""


@contextmanager
def scene_of(config: Config, results: Path, environ: Mapping[str, str]) -> Iterator[FixProject]:
    """The project, and its last commit in a worktree as it was committed: nothing is built there."""
    try:
        resolve(config.root, "HEAD")
    except UsageError:
        raise UsageError(
            f"{config.root}: there is no commit that could be mended\n  → a fix works on what is committed in git"
        ) from None
    evals = {one.name: one for one in choose_evals(config, policy="all")}
    with checked_out(replace(config, build=BuildRules()), "HEAD", environ=environ) as clean:
        yield FixProject(
            config=config,
            results=results,
            evals=evals,
            top=top_of(config.root),
            tree=clean.folder,
            commit=clean.commit,
        )


def bounds_of(project: FixProject, allowed: Sequence[str] = ()) -> Bounds:
    """Where a fixer may write."""
    config = project.config
    places = [config.root / path for path in config.paths] + [one.source.path for one in project.evals.values()]
    evals = [f"{path}/**" if (project.top / path).is_dir() else path for path in inside(project.top, places)]
    return Bounds(
        allowed=tuple(allowed),
        evals=tuple(dict.fromkeys(evals)),
        protected=tuple(inside(project.top, [config.where])),
        evals_too=config.fix.evals,
    )


def inside(top: Path, paths: Iterable[Path]) -> Iterator[str]:
    """Those of some paths that lie in the repository, relative to its top."""
    for path in paths:
        if path.resolve().is_relative_to(top):
            yield path.resolve().relative_to(top).as_posix()
