"""Find the evals that are new or edited since a base commit.

An eval in a Python file is edited if its function, including decorators, or the shared code of its file (imports,
helpers, constants) differs from the base. Comments and formatting do not count. A scenario folder is edited if any of
its files is.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias

from demeanor.config import Table
from demeanor.core.text.json_values import as_dict
from demeanor.core.trees.git import GitError, commit_of, fork_point, git, missing_commit
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.define.cases import read_cases
from demeanor.define.folder.cline_folder import CONFIG, is_cline_config
from demeanor.define.folder.toml_folder import SCENARIO
from demeanor.define.python.decorated import Function, decorated_functions, is_eval_test
from demeanor.define.python.import_file import is_eval_file
from demeanor.define.sources import policy_tables

Edit: TypeAlias = Literal["new", "edited"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Edits:
    """The evals that a change affects."""

    base: str | None
    """The base commit; None if there is none."""

    problem: str | None = None
    """Why the comparison is impossible, if it is."""

    evals: Mapping[str, Edit] = field(default_factory=dict)
    """The evals that are new or edited, by name."""

    removed: Mapping[str, str] = field(default_factory=dict)
    """The evals that only the base commit has, by name, each with its file."""

    unsure: tuple[str, ...] = ()
    """Changed files that may have created evals at the base commit whose names their source does not tell."""


def edits(
    evals: Sequence[Eval], root: Path, *, base: str | None = None, within: Sequence[str | Path] | None = None
) -> Edits:
    """Compare the evals of the working tree with the repository of `root` at `base` (default: the fork point).

    `within` are the paths that `evals` were collected from; removed evals are looked for only there (default: `root`).
    """
    try:
        top = Path(git(root, "rev-parse", "--show-toplevel").strip()).resolve()
    except GitError as error:
        return Edits(base=None, problem=f"{root} is not in a git repository: {error}")
    try:
        revision = base or fork_point(top)
    except GitError as error:
        return Edits(base=None, problem=str(error))
    try:
        commit = commit_of(top, revision)
    except GitError:
        return Edits(base=None, problem=missing_commit(top, revision))
    changed = _changed(top, commit)
    by_name: dict[str, Edit] = {}
    for eval_ in evals:
        path = eval_.source.path.resolve()
        if not path.is_relative_to(top):
            continue
        place = path.relative_to(top).as_posix()
        if path.is_dir():
            if any(name.startswith(f"{place}/") for name in changed):
                by_name[eval_.name] = "edited" if _is_there(top, commit, place) else "new"
        elif place in changed:
            edit = _edited(path.read_text("utf-8", "replace"), _before(top, commit, place), eval_)
            if edit:
                by_name[eval_.name] = edit
    scope = _scope(within if within is not None else [root], top)
    inside = [name for name in changed if any(f"{name}/".startswith(place) for place in scope)]
    earlier = base_evals(inside, partial(_before, top, commit), evals)
    unsure = (*earlier.unsure, *_case_files(inside, evals, top))
    if not unsure:
        by_name |= {
            eval_.name: "new"
            for eval_ in evals
            if eval_.cases_of and by_name.get(eval_.name) and eval_.name not in earlier.places
        }
    by_name = _without_moved(by_name, evals, earlier.places, partial(_moved, top, commit))
    return Edits(base=commit, evals=by_name, removed=earlier.removed, unsure=unsure)


def _without_moved(
    edits: Mapping[str, Edit],
    evals: Iterable[Eval],
    places: Mapping[str, str],
    moved: Callable[[str, Eval], dict[str, Edit]],
) -> dict[str, Edit]:
    """The edits, in which an eval that was elsewhere at the commit is not new."""
    kept = dict(edits)
    for eval_ in evals:
        if kept.get(eval_.name) == "new" and not eval_.cases_of and (old := places.get(eval_.name)):
            del kept[eval_.name]
            kept |= moved(old, eval_)
    return kept


def _moved(top: Path, commit: str, old: str, eval_: Eval) -> dict[str, Edit]:
    """Whether an eval that was in the file `old` at the commit is edited."""
    path, before = eval_.source.path.resolve(), _before(top, commit, old)
    if not path.is_dir():
        same = _edited(path.read_text("utf-8", "replace"), before, eval_) is None
        return {} if same else {eval_.name: "edited"}
    folder = old.rpartition("/")[0]
    names = git(top, "ls-tree", "-r", "-z", "--name-only", f"{commit}:{folder}").split("\0")
    then = {name: _before(top, commit, f"{folder}/{name}".lstrip("/")) for name in names if name}
    files = [file for file in path.rglob("*") if file.is_file()]
    now = {file.relative_to(path).as_posix(): file.read_text("utf-8", "replace") for file in files}
    return {} if now == then else {eval_.name: "edited"}


def _case_files(changed: Iterable[str], evals: Sequence[Eval], top: Path) -> list[str]:
    """The changed files that may be tables of cases, and so may have named other evals at the base commit."""
    sources = {eval_.source.path.resolve() for eval_ in evals if eval_.cases_of}
    folders = {path if path.is_dir() else path.parent for path in sources}
    tables = [name for name in sorted(changed) if name.endswith((".csv", ".jsonl"))]
    return [name for name in tables if any((top / name).is_relative_to(folder) for folder in folders)]


def _scope(paths: Sequence[str | Path], top: Path) -> list[str]:
    """The paths relative to the repository's top, folders with a slash at the end; `::name` is ignored."""
    files = []
    for argument in paths:
        path = Path(str(argument).partition("::")[0]).resolve()
        if path.is_relative_to(top):
            place = path.relative_to(top).as_posix()
            files.append("" if place == "." else f"{place}/")
    return files


