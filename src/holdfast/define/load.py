"""Finding what authors wrote: paths in, evals out, in a fixed order; the first mistake stops everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from holdfast.core.errors import BadInput, UnknownName, nearest
from holdfast.core.evals import Eval
from holdfast.define.module import evals_in_file, is_eval_file
from holdfast.define.seed_folder import CONFIG, looks_like_seed, read_seed_folder
from holdfast.define.toml_folder import SCENARIO, read_toml_folder

_NOT_ENTERED = {"__pycache__", "node_modules", "results", "venv"}


def load(paths: Sequence[Path | str]) -> tuple[Eval, ...]:
    """The evals that `paths` hold: files or folders, each perhaps with `::name` at its end."""
    found: dict[int, Eval] = {}
    seen: dict[Path, tuple[Eval, ...]] = {}
    for given in paths:
        path, _, name = str(given).partition("::")
        evals = [one for place in _places(Path(path)) for one in _read(place, seen)]
        if name:
            evals = _chosen(evals, name, Path(path))
        found.update({id(one): one for one in evals})
    return _without_namesakes(found.values())


def _places(path: Path) -> Iterator[Path]:
    """The Python files and scenario folders that a path stands for, sorted."""
    if not path.exists():
        raise BadInput("there is no such file or folder", where=path, remedy=_nearby(path))
    if path.name in {CONFIG, SCENARIO}:
        yield path.parent
    elif path.is_file() and path.suffix == ".py":
        yield path
    elif path.is_file():
        remedy = f"evals are Python files, and folders with {SCENARIO} or {CONFIG}"
        raise BadInput("this is no eval", where=path, remedy=remedy)
    elif _is_scenario(path):
        yield path
    else:
        yield from _below(path)


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name.startswith(".") or path.name in _NOT_ENTERED or path.is_symlink():
                continue
            if (path / SCENARIO).is_file() or looks_like_seed(path):
                yield path
            else:
                yield from _below(path)
        elif is_eval_file(path.name) and (not path.name.startswith("test_") or _mentions_eval_test(path)):
            yield path


def _is_scenario(folder: Path) -> bool:
    return (folder / SCENARIO).is_file() or (folder / CONFIG).is_file()


def _mentions_eval_test(path: Path) -> bool:
    return b"eval_test" in path.read_bytes()


def _read(place: Path, seen: dict[Path, tuple[Eval, ...]]) -> tuple[Eval, ...]:
    key = place.resolve()
    if key not in seen:
        seen[key] = evals_in_file(place) if place.is_file() else (_read_folder(place),)
    return seen[key]


def _read_folder(folder: Path) -> Eval:
    if (folder / SCENARIO).is_file() and (folder / CONFIG).is_file():
        problem = f"the folder holds both {SCENARIO} and {CONFIG}"
        raise BadInput(problem, where=folder, remedy="keep one of them")
    return read_toml_folder(folder) if (folder / SCENARIO).is_file() else read_seed_folder(folder)


def _chosen(evals: Iterable[Eval], name: str, path: Path) -> list[Eval]:
    by_name = {one.name: one for one in evals}
    if name not in by_name:
        raise UnknownName("eval", name, by_name, where=path)
    return [by_name[name]]


def _without_namesakes(evals: Iterable[Eval]) -> tuple[Eval, ...]:
    by_name: dict[str, Eval] = {}
    for one in evals:
        other = by_name.setdefault(one.name, one)
        if other is not one:
            raise BadInput(
                f"two evals are called {one.name!r}; the other one is at {other.source.path}:{other.source.line}",
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
