"""The classic rules in their simplest form: a reference for tests."""

from __future__ import annotations

from collections.abc import Sequence

from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy


def may_be_promoted(cells: Sequence[RunCell], subjects: Sequence[str]) -> bool:
    """At least 10 complete nights, and 100 % on all subjects in the last 7, of the eval as it is now."""
    nightly = [cell for cell in cells if cell.kind == "nightly"]
    runs = sorted({(cell.started, cell.run) for cell in nightly})
    if len(runs) < 7 or not subjects:
        return False

    by_place: dict[tuple[tuple[str, str], str], list[RunCell]] = {}
    for cell in nightly:
        by_place.setdefault(((cell.started, cell.run), cell.subject), []).append(cell)

    def of(run: tuple[str, str], subject: str) -> list[RunCell]:
        return by_place.get((run, subject), [])

    def doubtful(run: tuple[str, str], subject: str) -> bool:
        found = of(run, subject)
        return sum(cell.failed for cell in found) == 0 and sum(cell.voided for cell in found) > 0

    # The last 7 nights: every subject judged, every trial passed: a void may have been a failure.
    for run in runs[-7:]:
        for subject in subjects:
            found = of(run, subject)
            if sum(cell.passed for cell in found) == 0 or sum(cell.failed + cell.voided for cell in found) > 0:
                return False
    # Nights that count: those since the last change of the eval or its policy.
    current = ""
    counted: list[tuple[str, str]] = []
    for run in reversed(runs):
        cells_of_night = [cell for subject in subjects for cell in of(run, subject)]
        hashes = {cell.eval_hash for cell in cells_of_night} - {""}
        current = current or (sorted(hashes)[0] if len(hashes) == 1 else "")
        if hashes - {current} or any(cell.policy != Policy.USUALLY_PASSES for cell in cells_of_night):
            break
        counted.append(run)
    if len(counted) < 7:
        return False
    complete = [
        run
        for run in counted
        if all(sum(cell.judged for cell in of(run, one)) and not doubtful(run, one) for one in subjects)
    ]
    return len(complete) >= 10


def passes_the_gate(outcomes: Sequence[bool]) -> bool:
    """Three trials, at least 66 %."""
    return sum(outcomes[:3]) / 3 >= 0.66


def must_be_demoted(cells: Sequence[RunCell], subjects: Sequence[str]) -> bool:
    """A failure on any subject within the last 7 nights, with the policy ALWAYS_PASSES."""
    nightly = [cell for cell in cells if cell.kind == "nightly"]
    runs = sorted({(cell.started, cell.run) for cell in nightly})
    current = ""
    for run in reversed(runs[-7:]):
        found = [cell for cell in nightly if (cell.started, cell.run) == run and cell.subject in subjects]
        hashes = {cell.eval_hash for cell in found} - {""}
        current = current or (sorted(hashes)[0] if len(hashes) == 1 else "")
        if hashes - {current} or any(cell.policy != Policy.ALWAYS_PASSES for cell in found):
            return False
        if any(cell.failed for cell in found):
            return True
    return False
