"""Find the evals in files and folders, in a fixed order; all that can't be read are listed in one error."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import indent

from demeanor.core.text.wording import count
from demeanor.core.values.errors import BadInput, UnknownName, Unusable, nearest
from demeanor.core.values.eval import Eval
from demeanor.define.folder.cline_folder import CONFIG, looks_like_cline, read_cline_folder
from demeanor.define.folder.toml_folder import SCENARIO, read_toml_folder
from demeanor.define.python.decorated import decorated_functions
from demeanor.define.python.import_file import evals_in_file, is_eval_file
from demeanor.define.sources import policy_tables, source_of

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "results", "venv"}


class Unreadable(BadInput):
    """Several definitions can't be read."""

    def __init__(self, problems: Sequence[BadInput]) -> None:
        self.problems = tuple(problems)
        texts = list(dict.fromkeys(map(str, problems)))
        listed = "\n".join(indent(text, "  ") for text in texts)
        super().__init__(f"{count(len(texts), 'definition')} can't be read\n{listed}", where="evals")


def discover(paths: Sequence[Path | str], *, unusable: list[BadInput] | None = None) -> tuple[Eval, ...]:
    """The evals in `paths`: files or folders, each optionally followed by `::name`.

    Where other evals can be used, those that lack something on this machine are added to `unusable`, if that is there.
    """
    by_origin: dict[object, Eval] = {}
    seen: dict[Path, tuple[Eval, ...]] = {}
    problems: list[BadInput] = []
    for argument in paths:
        path, _, name = str(argument).partition("::")
        evals: list[Eval] = []
        for place in _places(Path(path)):
            evals.extend(_read_or_note(place, seen, problems))
        if name:
            evals = _chosen(evals, name, Path(path), sure=not problems)
        for eval_ in evals:
            _add(eval_, by_origin)
    if unusable is not None and by_origin and all(isinstance(problem, Unusable) for problem in problems):
        unusable += problems
        problems = []
    if problems:
        raise all_of(problems)
    for argument in paths:
        _reject_misnamed(Path(str(argument).partition("::")[0]), by_origin.values())
    return unique_names(by_origin.values())


def _add(eval_: Eval, by_origin: dict[object, Eval]) -> None:
    """Add an eval that is not there yet. A source may read the same task in several ways, each with tags of its own."""
    key = id(eval_) if eval_.task is None else (eval_.source.path.resolve(), eval_.name)
    collected = by_origin.setdefault(key, eval_)
    if collected is not eval_:
        by_origin[key] = replace(collected, tags=tuple(dict.fromkeys((*collected.tags, *eval_.tags))))


def all_of(problems: Sequence[BadInput]) -> BadInput:
    """The only problem, or one that lists all."""
    return problems[0] if len(set(map(str, problems))) == 1 else Unreadable(problems)


def _places(path: Path) -> Iterator[Path]:
    """The Python files, scenario folders and what sources can read below a path, sorted."""
    if not path.exists():
        raise BadInput("no such file or folder", where=path, remedy=_nearby(path))
    if path.name in {CONFIG, SCENARIO}:
        yield path.parent
    elif path.is_file() and (path.suffix == ".py" or source_of(path)):
        yield path
    elif path.is_file():
        *others, last = (SCENARIO, CONFIG, *policy_tables())
        remedy = f"evals are Python files or folders with {', '.join(others)} or {last}"
        raise BadInput("this is not an eval", where=path, remedy=remedy)
    elif (path / SCENARIO).is_file() or (path / CONFIG).is_file() or source_of(path):
        yield path
    else:
        yield from places_below(path)


def places_below(folder: Path) -> Iterator[Path]:
    """The files and folders below a folder that define evals, sorted."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if _is_skipped(path):
                continue
            if _is_eval_folder(path):
                yield path
            else:
                yield from places_below(path)
        elif is_eval_file(path.name) and (not path.name.startswith("test_") or _mentions_eval_test(path)):
            yield path


def eval_folders(folder: Path) -> list[Path]:
    """The folders that are evals: this one, or those in it, sorted."""
    if _is_eval_folder(folder):
        return [folder]
    return [
        path for path in sorted(folder.iterdir()) if path.is_dir() and not _is_skipped(path) and _is_eval_folder(path)
    ]


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _SKIPPED_FOLDERS or folder.is_symlink()


def _is_eval_folder(folder: Path) -> bool:
    return (folder / SCENARIO).is_file() or looks_like_cline(folder) or source_of(folder) is not None


def _reject_misnamed(path: Path, every: Iterable[Eval]) -> None:
    """Raise BadInput if a file below a folder defines an eval that was not collected because of the file's name."""
    if not path.is_dir():
        return
    evals = tuple(every)
    files = {file: file.resolve() for file in {eval_.source.path for eval_ in evals}}
    collected = {(files[eval_.source.path], eval_.source.line) for eval_ in evals}
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
    except Unreadable as several:
        problems += several.problems
    except BadInput as problem:
        problems.append(problem)
    return ()


def _read(place: Path, seen: dict[Path, tuple[Eval, ...]]) -> tuple[Eval, ...]:
    key = place.resolve()
    if key not in seen:
        seen[key] = evals_in_file(place) if place.suffix == ".py" and place.is_file() else _read_definition(place)
    return seen[key]


def _read_definition(place: Path) -> tuple[Eval, ...]:
    """The evals of a scenario folder, or of what a source can read."""
    source = source_of(place)
    own = [name for name in _READERS if (place / name).is_file()]
    files = own + ([source.FILE] if source is not None and place.is_dir() and (place / source.FILE).is_file() else [])
    if len(files) > 1:
        raise BadInput(f"the folder has both {files[0]} and {files[1]}", where=place, remedy="keep one of them")
    if own:
        read = _READERS[own[0]](place)
        return read if isinstance(read, tuple) else (read,)
    if source is None:
        raise BadInput("this is not an eval", where=place)
    return source.read(place)


_READERS: Mapping[str, Callable[[Path], Eval | tuple[Eval, ...]]] = {
    SCENARIO: read_toml_folder,
    CONFIG: read_cline_folder,
}
"""The file that identifies each kind of folder, and its reader."""


def _chosen(evals: Iterable[Eval], name: str, path: Path, *, sure: bool) -> list[Eval]:
    """The eval of this name, or all cases of it; an unknown name is an error if it is `sure` that all were read."""
    by_name: dict[str, list[Eval]] = {}
    for eval_ in evals:
        for own in dict.fromkeys((eval_.name, eval_.cases_of or eval_.name)):
            by_name.setdefault(own, []).append(eval_)
    if name not in by_name and sure:
        raise UnknownName("eval", name, by_name, where=path)
    return by_name.get(name, [])


def unique_names(evals: Iterable[Eval]) -> tuple[Eval, ...]:
    """The evals; raises BadInput if two have the same name."""
    by_name: dict[str, Eval] = {}
    for eval_ in evals:
        other = by_name.setdefault(eval_.name, eval_)
        if other is not eval_:
            raise BadInput(
                f"two evals are named {eval_.name!r}; the other one is at {other.source.path}:{other.source.line}",
                where=f"{eval_.source.path}:{eval_.source.line}",
                key="name",
                remedy="give one of them another name",
            )
    return tuple(by_name.values())


def _nearby(path: Path) -> str | None:
    if not path.parent.is_dir():
        return None
    close = nearest(path.name, [other.name for other in path.parent.iterdir()])
    return f"did you mean {str(path.with_name(close))!r}?" if close else None
