"""Scenario folders: `<id>/scenario.toml` and, optionally, the starting files in `<id>/template/`.

A scenario.toml can say everything that `@eval_test` can, and use every check of core/values/checks.py, without Python.
docs/eval-keys.md lists the keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from demeanor.config import Table, read_toml
from demeanor.core.values.eval import Eval, Source
from demeanor.define.cases import EvalCase, as_case, fill, read_cases
from demeanor.define.eval_fields import EVAL_FIELDS, build_eval
from demeanor.define.field import read_fields
from demeanor.define.folder.cline_folder import folder_name, starting_folder
from demeanor.define.repository import refuse_outside

SCENARIO = "scenario.toml"


def read_toml_folder(folder: Path) -> tuple[Eval, ...]:
    """The eval that `folder` describes, or one per case; without a name, it has that of the folder."""
    file = folder / SCENARIO
    refuse_outside(file, where=file)
    data = read_toml(file)
    table = Table(data, where=file)
    if "case" in data and "cases" in data:
        table.fail("cases", "both case and cases are given", "put all cases into the file or into [[case]]")
    key = "case" if "case" in data else "cases"
    if key not in data:
        return (_read(data, folder, None),)
    return tuple(_read(fill(data, case.fields), folder, case) for case in read_cases(data[key], table, key, folder))


def _read(data: dict[str, Any], folder: Path, case: EvalCase | None) -> Eval:
    file = folder / SCENARIO
    table = Table(data, where=file)
    fields = read_fields(table, EVAL_FIELDS)
    if "name" not in fields:
        fields["name"] = folder_name(folder, file)
    fields["template"] = starting_folder(folder)
    created = build_eval(table, fields, source=Source(path=folder))
    return created if case is None else as_case(created, case, table)
