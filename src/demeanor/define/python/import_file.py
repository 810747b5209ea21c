"""Import a Python file as a module and collect its evals."""

from __future__ import annotations

import builtins
import hashlib
import inspect
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from demeanor.config import describe
from demeanor.core.values.errors import BadInput, DemeanorError, Unusable, did_you_mean
from demeanor.core.values.eval import Eval
from demeanor.define.python.assert_details import explain_comparisons
from demeanor.define.python.assert_rewrite import compiled
from demeanor.define.python.decorator import eval_test, take_created
from demeanor.define.python.marks import check_functions, reject_wide_parametrize, unmarked


def evals_in_file(path: Path) -> tuple[Eval, ...]:
    """The evals of a Python file, in the order of their definition; raises BadInput if it has lost one."""
    take_created(path)
    namespace = vars(import_file(path))
    evals = evals_in(namespace, path)
    reject_lost(take_created(path), evals, namespace)
    return evals


def evals_in(namespace: Mapping[str, Any], path: Path) -> tuple[Eval, ...]:
    """The evals in a module, also in its lists, dicts and classes, without those imported from another eval file."""
    if "_pytest.assertion" in sys.modules:  # a file that pytest has imported uses pytest's own explanations
        explain_comparisons()
    evals: dict[int, Eval] = {}
    for value in list(namespace.values()):
        for eval_ in evals_of(value, namespace.get("__name__")):
            if not _is_imported(eval_, path):
                evals[id(eval_)] = eval_
    reject_wide_parametrize(evals.values(), namespace)
    return tuple(sorted(evals.values(), key=lambda eval_: eval_.source.line))


def evals_of(value: object, module: str | None) -> Iterator[Eval]:
    """The evals that a value of a module is or has: below marks, in lists, tuples and dicts, and in its classes."""
    value = unmarked(value)
    parts: Iterable[object] = ()
    if isinstance(value, Eval):
        yield value
    elif isinstance(value, list | tuple):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, type) and value.__module__ == module:
        parts = vars(value).values()
    for part in list(parts):
        inner = unmarked(part)
        several = inner if isinstance(inner, tuple) else (inner,)  # cases are a tuple
        yield from (item for item in several if isinstance(item, Eval))


def reject_lost(created: Iterable[Eval], evals: Iterable[Eval], namespace: Mapping[str, Any]) -> None:
    """Raise BadInput if an eval was created but not collected: it would never run, and nothing would say so."""
    collected = {id(function) for eval_ in evals for function in check_functions(eval_)}
    for eval_ in created:
        if collected.isdisjoint(map(id, check_functions(eval_))):
            problem, remedy = _why_lost(eval_, namespace)
            raise BadInput(
                f"the eval {eval_.name!r} can't be collected: {problem}",
                where=f"{eval_.source.path}:{eval_.source.line}",
                remedy=remedy,
            )


def _why_lost(eval_: Eval, namespace: Mapping[str, Any]) -> tuple[str, str]:
    name = check_functions(eval_)[0].__name__
    now = namespace.get(name)
    if isinstance(now, tuple) and now:  # the cases of another eval
        now = now[0]
    if isinstance(now, Eval):
        problem = f"another eval at line {now.source.line} has taken its name `{name}`"
        return problem, "rename one of the functions; in a loop, append each eval to a list of the module"
    if name in namespace:
        problem = f"the name `{name}` is now {'None' if now is None else describe(now)}"
        return problem, "put @eval_test above other decorators than pytest's marks, and assign nothing else to the name"
    return f"the module has no name `{name}`", "assign it to a name, or to a list, tuple or dict, of the module"


def is_eval_file(name: str) -> bool:
    """Whether a Python file of this name can have evals; `test_*.py` only if it mentions `eval_test`."""
    return name.endswith(".py") and (name.startswith(("eval_", "test_")) or name.endswith("_eval.py"))


def _is_imported(eval_: Eval, path: Path) -> bool:
    file = eval_.source.path
    return is_eval_file(file.name) and file != path and file.resolve() != path.resolve()


