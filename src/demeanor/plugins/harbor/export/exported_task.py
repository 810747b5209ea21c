"""Export an eval as a Harbor task: its files, and a solution from its rehearsed behaviour."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.trees.file_set import new_folder
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree import Change, changes
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.core.values.eval import Eval
from demeanor.judge import rehearse
from demeanor.plugins.harbor.export.task_files import exportable, exported_task, task_name, unexportable, write_task
from demeanor.runner import build_template, build_workspace

_ORG = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportedTask:
    """An eval that was written as a Harbor task."""

    folder: Path
    """The folder of the task."""

    left_out: tuple[str, ...]
    """What could not be exported, each with the reason."""

    solution: bool
    """Whether it has a solution, from a rehearsed behaviour."""


def export_task(eval_: Eval, out: Path, *, org: str, image: str, partial: bool) -> ExportedTask:
    """Write an eval as a task below `out`. What can't be exported raises UsageError, or is left out with `partial`."""
    if not _ORG.fullmatch(org):
        raise UsageError(f"--org {org!r}: not a valid name\n  → use letters, digits, '-', '_' and '.'")
    if eval_.task is not None:
        raise UsageError(f"{eval_.name!r} is already a Harbor task\n  → its folder is {eval_.task.folder}")
    left_out = tuple(unexportable(eval_))
    if left_out and not partial:
        listed = "\n".join(f"  - {reason}" for reason in left_out)
        remedy = "leave that out with --partial, if the rest still makes sense"
        raise UsageError(f"{eval_.name!r} can't be exported as a Harbor task:\n{listed}\n  → {remedy}")
    if not exportable(eval_):
        raise UsageError(f"{eval_.name!r} has no check that can be exported, so the task could not fail")
    folder = out / task_name(eval_)
    if folder.exists():
        raise BadInput("already exists", where=folder, remedy="move it away, or choose another --output")
    solution = _solution(eval_)
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as work:
        start = build_template(eval_.scenario, Path(work) / "start", where=eval_.source.path).tree
        with new_folder(folder) as task:
            write_task(exported_task(eval_, start, solution, org=org, image=image), task)
    return ExportedTask(folder=folder, left_out=left_out, solution=solution is not None)


def _solution(eval_: Eval) -> tuple[Change, ...] | None:
    """Return the changes that the first behaviour of `passes_on` makes; None when there is none."""
    if not eval_.passes_on:
        return None
    evidence = rehearse(eval_, eval_.passes_on[0], lay_out=build_workspace, read_back=scan)
    return changes(evidence.before, evidence.after)
