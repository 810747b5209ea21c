"""Which files of a working tree Demeanor wrote itself: they never make the tree dirty.

They need not be ignored by git. What changes an eval is not among them, such as prompt snapshots and a promoted policy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from demeanor.config import Config
from demeanor.core.values.run_request import RunRequest
from demeanor.store.runs import LATEST, RUN_FILE, is_call_log
from demeanor.vcs import CACHES, GitState, git_state

_REPORT = re.compile(rb"""\s*\{\s*"schema":\s*"demeanor-|(?:<\?xml[^>]*>)?\s*<testsuites name="demeanor\"""")
"""The beginning of a JSON document and of a JUnit report of ours."""


def tree_of(config: Config, request: RunRequest, results: Path) -> GitState:
    """The state of the project's repository, without what Demeanor wrote. Untracked files count among evals, and where
    an agent reads: elsewhere they change neither."""
    folders = [results, config.root / config.results, config.root / ".demeanor"]
    if request.replay is None:
        folders += [config.root / config.cassettes, *([Path(request.record)] if request.record else [])]
    read = [path for agent in config.tables("agents").values() for path in agent.texts("reads")]
    inside = [path.removeprefix("{project}/") for path in (*config.paths, *read)]
    untracked = [path for path in inside if not path.startswith(("/", "..", "~", "{"))]
    return git_state(config.root, untracked=untracked, leave_out=is_own({folder.resolve() for folder in folders}))


def is_own(folders: set[Path]) -> Callable[[Path], bool]:
    """Whether a file was written by Demeanor: into one of these folders, or recognised by where and what it is."""

    def own(path: Path) -> bool:
        if is_call_log(path) or not folders.isdisjoint(path.parents) or not CACHES.isdisjoint(path.parts):
            return True
        runs = any((folder / RUN_FILE).is_file() for folder in path.parents)
        return runs or (path.name == LATEST and path.is_symlink()) or _is_report(path)

    return own


def _is_report(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _REPORT.match(file.read(200)) is not None
    except OSError:
        return False