def _changed(top: Path, commit: str) -> frozenset[str]:
    """The files that differ from the commit, including untracked ones."""
    differing = git(top, "diff", "--name-only", "-z", "--no-renames", commit, "--").split("\0")
    unknown = git(top, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return frozenset(filter(None, (*differing, *unknown)))


def _is_there(top: Path, commit: str, place: str) -> bool:
    return bool(git(top, "ls-tree", commit, "--", place).strip())


def _before(top: Path, commit: str, place: str) -> str | None:
    try:
        return git(top, "show", f"{commit}:{place}")
    except GitError:
        return None


def _edited(now: str, before: str | None, eval_: Eval) -> Edit | None:
    """Whether an eval in a changed Python file is new or edited."""
    if before is None:
        return "new"
    try:
        (own, rest), (earlier, earlier_rest) = _parts(now), _parts(before)
    except (SyntaxError, ValueError):
        return "edited"
    name = next((name for name, (_, lines) in own.items() if eval_.source.line in lines), None)
    if name is not None and name not in earlier:
        return "new"
    return "edited" if name is None or rest != earlier_rest or own[name][0] != earlier[name][0] else None


def _parts(source: str) -> tuple[dict[str, tuple[str, range]], str]:
    """The decorated functions, without formatting and with their lines, and the rest of a module."""
    own: dict[str, tuple[str, range]] = {}
    rest = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.decorator_list:
            lines = range(node.decorator_list[0].lineno, (node.end_lineno or node.lineno) + 1)
            own[node.name] = (ast.dump(node), lines)
        else:
            rest.append(ast.dump(node))
    return own, "\n".join(rest)


# Find the evals that a base commit has and the working tree has not, without running the code of the base commit.
#
# Names are read from the source: functions decorated with `@eval_test(…)` and their cases, and the files of
# scenario and task folders. The names of evals that a file creates in another way, such as a loop or from a file of
# cases, are not known; such files are listed instead.


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEvals:
    """The evals of one file, as far as its source tells."""

    names: frozenset[str] = frozenset()
    """Their names."""

    families: frozenset[str] = frozenset()
    """The names, without the id of a case, of evals whose cases are known only when the file runs."""

    complete: bool = True
    """False if the file creates further evals whose names are known only when it runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseEvals:
    """The evals of the base commit in files that have changed since, as far as their source tells."""

    places: dict[str, str]
    """All of them by name, each with its file at the base commit."""

    removed: dict[str, str]
    """Those that do not exist any more, each with its file at the base commit."""

    unsure: tuple[str, ...]
    """The changed files whose evals can't all be named."""


def base_evals(
    changed: Iterable[str], content_at_base: Callable[[str], str | None], evals: Sequence[Eval]
) -> BaseEvals:
    """Compare `evals`, which exist now, with the base commit. `changed` are the files that differ from it."""
    now = {eval_.name for eval_ in evals}
    families = {eval_.cases_of for eval_ in evals if eval_.cases_of}
    places: dict[str, str] = {}
    removed: dict[str, str] = {}
    unsure: list[str] = []
    for place in sorted(changed):
        if not _can_have_evals(place):
            continue
        content = content_at_base(place)
        if content is None:
            continue
        named = named_evals(place, content)
        places.update(dict.fromkeys(named.names, place))
        removed.update({name: place for name in named.names if name not in now})
        removed.update({name: place for name in named.families if name not in now | families})
        if not named.complete:
            unsure.append(place)
    return BaseEvals(places=places, removed=removed, unsure=tuple(unsure))


def named_evals(place: str, content: str) -> NamedEvals:
    """The evals of a file: a Python file, or the file that makes its folder a scenario or a task."""
    path = PurePosixPath(place)
    try:
        if path.suffix == ".py":
            return _named_in_python(content)
        if path.name == CONFIG:
            return NamedEvals(names=frozenset({path.parent.name} if is_cline_config(content.encode()) else ()))
        own: Mapping[str, object] = tomllib.loads(content)
    except (SyntaxError, ValueError, RecursionError):
        return NamedEvals(complete=False)
    for table in policy_tables().get(path.name, ()):
        own = as_dict(own.get(table))
    name = own.get("name")
    family = name if isinstance(name, str) else path.parent.name
    if path.name == SCENARIO and ("case" in own or "cases" in own):
        return _with_cases(family, own.get("case"))
    return NamedEvals(names=frozenset({family}))


def _can_have_evals(place: str) -> bool:
    name = PurePosixPath(place).name
    return name in {SCENARIO, CONFIG, *policy_tables()} or is_eval_file(name)


def _with_cases(family: str, rows: object) -> NamedEvals:
    """The evals of a table of cases; only their common name if the rows are not there to be read."""
    try:
        table = Table({}, where="cases")
        cases = read_cases(rows, table, "cases", Path()) if isinstance(rows, list | tuple) else ()
    except BadInput:
        cases = ()
    if not cases:
        return NamedEvals(families=frozenset({family}), complete=False)
    return NamedEvals(names=frozenset(f"{family}[{case.id}]" for case in cases))


def _named_in_python(source: str) -> NamedEvals:
    tree = ast.parse(source)
    decorated = list(decorated_functions(tree))
    evals = [_named_by(function, call) for function, call in decorated]
    names = frozenset(name for named in evals for name in named.names)
    families = frozenset(name for named in evals for name in named.families)
    calls = sum(is_eval_test(node) for node in ast.walk(tree))
    complete = len(decorated) == calls and all(named.complete for named in evals)
    return NamedEvals(names=names, families=families, complete=complete)


def _named_by(function: Function, call: ast.Call) -> NamedEvals:
    """The evals of a decorated function; none if its name is not a plain string."""
    name: Any = function.name
    for word in call.keywords:
        if word.arg in {"name", None}:
            name = word.value.value if isinstance(word.value, ast.Constant) else None
            break
    if not isinstance(name, str):
        return NamedEvals(complete=False)
    cases = [word.value for word in call.keywords if word.arg == "cases"]
    if cases:
        return _with_cases(name, _literal(cases[0]))
    if any("parametrize" in ast.dump(decorator) for decorator in function.decorator_list):
        return _with_cases(name, None)
    return NamedEvals(names=frozenset({name}))


def _literal(node: ast.expr) -> object:
    """The value of a literal; None if it is computed."""
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value
