"""Find answers to a task that leak into its environment.

The classic case is a git repository in the environment: the commit that solved the problem is still in it, on another
branch, in the reflog, or as an unreachable object. Another case is a solution that was copied into the environment by
mistake.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.text.wording import count
from demeanor.core.trees.git import GitError, blob_contents, git
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.plugins.harbor.format.task import HarborTask

_LARGEST = 2**20
_MIN_LENGTH = 12
"""Shorter lines occur by chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerSearch:
    """What a search for answers in a task's environment has found."""

    leaked: tuple[str, ...]
    """The leaked answers, each with its location and a remedy."""

    unreadable: tuple[str, ...]
    """Repositories that can't be read, so that it is unknown what they contain."""


def search_answers(task: HarborTask) -> AnswerSearch:
    """Search the environment of a task for its answers."""
    solutions = _texts([task.folder / "solution", *sorted(task.folder.glob("steps/*/solution"))])
    shipped = [task.environment.folder.resolve(), *sorted(task.folder.glob("steps/*/workdir"))]
    start = _texts(shipped)
    leaked = [
        f"{_shown(path, task)} is {_shown(solution, task)}; remove the answer from the environment"
        for solution, answer in solutions.items()
        for path in _copies(solution, answer, start, task)
    ]
    unreadable = []
    public = _lines(start.values())
    for repository in _repositories(shipped):
        shown = _shown(repository, task)
        try:
            leaked += [f"{shown}: {place}" for place in _in_repository(repository, solutions, public, task)]
        except GitError as error:
            unreadable.append(
                f"{shown}: its history can't be read, so it may contain the answer: {error}; repair the repository, or "
                "remove it"
            )
    return AnswerSearch(leaked=tuple(leaked), unreadable=tuple(unreadable))


def _copies(solution: Path, answer: str, start: Mapping[Path, str], task: HarborTask) -> list[Path]:
    """The files of the environment that are a file of the solution. A file that the solution does not change is not
    its answer: every file of this name is the same in the environment, outside of a copy of the solution's folder.
    """
    paths = [path for path, text in start.items() if answer.strip() and text.strip() == answer.strip()]
    scripts = {step.solution.resolve() for step in task.steps if step.solution}
    named = [
        path for path in start if path.name == solution.name and "solution" not in path.parts[len(task.folder.parts) :]
    ]
    unchanged = bool(named) and all(path in paths for path in named) and solution not in scripts
    return [path for path in paths if not (unchanged and path in named)]


def _in_repository(
    repository: Path, solutions: Mapping[Path, str], public: set[str], task: HarborTask
) -> Iterator[str]:
    if repository.is_file():
        with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
            git(Path(folder), "clone", "--quiet", "--mirror", str(repository.resolve()), "unpacked")
            yield from _in_repository(Path(folder) / "unpacked", solutions, public, task)
        return
    objects = _objects(repository)
    past = set(_git(repository, "rev-list", "HEAD").split())
    beyond = sorted(name for name, kind in objects.items() if kind == "commit" and name not in past)
    if beyond:
        names = ", ".join(name[:10] for name in beyond[:3]) + (", …" if len(beyond) > 3 else "")
        yield (
            f"it has {count(len(beyond), 'commit')} not reachable from HEAD ({names}), which may contain the answer; "
            "remove the branches, tags and reflogs that refer to them, then run `git gc --prune=now`"
        )
    blobs = [name for name, kind in objects.items() if kind == "blob"]
    if not _has_working_tree(repository):
        public = public | _lines_of_head(repository, blobs)
    telling = {path: _telling(text, public) for path, text in solutions.items()}
    for path, name in _holding(repository, blobs, telling).items():
        yield f"the object {name[:10]} contains what {_shown(path, task)} writes; remove it from the history"


def _objects(repository: Path) -> dict[str, str]:
    """Every object, including unreachable ones, with its type; large files are left out."""
    batch_format = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    objects = {}
    for line in _git(repository, "cat-file", "--batch-all-objects", batch_format).splitlines():
        name, kind, *size = line.split()
        if not size:
            raise GitError(f"the object {name} is {kind}")
        if kind != "blob" or int(size[0]) <= _LARGEST:
            objects[name] = kind
    return objects


def _holding(repository: Path, blobs: Sequence[str], telling: Mapping[Path, set[str]]) -> dict[Path, str]:
    """For each answer, the first object that contains at least half of its lines."""
    texts: dict[Path, str] = {}
    for name, content in blob_contents(repository, blobs):
        held = {line.strip() for line in content.decode("utf-8", "replace").splitlines()}
        for path, lines in telling.items():
            if lines and len(held & lines) * 2 >= len(lines):
                texts.setdefault(path, name)
    return texts


def _git(repository: Path, *arguments: str) -> str:
    return git(repository, f"--git-dir={repository.resolve()}", *arguments, trusted=False)


def _telling(text: str, public: set[str]) -> set[str]:
    """The lines that only the answer has; in a patch they begin with «+»."""
    lines = {line.removeprefix("+").strip() for line in text.splitlines()}
    return {line for line in lines if len(line) >= _MIN_LENGTH and not line.startswith("#")} - public


def _has_working_tree(repository: Path) -> bool:
    return repository.name == ".git" and any(path != repository for path in repository.parent.iterdir())


def _lines_of_head(repository: Path, blobs: Sequence[str]) -> set[str]:
    """The lines of the files at HEAD: without a working tree, this is what the task starts with."""
    files = {line.split()[2] for line in _git(repository, "ls-tree", "-r", "HEAD").splitlines()}
    contents = blob_contents(repository, [name for name in blobs if name in files])
    return _lines(content.decode("utf-8", "replace") for _, content in contents)


def _lines(texts: Iterable[str]) -> set[str]:
    return {line.strip() for text in texts for line in text.splitlines()}


def _repositories(folders: Sequence[Path]) -> Iterator[Path]:
    """Git directories, whatever their name, and git bundles."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if (
                path.name == "HEAD" and path.is_file() and (path.parent / "objects").is_dir()
            ) or path.suffix == ".bundle":
                yield path if path.suffix == ".bundle" else path.parent


def _texts(folders: Sequence[Path]) -> dict[Path, str]:
    """The text files in some folders, without git directories."""
    texts = {}
    for folder in folders:
        inside = {path.parent for path in folder.rglob("HEAD") if (path.parent / "objects").is_dir()}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.stat().st_size <= _LARGEST and not inside & {*path.parents}:
                texts[path] = path.read_text("utf-8", errors="replace")
    return texts


def _shown(path: Path, task: HarborTask) -> str:
    return path.resolve().relative_to(task.folder).as_posix()
