"""The starting state of a workspace: laid out and committed once per scenario, then copied for every attempt.

An agent finds an ordinary git repository: branch main, one commit, a clean state, fixed author and dates, no remote,
no reflog, no hook, and nothing of the host's git configuration. The repository is Demeanor's own: a `.git` that lies
in a template folder is left out, at any depth, since its history may hold the very answer that an agent is to find.
Only a repository that the scenario's `setup` makes is kept, since its author wanted it: commits, branches and the tags
on what HEAD comes from. What a clone brings along beside that goes: remotes, reflogs, stashes, tags on later commits,
and every object that nothing leads to any more. There the answer often lies.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TypeAlias

from demeanor.core.errors import BadInput, WorldError
from demeanor.core.ports import Template
from demeanor.core.scenario import Scenario, Setup
from demeanor.core.tree_io import scan, tree_path_problem
from demeanor.core.verdict import VoidCause
from demeanor.runner.workspace_git import EPOCH, commit, remove_unreachable

_Key: TypeAlias = tuple[str, Hashable]


def check_template(scenario: Scenario, where: Path | str) -> None:
    """Raise BadInput for whatever would keep the workspace from being laid out; nothing is written."""
    files, folders = _look_into(scenario.template, where, "template") if scenario.template else (set(), set())
    for path in scenario.files:
        _check_path(path, where)
        folders.update(_folders_of(path))
    for path in sorted((files | scenario.files.keys()) & folders):
        raise BadInput(
            f"{path!r} is a file in one place and a folder in another",
            where=where,
            key="files",
            remedy="rename one of them",
        )


def build_template(scenario: Scenario, into: Path, *, where: Path | str = "scenario") -> Template:
    """Lay the workspace out in the new folder `into`: template folder, then `files`, then `setup`, then one commit."""
    check_template(scenario, where)
    try:
        into.mkdir(parents=True)
        if scenario.template:
            _copy_folder(scenario.template, into)
        for path, content in scenario.files.items():
            _write(into / path, content)
        _date(into)
    except OSError as error:
        raise WorldError(VoidCause.SANDBOX, f"the workspace can't be laid out: {error}") from error
    if scenario.setup:
        _set_up(scenario.setup, into, where)
    if not (into / ".git").exists():
        commit(into)
    elif (into / ".git").is_dir():
        remove_unreachable(into)
    tree = scan(into, in_place=True)
    if tree.gaps:
        raise BadInput(tree.gaps[0], where=where, key="template", remedy="start from less")
    return Template(folder=into, tree=tree)


class TemplateCache:
    """The templates of a run: each distinct starting state is built once, however many trials ask for it at once."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._made: Path | None = None
        self._builds: dict[_Key, asyncio.Task[Template]] = {}
        self._keys: dict[int, tuple[Scenario, _Key]] = {}

    async def get(self, scenario: Scenario, *, where: Path | str = "scenario") -> Template:
        """The template of `scenario`. What goes wrong is raised to everybody who waits; the next one builds anew."""
        known = self._keys.get(id(scenario))
        if known is None:
            key = await asyncio.to_thread(_key, scenario, where) if scenario.template else _key(scenario, where)
            self._keys[id(scenario)] = (scenario, key)
        else:
            key = known[1]
        build = self._builds.get(key)
        if build is None or (build.done() and (build.cancelled() or build.exception())):
            place = self._place(key)
            build = asyncio.create_task(asyncio.to_thread(build_template, scenario, place, where=where))
            self._builds[key] = build
        return await asyncio.shield(build)

    def close(self) -> None:
        """Remove all templates; trees that point into them can't be read any more."""
        self._builds.clear()
        self._keys.clear()
        if self._made:
            shutil.rmtree(self._made, ignore_errors=True)
            self._made = None

    def _place(self, key: _Key) -> Path:
        if self._made is None:
            if self._folder:
                self._folder.mkdir(parents=True, exist_ok=True)
            self._made = Path(tempfile.mkdtemp(prefix="demeanor-templates-", dir=self._folder))
        return Path(tempfile.mkdtemp(prefix=f"{key[0][:12]}-", dir=self._made)) / "workspace"


