"""A run of GitHub Actions as the source of a fix: its artifacts are downloaded with the user's `gh` and imported."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.text.wording import excerpt, one_line
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.store import RUN_FILE, ImportOptions, SqlHistory, read_imports, write_imports

DOWNLOADS = "ci"
"""The folder of downloaded artifacts in a results folder."""

_URL = re.compile(
    r"https://(?P<host>[\w.-]+)/(?P<owner>[\w.-]+)/(?P<repository>[\w.-]+)/actions/runs/(?P<id>\d{1,20})(?:[/?#].*)?"
)
_KIND = "ci"
_TIMEOUT = 900.0


@dataclass(frozen=True, kw_only=True, slots=True)
class CiRun:
    """A run of GitHub Actions."""

    repository: str
    """As `gh --repo` takes it: `owner/name`, or `host/owner/name` of GitHub Enterprise."""

    id: str
    """The number of the run."""


def parse_ci_run(text: str | None) -> CiRun | None:
    """The run that a link names; None if the text is not a link."""
    if text is None or not text.startswith(("https://", "http://")):
        return None
    found = _URL.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{text!r} is not a link to a run of GitHub Actions\n"
            "  → copy it from the browser: https://github.com/OWNER/REPOSITORY/actions/runs/NUMBER"
        )
    host = "" if found["host"] == "github.com" else f"{found['host']}/"
    return CiRun(repository=f"{host}{found['owner']}/{found['repository']}", id=found["id"])


def import_ci_run(run: CiRun, results: Path, history: SqlHistory, environ: Mapping[str, str]) -> str:
    """Download the artifacts of a run, add the runs of Demeanor in them to the history; returns the newest's name.

    Whoever can start a workflow can write its artifacts. So none of these runs counts as a night, whatever it says of
    itself, and nothing is added to a run that the history has from elsewhere.
    """
    folder = _download(run, results / DOWNLOADS, environ)
    runs = [path.parent for path in folder.rglob(RUN_FILE) if path.is_file() and not path.is_symlink()]
    outer = [path for path in runs if not any(parent in runs for parent in path.parents)]
    if not outer:
        names = ", ".join(sorted(one_line(path.name) for path in folder.iterdir())) or "none"
        raise UsageError(
            f"the artifacts of run {run.id} of {run.repository} contain no run of Demeanor (artifacts: {names})\n"
            "  → let the workflow upload the folder results/, as those of `demeanor init` do"
        )
    try:
        found = tuple(read_imports(sorted(outer), ImportOptions(kind=_KIND)))
    except BadInput as error:
        raise UsageError(f"an artifact of run {run.id} can't be read: {error}") from None
    elsewhere = {past.info.uid for past in history.runs() if past.info.kind != _KIND}
    write_imports(history.database, (imported for imported in found if imported.run.uid not in elsewhere))
    return max((imported.run for imported in found), key=lambda info: info.started).id


def _download(run: CiRun, folder: Path, environ: Mapping[str, str]) -> Path:
    """Download all artifacts; an earlier download of the same run is replaced once the new one is complete."""
    program = shutil.which("gh", path=environ.get("PATH"))
    if program is None:
        raise UsageError(
            "the artifacts of a CI run are downloaded with gh, GitHub's command line, which is not on PATH\n"
            "  → install gh and run `gh auth login`, or download the artifacts yourself: `demeanor store import FOLDER`"
        )
    folder.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{run.id}-", dir=folder))
    try:
        command = [program, "run", "download", run.id, "--repo", run.repository, "--dir", str(temporary)]
        try:
            done = subprocess.run(
                command,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(f"gh did not finish within {_TIMEOUT:.0f} s: {' '.join(command[1:])}") from None
        if done.returncode:
            told = excerpt(done.stderr.decode("utf-8", "replace"), lines=5) or "no message"
            raise UsageError(
                f"gh could not download the artifacts of run {run.id} of {run.repository}: {told}\n"
                "  → `gh auth status` shows whether you are logged in; artifacts expire after some time"
            )
        final = folder / run.id
        shutil.rmtree(final, ignore_errors=True)
        temporary.rename(final)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return final
