"""The starting workspace of a scenario: built and committed once, then copied for every attempt.

An agent finds an ordinary git repository: branch main, one commit, a clean state, fixed author and dates, no remote,
no reflog, no hook, and no git configuration of the host. Demeanor creates this repository itself. A `.git` in a
template folder is left out, at any depth, because its history may hold the answer that the agent is to find.

A repository that the scenario's `setup` creates is kept, because the author wanted it: its commits, its branches, and
the tags that HEAD reaches. What a clone adds to these is removed, because the answer is often there: remotes, reflogs,
stashes, tags on later commits, and unreachable objects. The same applies to clones in sub-folders and to submodules.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree_io import scan, tree_path_problem
from demeanor.core.values.errors import BadInput, WorldError
from demeanor.core.values.ports import Template
from demeanor.core.values.scenario import Scenario, Setup
from demeanor.core.values.verdict import VoidCause
from demeanor.judge import set_up_here
from demeanor.runner.workspace_git import EPOCH, commit, move_worktrees, remove_unreachable, repositories
from demeanor.sandboxes import SandboxRuntime

_Key: TypeAlias = tuple[str, Hashable]
RunSetup: TypeAlias = Callable[[Setup, Path], str | None]
"""Calls an author's `setup` for a folder; returns what went wrong."""


def check_template(scenario: Scenario, where: Path | str) -> None:
    """Raise BadInput if the workspace can't be built from the scenario; nothing is written."""
    files, folders = _check_entries(scenario.template, where, "template") if scenario.template else (set(), set())
    for path in scenario.files:
        _check_path(path, where)
        folders.update(_folders_of(path))
    for path in sorted((files | scenario.files.keys()) & folders):
        raise BadInput(
            f"{path!r} is both a file and a folder",
            where=where,
            key="files",
            remedy="rename one of them",
        )


def build_template(
    scenario: Scenario, into: Path, *, where: Path | str = "scenario", run_setup: RunSetup = set_up_here
) -> Template:
    """Build the workspace in the new folder `into`: template folder, then `files`, then `setup`, then one commit."""
    check_template(scenario, where)
    try:
        into.mkdir(parents=True)
        if scenario.template:
            _copy_folder(scenario.template, into)
        for path, content in scenario.files.items():
            _write(into / path, content)
        _set_times(into)
    except OSError as error:
        raise WorldError(VoidCause.SANDBOX, f"the workspace can't be created: {error}") from error
    if scenario.setup:
        if problem := run_setup(scenario.setup, into):
            raise BadInput(problem, where=where, key="setup", remedy="fix the function")
        _check_entries(into, where, "setup")
    for repository in repositories(into):
        remove_unreachable(repository)
    move_worktrees(into)
    if not (into / ".git").exists():
        commit(into)
    tree = scan(into, in_place=True)
    if tree.gaps:
        raise BadInput(tree.gaps[0], where=where, key="template", remedy="use a smaller template")
    return Template(folder=into, tree=tree)


class TemplateCache:
    """The templates of a run: each distinct starting state is built once, however many trials need it at a time."""

    def __init__(self, folder: Path, run_setup: RunSetup = set_up_here) -> None:
        """`folder`: where they are built, which ends with the run, also if that is killed."""
        self._folder = folder
        self._run_setup = run_setup
        self._made: Path | None = None
        self._builds: dict[_Key, asyncio.Task[Template]] = {}
        self._keys: dict[int, tuple[Scenario, _Key]] = {}

    async def get(self, scenario: Scenario, *, where: Path | str = "scenario") -> Template:
        """The template of `scenario`. A failed build raises in every waiting caller; the next call builds again, unless
        the scenario itself is at fault (BadInput)."""
        entry = self._keys.get(id(scenario))
        if entry is None:
            key = await asyncio.to_thread(_key, scenario, where) if scenario.template else _key(scenario, where)
            self._keys[id(scenario)] = (scenario, key)
        else:
            key = entry[1]
        build = self._builds.get(key)
        if build is None or (build.done() and _may_work_now(build)):
            folder = self._new_folder(key)
            building = asyncio.to_thread(build_template, scenario, folder, where=where, run_setup=self._run_setup)
            build = asyncio.create_task(building)
            self._builds[key] = build
        return await asyncio.shield(build)

    def close(self) -> None:
        """Remove all templates; trees that refer to their files can't be read any more."""
        self._builds.clear()
        self._keys.clear()
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)
            self._made = None

    def _new_folder(self, key: _Key) -> Path:
        if self._made is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._made = Path(tempfile.mkdtemp(prefix=temp_prefix(), dir=self._folder))
        return Path(tempfile.mkdtemp(prefix=f"{key[0][:12]}-", dir=self._made)) / "workspace"


