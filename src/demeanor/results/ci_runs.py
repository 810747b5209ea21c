"""Runs of CI on GitHub: their artifacts are downloaded with the user's `gh` and added to the history.

The artifacts of a run are kept in `<results>/ci/<run>-<attempt>/<artifact>/`, with the captures that debugging needs. A
folder without runs says that there is nothing to get, so that it is not asked for again.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal

from demeanor.config import Config
from demeanor.core.text.wording import count, one_line
from demeanor.core.trees.git import GitError, git
from demeanor.core.values.errors import BadInput, DemeanorError, StoreError, UsageError
from demeanor.core.values.history import PastRun
from demeanor.core.values.record import RunInfo
from demeanor.results.history import open_project_history
from demeanor.results.nights import night_filter
from demeanor.runner import Catalog
from demeanor.store.history import SqlHistory
from demeanor.store.imports import ImportOptions, read_imports, write_imports
from demeanor.store.runs import RUN_FILE, RunFolder
from demeanor.vcs import GitHub, GitHubError, NoGh, WorkflowRun, github_repository, unpack

DOWNLOADS = "ci"
"""The folder of downloaded artifacts in a results folder."""

MOST_NIGHTS = 14
"""Runs of each nightly workflow that are looked at, the newest; a promotion needs ten nights."""

_ASKED = "asked"
_ASK_AGAIN = 600.0
_CLOCKS = timedelta(minutes=5)
"""How far the clocks of a machine and of GitHub may differ."""

_BY_HAND = "download the artifacts of its jobs, then: demeanor store import FOLDER"
_NIGHTLY = "demeanor nightly|command: *.?nightly"
_WORKFLOWS = (":/.github", ":/.gitlab", ":/.gitlab-ci.yml", ":/.buildkite")
_GITHUB_WORKFLOWS = PurePosixPath(".github/workflows")
_URL = re.compile(
    r"https://(?P<host>[\w.-]+)/(?P<owner>[\w.-]+)/(?P<repository>[\w.-]+)/actions/runs/(?P<id>\d{1,18})(?:[/?#].*)?"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CiRun:
    """A run of GitHub Actions."""

    repository: str
    """As `gh --repo` takes it: `owner/name`, or `host/owner/name` of GitHub Enterprise."""

    id: int
    """The number of the run."""


def parse_ci_run(text: str | None) -> CiRun | None:
    """The run that a link names; None if the text is not a link."""
    if text is None or not text.startswith(("https://", "http://")):
        return None
    parts = _URL.fullmatch(text)
    if parts is None:
        raise UsageError(
            f"{text!r} is not a link to a run of GitHub Actions\n"
            "  → copy it from the browser: https://github.com/OWNER/REPOSITORY/actions/runs/NUMBER"
        )
    host = "" if parts["host"] == "github.com" else f"{parts['host']}/"
    return CiRun(repository=f"{host}{parts['owner']}/{parts['repository']}", id=int(parts["id"]))


def import_ci_run(run: CiRun, config: Config, environ: Mapping[str, str], results: Path, history: SqlHistory) -> str:
    """Add the runs of Demeanor in the artifacts of a CI run to the history; returns the newest's name.

    Whoever can start a workflow can write its artifacts. So a run counts as a night only if `fetch_nights` would have
    fetched it, whatever it says of itself.
    """
    github = GitHub(run.repository, environ)
    asked = github.run(run.id)
    folder = _downloaded(github, asked, results / DOWNLOADS)
    trusted = run.repository == github_repository(config.root, environ) and _may_be_a_night(asked, config)
    runs = _add(_runs_in(folder), None if trusted else "ci", Catalog(config=config, environ=environ), history)
    if not runs:
        raise UsageError(
            f"the artifacts of run {run.id} of {run.repository} contain no run of Demeanor, or have expired\n"
            "  → let the workflow upload the folder results/, as those of `demeanor init` do"
        )
    return max(runs, key=lambda info: info.started).id


def _may_be_a_night(run: WorkflowRun, config: Config) -> bool:
    """Whether the nightly workflow has run on the branch of the nights."""
    own = run.own and run.finished and run.branch == night_filter(config).branch
    return own and PurePosixPath(run.workflow) in nightly_workflows(config.root)


def nightly_workflows(root: Path, commit: str = "HEAD") -> tuple[PurePosixPath, ...]:
    """The files of CI that run nights, from the top of the repository; none outside of one."""
    try:
        lines = git(root, "grep", "-lE", "--full-name", _NIGHTLY, commit, "--", *_WORKFLOWS).splitlines()
    except GitError:
        return ()
    return tuple(PurePosixPath(line.removeprefix(f"{commit}:")) for line in lines)


def fetch_nights(config: Config, environ: Mapping[str, str], results: Path, log: Callable[[str], None]) -> None:
    """Add the nights of CI that the history lacks, as far as GitHub still has them; `log` gets progress, and a line
    about what can't be fetched.

    A shared history gets its nights from CI itself. In CI, only a job without any night that has a token asks for them.
    """
    workflows = () if environ.get("DEMEANOR_STORE") or config.store else nightly_workflows(config.root)
    if not workflows:
        return
    with open_project_history(config, environ, results=results) as history:
        runs = history.runs()
    nights = [run for run in runs if run.info.kind == "nightly"]
    asked = results / DOWNLOADS / _ASKED
    in_ci = environ.get("CI") and (nights or not (environ.get("GH_TOKEN") or environ.get("GITHUB_TOKEN")))
    if in_ci or (nights and _is_recent(asked)):
        return
    repository = github_repository(config.root, environ)
    names = [path.name for path in workflows if path.parent == _GITHUB_WORKFLOWS]
    if repository and names:
        try:
            _fetch(GitHub(repository, environ), names, runs, config, environ, results, log)
        except NoGh as error:
            if not nights:
                log(f"the nights of CI are not in this history: {_on_one_line(error)}")
        except (DemeanorError, OSError) as error:
            log(f"no newer nights of CI were fetched: {_on_one_line(error)}")
    elif repository is not None and not nights:
        log(f"the nights of {workflows[0]} are not in this history → {_BY_HAND}")


def _on_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _fetch(
    github: GitHub,
    workflows: Sequence[str],
    past_runs: Collection[PastRun],
    config: Config,
    environ: Mapping[str, str],
    results: Path,
    log: Callable[[str], None],
) -> None:
    folder = results / DOWNLOADS
    branch = night_filter(config).branch
    if branch is None:
        raise UsageError("the default branch is unknown\n  → set `branch` in [nightly]")
    listed = [run for name in workflows for run in _newest(github.runs(name, branch))]
    uids = {run.info.uid for run in past_runs}
    missing = [run for run in _without_imported(listed, past_runs, folder) if not _is_known(folder, run, uids)]
    catalog = Catalog(config=config, environ=environ)
    lost = 0
    for number, run in enumerate(missing, start=1):
        night = f"the night of {one_line(run.started)[:10]}"
        log(f"fetching {night} from {github.repository} ({number} of {len(missing)})")
        try:
            runs = [path for path in _runs_in(_downloaded(github, run, folder)) if _is_night(path)]
            lost += not runs
            with open_project_history(config, environ, results=results, reading=False) as history:
                _add(runs, None, catalog, history)
        except GitHubError:
            raise
        except DemeanorError as error:
            log(f"{night} was left out: {_on_one_line(error)}")
    if lost:
        log(f"{count(lost, 'nightly run')} of {github.repository} left nothing that GitHub still has")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _ASKED).touch()


def _newest(runs: Iterable[WorkflowRun]) -> list[WorkflowRun]:
    """The newest runs that may have left a night, the oldest first."""
    return list(islice((run for run in runs if run.own and run.finished), MOST_NIGHTS))[::-1]


def _without_imported(
    listed: Iterable[WorkflowRun], past_runs: Collection[PastRun], folder: Path
) -> Iterable[WorkflowRun]:
    """The runs whose night did not get into the history in another way: each night there stands for one run at most."""
    nights = [run for run in past_runs if run.info.kind == "nightly"]
    others = [night.info for night in nights if folder.resolve() not in night.path.resolve().parents]
    for run in listed:
        night = next((info for info in others if _belongs(info, run)), None)
        if night is None:
            yield run
        else:
            others.remove(night)


def _belongs(night: RunInfo, run: WorkflowRun) -> bool:
    """Whether a night was started by a run: of the same commit, while the run lasted."""
    try:
        first, last = (datetime.fromisoformat(when) for when in (run.started, run.ended))
        return night.commit == run.commit and first - _CLOCKS <= datetime.fromisoformat(night.started) <= last + _CLOCKS
    except (ValueError, TypeError):  # not a time, or one without its zone
        return False


def _is_known(folder: Path, run: WorkflowRun, uids: Collection[str]) -> bool:
    """Whether a run was downloaded before, and its nights are in the history, or can't be read."""
    own = _folder_of(run, folder)
    try:
        return own.is_dir() and all(RunFolder(path).info().uid in uids for path in _runs_in(own) if _is_night(path))
    except StoreError:
        return True


