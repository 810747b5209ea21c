"""Evals become tasks of Harbor: laid out, rehearsed for a solution, and written down."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.errors import BadInput, UsageError
from demeanor.core.eval import Eval
from demeanor.core.tree import Change, changes
from demeanor.core.tree_io import scan
from demeanor.judge.simulation import rehearse
from demeanor.runner.self_tests import build_workspace
from demeanor.runner.template import build_template
from demeanor.store.exports.harbor import exportable, exported_task, task_name, unexportable, write_task

_ORG = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedTask:
    """An eval that was written as a task."""

    folder: Path
    """Where it lies."""

    left_out: tuple[str, ...]
    """What did not go along, each with the reason."""

    solution: bool
    """Whether a rehearsed behaviour gave it a solution."""


def export_task(one: Eval, out: Path, *, org: str, image: str, partial: bool) -> ExportedTask:
    """Write an eval as a task below `out`; raises UsageError for what can't be, unless a part of it is enough."""
    if not _ORG.fullmatch(org):
        raise UsageError(f"--org {org!r}: can't be used\n  → write letters, digits, «-», «_» and «.»")
    if one.task is not None:
        raise UsageError(f"{one.name!r} is a task of Harbor's already\n  → it lies in {one.task.folder}")
    left_out = tuple(unexportable(one))
    if left_out and not partial:
        listed = "\n".join(f"  - {reason}" for reason in left_out)
        remedy = "leave that out with --partial, where the rest still means something"
        raise UsageError(f"{one.name!r} can't be a task of Harbor's:\n{listed}\n  → {remedy}")
    if not exportable(one):
        raise UsageError(f"{one.name!r} has no check that could be exported, so that nothing could fail")
    folder = out / task_name(one)
    if folder.exists():
        raise BadInput("is there already", where=folder, remedy="move it away, or choose another --out")
    solution = _solution(one)
    with tempfile.TemporaryDirectory(prefix="demeanor-export-") as work:
        start = build_template(one.scenario, Path(work) / "start", where=one.source.path).tree
        write_task(exported_task(one, start, solution, org=org, image=image), folder)
    return ExportedTask(folder=folder, left_out=left_out, solution=solution is not None)


def _solution(one: Eval) -> tuple[Change, ...] | None:
    """What the first behaviour that must pass changes in the workspace; None where none is given."""
    if not one.passes_on:
        return None
    evidence = rehearse(one, one.passes_on[0], lay_out=build_workspace, read_back=scan)
    return changes(evidence.before, evidence.after)
