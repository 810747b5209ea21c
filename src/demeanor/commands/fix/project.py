"""The project that `demeanor fix` works on: its evals, its last commit in a worktree, and where a fixer may write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.fix.rules import Bounds
from demeanor.config import BuildRules, Config
from demeanor.core.values.errors import UsageError
from demeanor.core.values.eval import Eval
from demeanor.runner import choose_evals
from demeanor.vcs import checked_out, resolve, top_of


@dataclass(frozen=True, kw_only=True, slots=True)
class FixProject:
    """A project whose last commit is to be fixed."""

    config: Config
    """The project's configuration."""

    results: Path
    """The folder of its runs."""

    evals: Mapping[str, Eval]
    """Its evals as they are in the user's tree, by name."""

    top: Path
    """The top folder of its repository."""

    tree: Path
    """A worktree with the commit that is to be fixed."""

    commit: str
    """That commit."""


@contextmanager
def open_project(config: Config, results: Path, environ: Mapping[str, str]) -> Iterator[FixProject]:
    """Load the project's evals and check its last commit out into a worktree, without building it."""
    try:
        resolve(config.root, "HEAD")
    except UsageError:
        raise UsageError(
            f"{config.root}: there is no commit to fix\n  → `demeanor fix` works on what is committed in git"
        ) from None
    evals = {eval_.name: eval_ for eval_ in choose_evals(config, policy="all")}
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
    """Return where a fixer may write."""
    config = project.config
    places = [config.root / path for path in config.paths] + [eval_.source.path for eval_ in project.evals.values()]
    evals = [f"{path}/**" if (project.top / path).is_dir() else path for path in relative_to_top(project.top, places)]
    return Bounds(
        allowed=tuple(allowed),
        evals=tuple(dict.fromkeys(evals)),
        protected=tuple(relative_to_top(project.top, [config.where])),
        evals_allowed=config.fix.evals,
    )


def relative_to_top(top: Path, paths: Iterable[Path]) -> Iterator[str]:
    """Yield the paths that are inside the repository, relative to its top folder."""
    for path in paths:
        if path.resolve().is_relative_to(top):
            yield path.resolve().relative_to(top).as_posix()