def import_file(path: Path) -> ModuleType:
    """Run a Python file as a module; it can import the files next to it by name, in a package also relatively.

    What it prints goes to standard error, because standard output may be a report.
    """
    full = path.resolve()
    package, root = _package(full.parent)
    name = f"_demeanor_{full.stem}_{hashlib.sha256(str(full).encode()).hexdigest()[:8]}"
    module = ModuleType(name)
    module.__file__ = str(full)
    module.__package__ = package
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": _importer((full.parent, root))}
    try:
        code = compiled(path, full.read_bytes())
        with _registered(module), _siblings((full.parent, root)), redirect_stdout(sys.stderr):
            exec(code, vars(module))  # noqa: S102 - running the author's file is the point
    except DemeanorError:
        raise
    except SyntaxError as error:
        raise BadInput(f"syntax error: {error.msg}", where=_place(path, error.lineno)) from error
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        kind = Unusable if _is_missing_here(error) else BadInput
        raise kind(reason, where=_place(path, _line_in(path, error)), remedy=_remedy(error)) from error
    return module


def _is_missing_here(error: BaseException) -> bool:
    """Whether an import failed for what another machine may have: a package, or a variable of the environment."""
    if isinstance(error, KeyError):
        return traceback.extract_tb(error.__traceback__)[-1].filename in {os.__file__, "<frozen os>"}
    return isinstance(error, ModuleNotFoundError)


@contextmanager
def _registered(module: ModuleType) -> Iterator[None]:
    """Register the module in sys.modules, which dataclasses and pickle need; undone if its import fails."""
    sys.modules[module.__name__] = module
    try:
        yield
    except BaseException:
        del sys.modules[module.__name__]
        raise


def _package(folder: Path) -> tuple[str, Path]:
    """The name of the package that a folder is, and the folder from which it is imported; empty without one."""
    names: list[str] = []
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names), folder


def _importer(folders: tuple[Path, ...]) -> Callable[..., ModuleType]:
    """The `import` of one file, also inside its functions: helpers of other folders do not get in its way."""

    def importing(name: str, *rest: Any, **options: Any) -> ModuleType:
        with _IMPORTING, _siblings(folders):
            module: ModuleType = builtins.__import__(name, *rest, **options)
            return module

    return importing


@contextmanager
def _siblings(folders: tuple[Path, ...]) -> Iterator[None]:
    """Make the files of `folders` importable: at the front of sys.path during the import, at its end afterwards."""
    if [folders] != _ACTIVE:
        for folder in folders:
            _unload_same_named(folder)
            _FOLDERS.add(folder)
        _ACTIVE[:] = [folders]
    silent, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    names = [str(folder) for folder in dict.fromkeys(folders)]
    sys.path[:0] = names
    try:
        yield
    finally:
        sys.dont_write_bytecode = silent
        for name in names:
            sys.path.remove(name)
            if name not in sys.path:
                sys.path.append(name)


_FOLDERS: set[Path] = set()
"""The folders whose evals were imported; helpers of the same name in two folders are different modules."""

_ACTIVE: list[tuple[Path, ...]] = []
"""The folders whose helpers are loaded under names that other folders have too."""

_IMPORTING = threading.RLock()


def _unload_same_named(folder: Path) -> None:
    """Unload modules of other folders, so that `import helpers` finds the one in `folder`."""
    folders = {str(path) for path in _FOLDERS}  # as text: some 250 modules are compared, for every folder
    for name, module in list(sys.modules.items()):
        file = None if "." in name else getattr(module, "__file__", None)
        if not file or folders.isdisjoint(_folders_above(file)):
            continue
        own = {folder / f"{name}.py", folder / name / "__init__.py"}
        if Path(file) not in own and any(map(Path.is_file, own)):
            for part in [part for part in sys.modules if part == name or part.startswith(f"{name}.")]:
                del sys.modules[part]


def _folders_above(file: str) -> tuple[str, str]:
    inner = file.rpartition("/")[0]
    return inner, inner.rpartition("/")[0]


def _place(path: Path, line: int | None) -> str:
    return f"{path}:{line}" if line else str(path)


def _line_in(path: Path, error: BaseException) -> int | None:
    """The last line of the author's file in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)


def _remedy(error: BaseException) -> str | None:
    unknown = re.match(r"eval_test\(\) got an unexpected keyword argument '(\w+)'", str(error))
    if unknown:
        names = [name for name in inspect.signature(eval_test).parameters if name != "policy"]
        return did_you_mean(unknown[1], names, f"known arguments: {', '.join(names)}")
    if isinstance(error, ModuleNotFoundError):
        return f"install {error.name!r}, or put {error.name}.py next to the file"
    return None
