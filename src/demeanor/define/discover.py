"""Find the evals in files and folders, in a fixed order; all that can't be read are listed in one error."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import indent

from demeanor.core.errors import BadInput, UnknownName, nearest
from demeanor.core.eval import Eval
from demeanor.core.text import count
from demeanor.define.folder.cline_folder import CONFIG, looks_like_cline, read_cline_folder
from demeanor.define.folder.toml_folder import SCENARIO, read_toml_folder
from demeanor.plugins.harbor.format.dataset import DATASET, REGISTRY, read_dataset, read_registry
from demeanor.plugins.harbor.format.task_digest import TASK
from demeanor.plugins.harbor.format.task_folder import looks_like_task, read_task_folder
from demeanor.define.python.decorated import decorated_functions
from demeanor.define.python.import_file import evals_in_file, is_eval_file

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "results", "venv"}


def discover(paths: Sequence[Path | str]) -> tuple[Eval, ...]:
    """The evals in `paths`: files or folders, each optionally followed by `::name`."""
    found: dict[int, Eval] = {}
    labels: dict[int, tuple[str, ...]] = {}
    seen: dict[Path, tuple[Eval, ...]] = {}
    problems: list[BadInput] = []
    for given in paths:
        path, _, name = str(given).partition("::")
        evals: list[Eval] = []
        for place, tags in _listed(Path(path), seen, problems):
            read = _read_or_note(place, seen, problems)
            labels.update({id(one): labels.get(id(one), ()) + tags for one in read if tags})
            evals.extend(read)
        if name and not problems:
            evals = _chosen(evals, name, Path(path))
        found.update({id(one): one for one in evals})
    if problems:
        raise _all_of(problems)
    for given in paths:
        _reject_misnamed(Path(str(given).partition("::")[0]), found.values())
    return unique_names(_labelled(one, labels.get(key, ())) for key, one in found.items())


def _labelled(one: Eval, tags: tuple[str, ...]) -> Eval:
    return replace(one, tags=tuple(dict.fromkeys((*one.tags, *tags)))) if tags else one


def _all_of(problems: Sequence[BadInput]) -> BadInput:
    """The only problem, or one that lists all."""
    texts = list(dict.fromkeys(map(str, problems)))
    if len(texts) == 1:
        return problems[0]
    listed = "\n".join(indent(text, "  ") for text in texts)
    return BadInput(f"{count(len(texts), 'definition')} can't be read\n{listed}", where="evals")


def _listed(
    path: Path, seen: dict[Path, tuple[Eval, ...]], problems: list[BadInput]
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The files and folders with evals below a path, each with the tags of the datasets that list it.

    A dataset with a task that can't be read is left out, and `problems` gets the reasons.
    """

    def task(folder: Path) -> Eval:
        return _read(folder, seen)[0]

    if path.name == REGISTRY and path.is_file():
        yield from ((one.folder, one.tags) for one in read_registry(path, task))
        return
    for place in _places(path):
        if place.name == DATASET:
            tasks = [folder for folder in _below(place.parent) if looks_like_task(folder)]
            below = {folder: read[0] for folder in tasks if (read := _read_or_note(folder, seen, problems))}
            if len(below) < len(tasks):
                continue
            yield from ((one.folder, one.tags) for one in read_dataset(place, below))
        else:
            yield place, ()


def _places(path: Path) -> Iterator[Path]:
    """The Python files, datasets, scenario folders and task folders below a path, sorted."""
    if not path.exists():
        raise BadInput("no such file or folder", where=path, remedy=_nearby(path))
    if path.name in {CONFIG, SCENARIO, TASK}:
        yield path.parent
    elif path.is_file() and (path.suffix == ".py" or path.name == DATASET):
        yield path
    elif path.is_file():
        remedy = f"evals are Python files or folders with {SCENARIO}, {CONFIG} or {TASK}"
        raise BadInput("this is not an eval", where=path, remedy=remedy)
    elif (path / SCENARIO).is_file() or (path / CONFIG).is_file() or looks_like_task(path):
        yield path
    elif (path / DATASET).is_file():
        yield path / DATASET
    else:
        yield from _below(path)


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if _is_skipped(path):
                continue
            if _is_eval_folder(path):
                yield path
            elif (path / DATASET).is_file():
                yield path / DATASET
            else:
                yield from _below(path)
        elif is_eval_file(path.name) and (not path.name.startswith("test_") or _mentions_eval_test(path)):
            yield path


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _SKIPPED_FOLDERS or folder.is_symlink()