def _is_night(folder: Path) -> bool:
    return RunFolder(folder).info().kind == "nightly"


def _is_recent(file: Path) -> bool:
    try:
        return 0 <= time.time() - file.stat().st_mtime < _ASK_AGAIN
    except OSError:
        return False


def _folder_of(run: WorkflowRun, folder: Path) -> Path:
    return folder / f"{run.id}-{run.attempt}"


def _downloaded(github: GitHub, run: WorkflowRun, folder: Path) -> Path:
    """The folder with the artifacts of a run, downloaded unless they are there; those of a run that goes on may grow.
    If one of them can't be read, nothing is kept of the run."""
    final = _folder_of(run, folder)
    if final.is_dir() and run.finished and _runs_in(final):
        return final
    artifacts = github.artifacts(run)
    folder.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{run.id}-", dir=folder))
    try:
        for artifact in artifacts:
            if not artifact.expired:
                archive = temporary / "archive.zip"
                github.download(artifact, archive)
                unpack(artifact, archive, temporary / str(artifact.id), beside=RUN_FILE)
                archive.unlink()
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)
    except BadInput:
        final.mkdir(exist_ok=True)
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return final


def _runs_in(folder: Path) -> list[Path]:
    """The runs in a folder, each once: an archive has the latest run twice, because it can't contain a link. Shards
    are parts of a run that another artifact has."""
    paths = sorted(path.parent for path in folder.rglob(RUN_FILE) if path.is_file() and not path.is_symlink())
    outer = [path for path in paths if not any(parent in paths for parent in path.parents)]
    infos = {path: RunFolder(path).info() for path in reversed(outer)}
    return list({info.id: path for path, info in infos.items() if not info.is_shard}.values())[::-1]


def _add(folders: Iterable[Path], kind: Literal["ci"] | None, catalog: Catalog, history: SqlHistory) -> list[RunInfo]:
    """Add runs to the history, as runs of this kind if they are not to be nights. Nothing is added to a night that is
    there, or to a run of another kind."""
    imports = read_imports(folders, ImportOptions(kind=kind))
    taken = {run.info.uid for run in history.runs() if kind is None or run.info.kind != kind}
    new = [imported for imported in imports if imported.run.uid not in taken]
    write_imports(history.database, new, catalog.redactor)
    return [imported.run for imported in imports]
