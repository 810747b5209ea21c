"""Scenario folders: `<id>/scenario.toml` and, optionally, the starting files in `<id>/template/`.

A scenario.toml can say everything that `@eval_test` can, and use every check of core/checks.py, without Python.
docs/scenario-toml.md lists the keys.
"""

from __future__ import annotations

from pathlib import Path

from demeanor.config.config import read_toml
from demeanor.config.table import Table
from demeanor.core.eval import Eval, Source
from demeanor.define.eval_fields import EVAL_FIELDS, build_eval
from demeanor.define.field import read_fields
from demeanor.define.folder.cline_folder import folder_name, starting_folder

SCENARIO = "scenario.toml"


def read_toml_folder(folder: Path) -> Eval:
    """The eval that `folder` describes; it has the folder's name unless scenario.toml gives another."""
    file = folder / SCENARIO
    table = Table(read_toml(file), where=file)
    found = read_fields(table, EVAL_FIELDS)
    if "name" not in found:
        found["name"] = folder_name(folder, file)
    found["template"] = starting_folder(folder)
    return build_eval(table, found, source=Source(path=folder))
