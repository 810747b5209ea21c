"""Try a change on the wire: the gateway makes it in every request, so nothing has to be edited or built.

This costs a few trials of the evals that fail. It can only show that a change does not help: one that does is built and
verified afterwards, as if it had not been tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from demeanor.commands.fix.report import WireTrial
from demeanor.commands.fix.verify import Verification, compare_cells, failing_cells
from demeanor.commands.fix.wire_change import NotOnTheWire, wire_change
from demeanor.core.text.instructions import PromptInstruction, instructions
from demeanor.core.text.wording import count
from demeanor.core.trees.tree import Change, Tree
from demeanor.core.values.errors import StoreError
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.record import Record
from demeanor.observe import first_request
from demeanor.store import RunFolder, read_capture


@dataclass(frozen=True, kw_only=True, slots=True)
class WireCandidate:
    """A change as an intervention, for evals and a subject that send the same text."""

    evals: tuple[str, ...]
    """The names of the evals."""

    subject: str
    """The subject, as `agent:model`."""

    intervention: Intervention
    """The change in their requests."""


def try_on_wire(
    changes: Sequence[Change],
    before: Verification,
    folder: RunFolder,
    run: Callable[[int, WireCandidate], Verification],
) -> WireTrial:
    """Try a change with the evals that fail in `before`, whose run is in `folder`. `run` gets the candidate and its
    number."""
    try:
        candidates = wire_candidates(changes, before, folder)
    except NotOnTheWire as reason:
        return WireTrial(detail=f"not tried: {reason}")
    tried = [run(number, candidate) for number, candidate in enumerate(candidates, 1)]
    after = Verification(
        found=tuple(outcome for part in tried for outcome in part.found),
        records=tuple(record for part in tried for record in part.records),
        stopped=None,
        notes=(),
    )
    failed = [tally for tally, _ in after.found if tally.judged and not (tally.passed or tally.voided or tally.missing)]
    ids = sorted({id_ for candidate in candidates for id_ in candidate.intervention.ids})
    changed = f"{count(len(ids), 'instruction')} changed"
    if failed:
        names = ", ".join(f"{tally.eval} on {tally.subject}: 0 of {tally.judged} passed" for tally in failed)
        detail = f"{changed}: {names}, so the change was not built"
    elif all(tally.passed for tally, _ in after.found):
        detail = f"{changed}: it helps"
    else:
        detail = f"{changed}: too few trials could be judged"
    cells = compare_cells(before, after)
    return WireTrial(detail=detail, instructions=tuple(ids), cells=cells, dropped=bool(failed))


def wire_candidates(changes: Sequence[Change], before: Verification, folder: RunFolder) -> tuple[WireCandidate, ...]:
    """The change as interventions, one for each subject and text; raises NotOnTheWire if some eval does not send it."""
    candidates: dict[tuple[str, frozenset[str]], tuple[Intervention, list[str]]] = {}
    for name, subject, sent in _failing(before, folder):
        intervention = wire_change(changes, sent)
        _, evals = candidates.setdefault((subject, intervention.ids), (intervention, []))
        evals.append(name)
    return tuple(
        WireCandidate(evals=tuple(evals), subject=subject, intervention=intervention)
        for (subject, _), (intervention, evals) in candidates.items()
    )


def _failing(before: Verification, folder: RunFolder) -> Iterator[tuple[str, str, Sequence[PromptInstruction]]]:
    """Each failing eval and subject with the instructions that were sent."""
    for name, subject in failing_cells(before):
        own = [record for record in before.records if (record.eval, record.subject) == (name, subject)]
        yield name, subject, _sent(own, folder)


def _sent(records: Sequence[Record], folder: RunFolder) -> Sequence[PromptInstruction]:
    for record in records:
        try:
            capture = read_capture(record, Tree(), run=folder)
        except StoreError:
            continue
        if request := first_request(capture.exchanges):
            return instructions(request, capture.facts)
    raise NotOnTheWire("the gateway saw no request of the agent")