def _is_eval_folder(folder: Path) -> bool:
    return (folder / SCENARIO).is_file() or looks_like_cline(folder) or looks_like_task(folder)


def _reject_misnamed(path: Path, found: Iterable[Eval]) -> None:
    """Raise BadInput if a file below a folder defines an eval that was not collected because of the file's name."""
    if not path.is_dir():
        return
    evals = tuple(found)
    files = {file: file.resolve() for file in {one.source.path for one in evals}}
    collected = {(files[one.source.path], one.source.line) for one in evals}
    for file in _other_python_files(path):
        for name, lines in _decorated_evals(file):
            if not any((file.resolve(), line) in collected for line in lines):
                raise BadInput(
                    f"the eval {name!r} can't be collected: a file of evals is named eval_*.py, *_eval.py or test_*.py",
                    where=f"{file}:{lines.start}",
                    remedy="rename the file, or import the eval in a file of evals",
                )


def _other_python_files(folder: Path) -> Iterator[Path]:
    """The Python files below a folder whose names are not those of eval files."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if not _is_skipped(path) and not _is_eval_folder(path):
                yield from _other_python_files(path)
        elif path.suffix == ".py" and path.is_file() and not is_eval_file(path.name):
            yield path


def _decorated_evals(file: Path) -> Iterator[tuple[str, range]]:
    """The functions of a module that are decorated with `@eval_test(…)`, with their lines; none if it can't be read."""
    if not _mentions_eval_test(file):
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for function, _ in decorated_functions(tree):
        yield function.name, range(function.decorator_list[0].lineno, function.lineno + 1)


def _mentions_eval_test(path: Path) -> bool:
    return b"eval_test" in path.read_bytes()


def _read_or_note(place: Path, seen: dict[Path, tuple[Eval, ...]], problems: list[BadInput]) -> tuple[Eval, ...]:
    """The evals of a file or folder; none if it can't be read, and then `problems` gets the reason."""
    try:
        return _read(place, seen)
    except BadInput as problem:
        problems.append(problem)
        return ()


def _read(place: Path, seen: dict[Path, tuple[Eval, ...]]) -> tuple[Eval, ...]:
    key = place.resolve()
    if key not in seen:
        seen[key] = evals_in_file(place) if place.is_file() else _read_folder(place)
    return seen[key]


def _read_folder(folder: Path) -> tuple[Eval, ...]:
    found = [name for name in _READERS if (folder / name).is_file()]
    if len(found) > 1:
        raise BadInput(f"the folder has both {found[0]} and {found[1]}", where=folder, remedy="keep one of them")
    read = _READERS[found[0] if found else TASK](folder)
    return read if isinstance(read, tuple) else (read,)


_READERS: Mapping[str, Callable[[Path], Eval | tuple[Eval, ...]]] = {
    SCENARIO: read_toml_folder,
    CONFIG: read_cline_folder,
    TASK: read_task_folder,
}
"""The file that identifies each kind of folder, and its reader."""


def _chosen(evals: Iterable[Eval], name: str, path: Path) -> list[Eval]:
    """The eval of this name, or all cases of it."""
    by_name: dict[str, list[Eval]] = {}
    for one in evals:
        for known in dict.fromkeys((one.name, one.cases_of or one.name)):
            by_name.setdefault(known, []).append(one)
    if name not in by_name:
        raise UnknownName("eval", name, by_name, where=path)
    return by_name[name]


def unique_names(evals: Iterable[Eval]) -> tuple[Eval, ...]:
    """The evals; raises BadInput if two have the same name."""
    by_name: dict[str, Eval] = {}
    for one in evals:
        other = by_name.setdefault(one.name, one)
        if other is not one:
            raise BadInput(
                f"two evals are named {one.name!r}; the other one is at {other.source.path}:{other.source.line}",
                where=f"{one.source.path}:{one.source.line}",
                key="name",
                remedy="give one of them another name",
            )
    return tuple(by_name.values())


def _nearby(path: Path) -> str | None:
    if not path.parent.is_dir():
        return None
    close = nearest(path.name, [other.name for other in path.parent.iterdir()])
    return f"did you mean {str(path.with_name(close))!r}?" if close else None
