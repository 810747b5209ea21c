"""The files of a repository at a commit, with uncommitted changes on top if they are known."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demeanor.config import path_problem
from demeanor.core.trees.git import GitError, blob_contents, commit_of, git
from demeanor.core.trees.temp_names import temp_prefix

_PATHS = re.compile(r"^(?:---|\+\+\+|rename from|rename to|diff --git) (?:a/|b/)?([^\t\n]+)", re.M)
_PLAIN_FILE = ("100644", "100755")


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitFiles:
    """The files of a folder at a commit."""

    commit: str
    """The commit."""

    blobs: Mapping[str, str]
    """Path, relative to the folder, → name of its content."""

    repository: Path
    """The git directory."""

    changed: Mapping[str, bytes | None] = field(default_factory=dict)
    """Uncommitted changes: path → content, None for a deleted file."""

    def paths(self) -> set[str]:
        """All files."""
        gone = {path for path, content in self.changed.items() if content is None}
        return {*self.blobs, *self.changed} - gone

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The contents of some files; paths without a file are left out."""
        tracked_paths = self.paths()
        tracked = [path for path in dict.fromkeys(paths) if path in tracked_paths]
        changed = {path: content for path in tracked if (content := self.changed.get(path)) is not None}
        rest = [path for path in tracked if path not in changed]
        names = {self.blobs[path]: path for path in rest}
        contents = dict(blob_contents(self.repository, list(names))) if names else {}
        return changed | {path: contents[self.blobs[path]] for path in rest}


def commit_files(folder: Path, revision: str) -> CommitFiles:
    """The files of `folder` at a commit of its repository; raises GitError."""
    commit = commit_of(folder, revision)
    repository = Path(git(folder, "rev-parse", "--absolute-git-dir").strip())
    blobs: dict[str, str] = {}
    for line in git(folder, "ls-tree", "-r", "-z", commit).split("\0"):
        about, _, path = line.partition("\t")
        mode, _, name = about.partition(" ")
        if path and mode in _PLAIN_FILE and not path_problem(path) and "\N{REPLACEMENT CHARACTER}" not in path:
            blobs[path] = name.partition(" ")[2]
    return CommitFiles(commit=commit, blobs=blobs, repository=repository)


def commit_before(folder: Path, moment: str) -> str | None:
    """The newest commit of the current branch that is not younger than `moment`; None if there is none."""
    try:
        return git(folder, "rev-list", "-1", f"--before={moment}", "HEAD").strip() or None
    except GitError:
        return None


def with_changes(files: CommitFiles, patch: str) -> CommitFiles:
    """The files with a patch applied; raises GitError if it does not apply."""
    if not patch.strip():
        return files
    named = {path.strip().strip('"') for path in _PATHS.findall(patch)}
    named |= {part.removeprefix("a/").removeprefix("b/") for path in set(named) for part in path.split(" b/")}
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as temporary:
        top = Path(temporary).resolve()
        start = {path: content for path, content in files.read(named).items() if not path_problem(path)}
        for path, content in start.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(content)
        _apply(patch, top)
        end = {
            path.relative_to(top).as_posix(): path.read_bytes()
            for path in top.rglob("*")
            if path.is_file() and not path.is_symlink()
        }
    changed: dict[str, bytes | None] = dict(end) | dict.fromkeys(set(start) - set(end))
    return CommitFiles(commit=files.commit, blobs=files.blobs, repository=files.repository, changed=changed)


def _apply(patch: str, top: Path) -> None:
    """Apply a patch in a folder outside any repository; git refuses paths that lead out of it."""
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(top.parent), "HOME": str(top)}
    done = subprocess.run(command, cwd=top, input=patch.encode(), capture_output=True, env=env, check=False)
    if done.returncode:
        raise GitError(done.stderr.decode("utf-8", "replace").strip().splitlines()[0])
