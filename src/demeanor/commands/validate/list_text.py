"""A list of evals as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demeanor.core.text.wording import count, one_line
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.core.values.whole_task import WholeTask
from demeanor.render import fitted

_MIN_COLUMN = 36
"""The narrowest column of descriptions."""


def listing_text(evals: Sequence[Eval], *, root: Path, width: int) -> str:
    """Return the evals grouped by policy, each with its name, description and source.

    Where the window is too narrow for two columns, the description and the source stand below the name.
    """
    lines = []
    longest = max((len(one.name) for one in evals), default=0)
    stacked = width - longest - 4 < _MIN_COLUMN
    names = 0 if stacked else longest
    for policy in Policy:
        group = [one for one in evals if one.policy is policy]
        if not group:
            continue
        lines.append(f"{policy} ({len(group)})")
        for one in group:
            about = one.description or one.scenario.prompts[0]
            place = f"{_place(one, root)}{_labels(one)}"
            lines += _wrapped(one.name, width, by=2) if stacked else []
            first = "" if stacked else one.name
            lines.append(f"  {first:<{names}}  {one_line(about, width=width - names - 4)}")
            lines += _wrapped(place, width, by=names + 4)
        lines.append("")
    return "\n".join([*lines, count(len(evals), "eval")])


def _wrapped(text: str, width: int, *, by: int) -> list[str]:
    """Lines of at most `width` characters, indented `by`."""
    return fitted(" " * by + text, width).splitlines()


def listing_json(evals: Sequence[Eval], *, root: Path) -> list[dict[str, Any]]:
    """Return the evals as JSON values."""
    return [
        {
            "name": one.name,
            "policy": one.policy.value,
            "description": one.description,
            "source": _place(one, root),
            "prompts": list(one.scenario.prompts),
            "checks": len(one.checks),
            "trials": one.trials,
            "subjects": list(one.subjects),
            "suite": one.suite,
            "tags": list(one.tags),
            "owner": one.owner,
            "issue": one.issue,
            "task": _task(one.task),
        }
        for one in evals
    ]


def _task(task: WholeTask | None) -> dict[str, Any] | None:
    """Return the facts of a whole task; None for other evals."""
    if task is None:
        return None
    return {
        "name": task.name,
        "version": task.version,
        "digest": task.digest,
        "steps": list(task.step_names),
        "warnings": list(task.warnings),
    }


def _place(one: Eval, root: Path) -> str:
    path = one.source.path
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    return f"{shown.as_posix()}:{one.source.line}" if path.suffix == ".py" else shown.as_posix()


def _labels(one: Eval) -> str:
    labels = [
        *([f"{one.task.engine} task {one.task.version or ''}".rstrip()] if one.task else []),
        *([f"suite {one.suite}"] if one.suite else []),
        *([f"tags {', '.join(one.tags)}"] if one.tags else []),
        *([f"owner {one.owner}"] if one.owner else []),
    ]
    return f"  ({'; '.join(labels)})" if labels else ""
