"""Groups nightly cells by eval, subject and night, and finds what changed from one night to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from demeanor.core.values.fingerprints import without_files
from demeanor.core.values.history import RunCell
from demeanor.core.values.run_diff import Part, RunDiff

RunId: TypeAlias = tuple[str, str]
"""The start and the id of a run; sorts by time."""

ByRun: TypeAlias = Mapping[str, tuple[RunCell, ...]]
"""Run id → its cells of one eval and subject; nearly always one."""


def nights_of(cells: Iterable[RunCell]) -> list[RunId]:
    """The nightly runs of these cells, oldest first."""
    return sorted({(cell.started, cell.run) for cell in cells if cell.kind == "nightly"})


def by_eval(cells: Iterable[RunCell]) -> dict[str, dict[str, ByRun]]:
    """Nightly cells: eval → subject → night → cells."""
    by_name: dict[str, dict[str, dict[str, tuple[RunCell, ...]]]] = {}
    for cell in cells:
        if cell.kind == "nightly":
            runs = by_name.setdefault(cell.eval, {}).setdefault(cell.subject, {})
            earlier = runs.get(cell.run)
            runs[cell.run] = (cell,) if earlier is None else (*earlier, cell)
    return {name: dict(subjects) for name, subjects in by_name.items()}


def count(cells: Iterable[RunCell]) -> tuple[int, int]:
    """The sums of passed and failed."""
    passed = failed = 0
    for cell in cells:
        passed += cell.passed
        failed += cell.failed
    return passed, failed


def fingerprints(cells: Iterable[RunCell]) -> tuple[str, ...]:
    """The fingerprints of judged cells in order of appearance; a cell with several has them as `a + b`."""
    versions = (cell.fingerprint.split(" + ") for cell in cells if cell.fingerprint and cell.judged)
    return tuple(dict.fromkeys(version for several in versions for version in several))


def since_new_model(cells: Sequence[RunCell]) -> tuple[RunCell, ...]:
    """Of the cells of one eval and subject, oldest first: those of the model that answered last."""
    model = next((cell.model_hash for cell in reversed(cells) if cell.judged and cell.model_hash), "")
    first = max((i + 1 for i, cell in enumerate(cells) if cell.model_hash not in {"", model}), default=0)
    return tuple(cells[first:])


def changes(cells: Sequence[RunCell]) -> Iterator[RunDiff]:
    """What changed between consecutive cells of one eval and subject, oldest first; unknown values do not differ."""
    for before, after in pairwise(cells):
        if _same(before, after):
            continue
        parts: list[tuple[Part, str, str]] = [
            ("eval", before.eval_hash, after.eval_hash),
            ("policy", before.policy.value, after.policy.value),
            ("agent", before.agent_version or "", after.agent_version or ""),
            ("prompt", before.prompt_hash or "", after.prompt_hash or ""),
            ("model", before.model_hash, after.model_hash),
        ]
        differing = [(part, x, y) for part, x, y in parts if x and y and x != y]
        explained = any(part in {"agent", "prompt", "model"} for part, _, _ in differing)
        x, y = before.fingerprint, after.fingerprint
        if x and y and x != y and not explained:
            differing.append(("files" if without_files(x) == without_files(y) else "subject", x, y))
        for part, x, y in differing:
            yield RunDiff(run=after.run, started=after.started, part=part, subject=after.subject, before=x, after=y)


def _same(before: RunCell, after: RunCell) -> bool:
    """Whether nothing differs: a fast check for the most common case."""
    return (
        before.fingerprint == after.fingerprint
        and before.eval_hash == after.eval_hash
        and before.policy is after.policy
        and before.model_hash == after.model_hash
        and before.prompt_hash == after.prompt_hash
        and before.agent_version == after.agent_version
    )
