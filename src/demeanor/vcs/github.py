"""GitHub through the user's own `gh`: the runs of workflows and their artifacts.

Nothing that gh prints is trusted: every value is checked, and an archive is unpacked with limits.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

from demeanor.core.text.wording import count, one_line, shortened_to_end
from demeanor.core.trees.git import GitError, git
from demeanor.core.values.errors import BadInput, UsageError

K = TypeVar("K")
T = TypeVar("T")

_REMOTE = re.compile(
    r"(?:\w+://)?(?:[^@/\s]+@)?(?P<host>[\w.-]+)(?::\d+/|[:/])(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)
_PREFERRED = ("upstream", "github", "origin")
_OWN_EVENTS = frozenset({"schedule", "workflow_dispatch", "repository_dispatch", "push"})
"""Events that run what is on a branch of the repository, never what somebody proposes to it."""

_ANSWER_TIME, _DOWNLOAD_TIME = 15.0, 900.0
_TAR = ".tgz"
_PAGE, _MOST_PAGES = 50, 4
_MOST_FILES, _MOST_BYTES = 200_000, 4 * 2**30


class GitHubError(UsageError):
    """GitHub could not be asked, or did not answer as expected."""


class NoGh(GitHubError):
    """There is no gh."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowRun:
    """A run of a workflow."""

    id: int
    attempt: int
    """1, 2, 3 …; a run that is started again keeps its id."""

    workflow: str
    """The workflow's file, from the top of the repository."""

    branch: str
    finished: bool
    own: bool
    """Whether it ran a branch of the repository itself: not a pull request, and not a fork."""

    commit: str
    started: str
    """ISO 8601, UTC, to the second, as `ended`."""

    ended: str
    """When it was changed last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """An artifact of a run: a zip archive."""

    id: int
    name: str
    """Hostile text."""

    size: int
    expired: bool
    digest: str
    """`sha256:` and 64 hex digits; empty on servers that give none."""

    @property
    def label(self) -> str:
        """Its name, for a message."""
        return f"the artifact {one_line(self.name)}"


def github_repository(root: Path, environ: Mapping[str, str]) -> str | None:
    """The repository on GitHub that a clone belongs to, as `gh --repo` takes it: `owner/name`, or `host/owner/name`;
    empty if its remotes are elsewhere, None if it has none."""
    try:
        remotes = {line.split()[0]: line.split()[1] for line in git(root, "remote", "-v").splitlines()}
    except GitError:
        return None
    if not remotes:
        return None
    order = [*_chosen_by_gh(root), *_PREFERRED, *remotes]
    return next(filter(None, (_repository(remotes[name], environ) for name in order if name in remotes)), "")


def _chosen_by_gh(root: Path) -> list[str]:
    """The remote that the user chose with `gh repo set-default`."""
    try:
        lines = git(root, "config", "--get-regexp", r"^remote\..*\.gh-resolved$").splitlines()
    except GitError:
        return []
    return [line.split()[0].removeprefix("remote.").removesuffix(".gh-resolved") for line in lines]


def _repository(address: str, environ: Mapping[str, str]) -> str:
    """The repository of a remote's address; empty if it is not on GitHub."""
    parts = _REMOTE.fullmatch(address)
    if parts is None:
        return ""
    host = parts["host"].removeprefix("ssh.").lower()
    if not host.startswith("github.") and not host.endswith(".ghe.com") and host != environ.get("GH_HOST"):
        return ""
    return f"{'' if host == 'github.com' else f'{host}/'}{parts['owner']}/{parts['name']}"


