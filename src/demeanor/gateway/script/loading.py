"""Loads scripts from files: rules in YAML, or a Python file with a function `play`."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from demeanor.config import Table
from demeanor.core.values.errors import BadInput, nearest
from demeanor.gateway.script.model import ScriptedModel
from demeanor.gateway.script.rules import read_rules


def load_script(source: str | Path) -> ScriptedModel:
    """Load a scripted model from `rules.yaml`, `model.py` or `model.py:function`; raises BadInput."""
    name, _, function = str(source).partition(".py:")
    path = Path(f"{name}.py") if function else Path(source)
    if path.suffix not in {".yaml", ".yml", ".py"}:
        raise BadInput("is not a script", where=path, remedy="use a .yaml file of rules or a .py file")
    if not path.is_file():
        raise BadInput("there is no such file", where=path)
    return _load_python(path, function or "play") if path.suffix == ".py" else _load_yaml(path)


def _load_yaml(path: Path) -> ScriptedModel:
    import yaml

    source = path.read_bytes()
    try:
        data = yaml.safe_load(source.decode("utf-8"))
    except (yaml.YAMLError, UnicodeError) as error:
        raise BadInput(f"is not valid YAML: {error}", where=path) from None
    table = Table(data, where=path)
    rules = read_rules(table)
    note = table.text("notes", f"script {path.name}: rules stand in for a model; it is not a language model")
    table.finish()
    return ScriptedModel(play=rules, notes=(note,), content=sha256(source).hexdigest())


def _load_python(path: Path, function: str) -> ScriptedModel:
    module = ModuleType(f"demeanor_script_{path.stem}")
    module.__file__ = str(path)
    source = path.read_bytes()
    try:  # not imported: Python's bytecode cache has a resolution of a second, too coarse for quick edits
        exec(compile(source, path, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the user's own file
    except Exception as error:
        raise BadInput(f"can't be imported: {type(error).__name__}: {error}", where=path) from error
    play: Any = getattr(module, function, None)
    if not callable(play):
        close = nearest(function, [name for name, value in vars(module).items() if callable(value)])
        remedy = f"did you mean {path.name}:{close}?" if close else f"write: def {function}(turn): ..."
        raise BadInput(f"there is no function {function!r}", where=path, remedy=remedy)
    note = f"script {path.name}: a program stands in for a model; it is not a language model"
    content = sha256(source + f"\0{function}".encode()).hexdigest()
    return ScriptedModel(play=play, notes=(note,), content=content)