def _key(scenario: Scenario, where: Path | str) -> _Key:
    """Differs as soon as two scenarios start from different states."""
    digest = hashlib.sha256()
    for path, content in sorted(scenario.files.items()):
        digest.update(f"{path}\0{len(content)}\0".encode("utf-8", "backslashreplace") + content)
    if scenario.template:
        digest.update(f"\0{scenario.template}\0".encode("utf-8", "backslashreplace"))
        for path, found in _walk(scenario.template, where, "template"):
            nature = f"{path}\0{found.st_mode} {found.st_size} {found.st_mtime_ns} {found.st_ino}\0"
            digest.update(nature.encode("utf-8", "backslashreplace"))
    return digest.hexdigest(), scenario.setup if getattr(scenario.setup, "__hash__", None) else id(scenario.setup)


def _check_path(path: str, where: Path | str) -> None:
    problem = tree_path_problem(path)
    if problem:
        remedy = "give a path below the workspace, such as 'src/main.py'"
        raise BadInput(f"path {path!r} {problem}", where=where, key="files", remedy=remedy)
    if ".git" in path.split("/"):
        remedy = "Demeanor makes the repository itself; make another state of it in `setup`"
        raise BadInput(f"path {path!r} lies in a .git folder", where=where, key="files", remedy=remedy)


def _folders_of(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _look_into(folder: Path, where: Path | str, key: str) -> tuple[set[str], set[str]]:
    """The files and the folders in `folder`; raises BadInput for what an agent must not be given."""
    files: set[str] = set()
    folders: set[str] = set()
    for path, found in _walk(folder, where, key):
        (folders if stat.S_ISDIR(found.st_mode) else files).add(path)
        problem, remedy = _entry_problem(folder, path, found)
        if problem:
            raise BadInput(f"{folder / path} {problem}", where=where, key=key, remedy=remedy)
    return files, folders


def _entry_problem(folder: Path, path: str, found: os.stat_result) -> tuple[str | None, str | None]:
    if tree_path_problem(path):
        return "has a name that is not UTF-8", "rename it"
    if stat.S_ISLNK(found.st_mode):
        target = (folder / path).readlink()
        inside = Path(os.path.realpath(folder / path)).is_relative_to(os.path.realpath(folder))
        if target.is_absolute() or not inside:
            return f"is a link that leads out of the folder, to {str(target)!r}", "make it a file, or a relative link"
    elif not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        return "is neither file, folder nor link", "remove it"
    elif not os.access(folder / path, os.R_OK):
        return "can't be read", "give yourself the right to read it"
    return None, None


def _walk(folder: Path, where: Path | str, key: str) -> Iterator[tuple[str, os.stat_result]]:
    """Everything in `folder` but `.git`, by relative path, outer ones first, links not followed."""
    if not folder.is_dir():
        raise BadInput(f"{folder} is not a folder", where=where, key=key, remedy="make it, or correct the path")
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in sorted((*folders, *files)):
            if name != ".git":
                place = Path(top, name)
                yield place.relative_to(folder).as_posix(), place.lstat()


def _copy_folder(folder: Path, into: Path) -> None:
    for path, found in _walk(folder, folder, "template"):
        if stat.S_ISLNK(found.st_mode):
            (into / path).symlink_to((folder / path).readlink())
        elif stat.S_ISDIR(found.st_mode):
            (into / path).mkdir()
        else:
            shutil.copyfile(folder / path, into / path)
            (into / path).chmod(found.st_mode & 0o777 | 0o600)


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(content)
    place.chmod(0o644)


def _date(folder: Path) -> None:
    for path, _ in _walk(folder, folder, "template"):
        os.utime(folder / path, (EPOCH, EPOCH), follow_symlinks=False)


def _set_up(setup: Setup, into: Path, where: Path | str) -> None:
    try:
        setup(into)
    except Exception as error:
        problem = f"raised {type(error).__name__}: {error}"
        raise BadInput(problem, where=where, key="setup", remedy="correct the function") from error
    _look_into(into, where, "setup")