class GitHub:
    """One repository on GitHub."""

    def __init__(self, repository: str, environ: Mapping[str, str]) -> None:
        """Raises NoGh."""
        program = shutil.which("gh", path=environ.get("PATH"))
        if program is None:
            raise NoGh(
                "the artifacts of CI are downloaded with gh, GitHub's command line, which is not on PATH\n"
                "  → install gh and run `gh auth login`, or download them yourself: `demeanor store import FOLDER`"
            )
        self.repository = repository
        self._program = program
        self._environ = {**environ, "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"}

    def run(self, number: int) -> WorkflowRun:
        """One run."""
        return _checked(_workflow_run, self._json(f"actions/runs/{number}"))

    def runs(self, workflow: str, branch: str) -> Iterator[WorkflowRun]:
        """The runs of a workflow's file on a branch, the newest first."""
        query = f"branch={branch}&exclude_pull_requests=true"
        for data in self._pages(f"actions/workflows/{workflow}/runs", query, "workflow_runs"):
            yield _checked(_workflow_run, data)

    def artifacts(self, run: WorkflowRun) -> tuple[Artifact, ...]:
        """The artifacts of a run, also those that have expired."""
        artifacts = self._pages(f"actions/runs/{run.id}/artifacts", "", "artifacts")
        return tuple(_checked(_artifact, data) for data in artifacts)

    def download(self, artifact: Artifact, file: Path) -> None:
        """Download the archive of an artifact, and compare it with its checksum."""
        if artifact.size > _MOST_BYTES:
            raise BadInput(f"is too large: {artifact.size / 2**20:.0f} MB", where=artifact.label)
        with file.open("wb") as out:
            self._ask(f"actions/artifacts/{artifact.id}/zip", out=out, timeout=_DOWNLOAD_TIME)
        with file.open("rb") as content:
            digest = f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"
        if artifact.digest and artifact.digest != digest:
            raise GitHubError(f"{artifact.label} arrived damaged\n  → try again")

    def _pages(self, path: str, query: str, key: str) -> Iterator[Mapping[str, Any]]:
        """The items of a list, page by page, as long as they are asked for."""
        for number in range(1, _MOST_PAGES + 1):
            page = self._json(f"{path}?per_page={_PAGE}&page={number}" + (f"&{query}" if query else ""))
            items = _checked(lambda data: list(data[key]), page)
            yield from items
            if len(items) < _PAGE:
                return

    def _json(self, path: str) -> Any:
        answer = self._ask(path, out=subprocess.PIPE, timeout=_ANSWER_TIME)
        return _checked(json.loads, answer)

    def _ask(self, path: str, *, out: int | IO[bytes], timeout: float) -> bytes:
        """Ask GitHub's API, and return the answer, or write it to a file."""
        *host, owner, name = self.repository.split("/")
        command = [self._program, "api", *(["--hostname", *host] if host else []), f"repos/{owner}/{name}/{path}"]
        try:
            end = subprocess.run(
                command,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitHubError(f"GitHub did not answer gh within {timeout:.0f} s") from None
        except OSError as error:
            raise GitHubError(f"gh can't be started: {error.strerror}") from None
        if end.returncode:
            said = one_line(shortened_to_end(end.stderr.decode("utf-8", "replace"), 2000), width=300) or "no message"
            raise GitHubError(
                f"gh could not read {self.repository}: {said}\n  → `gh auth status` shows whether you are logged in"
            )
        return end.stdout or b""


def unpack(artifact: Artifact, archive: Path, folder: Path, *, beside: str) -> None:
    """Unpack the folders of an artifact that have a file called `beside`, with everything below them. Links become
    files with the name of their target, or are left out, and no path leads out of `folder`. Raises BadInput.

    The generated workflows upload a tar file, because artifacts can't contain every name that a file may have.
    """
    try:
        with zipfile.ZipFile(archive) as files:
            members = files.infolist()
            for packed in (member for member in members if member.filename.endswith(_TAR)):
                _unpack_tar(partial(files.open, packed), folder, beside, artifact.label)
            paths = {member: PurePosixPath(member.filename) for member in members}
            chosen = _below(paths, beside)
            _limit(len(chosen), sum(member.file_size for member in chosen), artifact.label)
            for member in chosen:
                files.extract(member, folder)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"can't be unpacked: {one_line(str(error))}", where=artifact.label) from None


def _unpack_tar(opened: Callable[[], IO[bytes]], folder: Path, beside: str, label: str) -> None:
    """The same for a tar file, which is read twice, as a stream."""
    paths: dict[str, PurePosixPath] = {}
    size = 0
    with opened() as stream, tarfile.open(fileobj=stream, mode="r|gz") as files:
        for info in files:
            size += info.size
            paths[info.name] = PurePosixPath(info.name)
            _limit(len(paths), size, label)
    chosen = {name for name in _below(paths, beside) if not paths[name].is_absolute() and ".." not in paths[name].parts}
    with opened() as stream, tarfile.open(fileobj=stream, mode="r|gz") as files:
        for info in files:
            if info.name in chosen and info.isreg() and (content := files.extractfile(info)) is not None:
                target = folder / info.name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file:
                    shutil.copyfileobj(content, file)


def _below(paths: Mapping[K, PurePosixPath], beside: str) -> list[K]:
    """The members of an archive that are below a folder which has a file called `beside`."""
    tops = {path.parent for path in paths.values() if path.name == beside}
    return [member for member, path in paths.items() if not tops.isdisjoint(path.parents)]


def _limit(number: int, size: int, label: str) -> None:
    if number > _MOST_FILES or size > _MOST_BYTES:
        raise BadInput(f"is too large: {count(number, 'file')}", where=label)


def _workflow_run(data: Any) -> WorkflowRun:
    own, head = data["repository"], data["head_repository"] or {}
    return WorkflowRun(
        id=_number(data["id"]),
        attempt=_number(data["run_attempt"]),
        workflow=_text(data["path"]).partition("@")[0],
        branch=_text(data["head_branch"] or ""),
        finished=data["status"] == "completed",
        own=data["event"] in _OWN_EVENTS and own["full_name"] == head.get("full_name"),
        commit=_text(data["head_sha"]),
        started=_text(data["run_started_at"]),
        ended=_text(data["updated_at"]),
    )


def _artifact(data: Any) -> Artifact:
    return Artifact(
        id=_number(data["id"]),
        name=_text(data["name"]),
        size=_number(data["size_in_bytes"]),
        expired=data["expired"] is not False,
        digest=_text(data.get("digest") or ""),
    )


def _number(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _checked(read: Callable[[Any], T], data: Any) -> T:
    try:
        return read(data)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise GitHubError(f"GitHub's answer can't be read: {one_line(repr(error))}") from None
