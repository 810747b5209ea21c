"""Notes on what `compare --base` tried: the evals of the working tree, with the agent of each commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from demeanor.config import Config
from demeanor.core.trees.git import git
from demeanor.core.values.eval import Eval
from demeanor.define import edits


def tried_notes(
    config: Config, evals: Sequence[Eval], chosen: Collection[str], revisions: Sequence[str]
) -> Iterator[str]:
    """Say how the evals that were tried differ from those of each commit, and name those that only a commit has.

    `evals` are all evals of the working tree, `chosen` the names of those that were tried.
    """
    yield "both sides were tried with the evals of the working tree"
    for revision in dict.fromkeys(revisions):
        changed = edits(evals, config.root, base=revision, within=[config.root / path for path in config.paths])
        for kind, text in (("new", "does not have"), ("edited", "has another version of")):
            names = [name for name, edit in changed.evals.items() if edit == kind and name in chosen]
            if names:
                yield f"{revision} {text}: {', '.join(names)}"
        if changed.removed:
            yield f"only {revision} has, so not tried: {', '.join(sorted(changed.removed))}"
        if changed.unsure:
            yield f"{revision} may have other evals, which are created when it is imported: {', '.join(changed.unsure)}"
    if "HEAD" in revisions and _changed_outside_evals(config):
        yield "apart from evals, uncommitted changes were not tried: the commits themselves were run"


def without_evals(config: Config) -> list[str]:
    """Git's arguments for all files of the repository except evals."""
    return ["--", ":/", *(f":(exclude){path}" for path in config.paths if not path.startswith(("/", "..")))]


def _changed_outside_evals(config: Config) -> bool:
    return bool(git(config.root, "status", "--porcelain", "--untracked-files=no", *without_evals(config)).strip())