@contextmanager
def temporary_templates() -> Iterator[TemplateCache]:
    """Templates without a run. Their folder has a process that removes it if this one is killed."""
    runtime = SandboxRuntime()
    try:
        cache = TemplateCache(runtime.launcher().folder)
        yield cache
    finally:
        runtime.close()


def _may_work_now(build: asyncio.Task[Template]) -> bool:
    """Whether a build failed for a reason that may be gone, such as a full disk."""
    return build.cancelled() or not isinstance(build.exception(), BadInput | None)


def _key(scenario: Scenario, where: Path | str) -> _Key:
    """A key that differs if two scenarios have different starting states."""
    digest = hashlib.sha256()
    for path, content in sorted(scenario.files.items()):
        digest.update(f"{path}\0{len(content)}\0".encode("utf-8", "backslashreplace") + content)
    if scenario.template:
        digest.update(f"\0{scenario.template}\0".encode("utf-8", "backslashreplace"))
        for path, status in _walk(scenario.template, where, "template"):
            nature = f"{path}\0{status.st_mode} {status.st_size} {status.st_mtime_ns} {status.st_ino}\0"
            digest.update(nature.encode("utf-8", "backslashreplace"))
    return digest.hexdigest(), scenario.setup if getattr(scenario.setup, "__hash__", None) else id(scenario.setup)


def _check_path(path: str, where: Path | str) -> None:
    problem = tree_path_problem(path)
    if problem:
        remedy = "use a path relative to the workspace, such as 'src/main.py'"
        raise BadInput(f"path {path!r} {problem}", where=where, key="files", remedy=remedy)
    if ".git" in path.split("/"):
        remedy = "Demeanor creates the repository itself; change it in `setup`"
        raise BadInput(f"path {path!r} is in a .git folder", where=where, key="files", remedy=remedy)


def _folders_of(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _check_entries(folder: Path, where: Path | str, key: str) -> tuple[set[str], set[str]]:
    """The files and the folders in `folder`; raises BadInput for an entry that a workspace must not have."""
    files: set[str] = set()
    folders: set[str] = set()
    for path, status in _walk(folder, where, key):
        (folders if stat.S_ISDIR(status.st_mode) else files).add(path)
        problem, remedy = _entry_problem(folder, path, status)
        if problem:
            raise BadInput(f"{folder / path} {problem}", where=where, key=key, remedy=remedy)
    return files, folders


def _entry_problem(folder: Path, path: str, status: os.stat_result) -> tuple[str | None, str | None]:
    if tree_path_problem(path):
        return "has a name that is not UTF-8", "rename it"
    if stat.S_ISLNK(status.st_mode):
        target = (folder / path).readlink()
        inside = Path(os.path.realpath(folder / path)).is_relative_to(os.path.realpath(folder))
        if target.is_absolute() or not inside:
            return f"is a link to {str(target)!r}, outside the folder", "replace it with a file or a relative link"
    elif not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        return "is not a file, folder or link", "remove it"
    elif not os.access(folder / path, os.R_OK):
        return "can't be read", "make it readable (chmod u+r)"
    return None, None


def _walk(folder: Path, where: Path | str, key: str) -> Iterator[tuple[str, os.stat_result]]:
    """Everything in `folder` except `.git`, by relative path, parents first; links are not followed."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder", where=where, key=key, remedy="create it, or correct the path")
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in sorted((*folders, *files)):
            if name != ".git":
                path = Path(top, name)
                yield path.relative_to(folder).as_posix(), path.lstat()


def _copy_folder(folder: Path, into: Path) -> None:
    for path, status in _walk(folder, folder, "template"):
        if stat.S_ISLNK(status.st_mode):
            (into / path).symlink_to((folder / path).readlink())
        elif stat.S_ISDIR(status.st_mode):
            (into / path).mkdir()
        else:
            shutil.copyfile(folder / path, into / path)
            (into / path).chmod(status.st_mode & 0o777 | 0o600)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    path.chmod(0o644)


def _set_times(folder: Path) -> None:
    for path, _ in _walk(folder, folder, "template"):
        os.utime(folder / path, (EPOCH, EPOCH), follow_symlinks=False)
