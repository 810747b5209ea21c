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
    longest = max((len(eval_.name) for eval_ in evals), default=0)
    stacked = width - longest - 4 < _MIN_COLUMN
    names = 0 if stacked else longest
    for policy in Policy:
        group = [eval_ for eval_ in evals if eval_.policy is policy]
        if not group:
            continue
        lines.append(f"{policy} ({len(group)})")
        for eval_ in group:
            about = eval_.description or eval_.scenario.prompts[0]
            place = f"{_place(eval_, root)}{_labels(eval_)}"
            lines += _wrapped(eval_.name, width, by=2) if stacked else []
            first = "" if stacked else eval_.name
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
            "name": eval_.name,
            "policy": eval_.policy.value,
            "description": eval_.description,
            "source": _place(eval_, root),
            "prompts": list(eval_.scenario.prompts),
            "checks": len(eval_.checks),
            "trials": eval_.trials,
            "subjects": list(eval_.subjects),
            "suite": eval_.suite,
            "tags": list(eval_.tags),
            "owner": eval_.owner,
            "issue": eval_.issue,
            "task": _task(eval_.task),
        }
        for eval_ in evals
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


def _place(eval_: Eval, root: Path) -> str:
    path = eval_.source.path
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    return f"{shown.as_posix()}:{eval_.source.line}" if path.suffix == ".py" else shown.as_posix()


def _labels(eval_: Eval) -> str:
    labels = [
        *([f"{eval_.task.engine} task {eval_.task.version or ''}".rstrip()] if eval_.task else []),
        *([f"suite {eval_.suite}"] if eval_.suite else []),
        *([f"tags {', '.join(eval_.tags)}"] if eval_.tags else []),
        *([f"owner {eval_.owner}"] if eval_.owner else []),
    ]
    return f"  ({'; '.join(labels)})" if labels else ""
