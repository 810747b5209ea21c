"""Proofs without and with a change → cells that tell both."""

from __future__ import annotations

from collections.abc import Sequence

from demeanor.commands.compare.rules import p_drop
from demeanor.commands.fix.report import FixCell, score_of
from demeanor.commands.fix.verify import Verification
from demeanor.core.tally import Decision, Tally
from demeanor.core.verdict import Void

_CHANCE = 0.05
"""A rise that is at least this likely by chance is told to be doubtful."""


def fix_cells(before: Verification | None, after: Verification | None = None) -> tuple[FixCell, ...]:
    """One per eval and subject, in the order in which they were tried; what was skipped is left out."""
    old, new = (_by_cell(proof) for proof in (before, after))
    return tuple(_cell(old.get(key), new.get(key)) for key in (new or old))


def why_not(proof: Verification) -> str:
    """What keeps a proof from being one, cell by cell."""
    told = [
        f"{tally.eval} on {tally.subject}: {decision.reason}"
        for tally, decision in proof.found
        if decision.answer in {"reject", "undecided"}
    ]
    voids = dict.fromkeys(one.verdict.reason for one in proof.records if isinstance(one.verdict, Void) and one.final)
    return "; ".join([*told, *voids, *([proof.stopped] if proof.stopped else [])]) or "nothing could be tried"


def doubts(cells: Sequence[FixCell]) -> list[str]:
    """Where something was rejected and is accepted now, and yet so few trials might show that by chance."""
    return [
        f"{cell.eval} on {cell.subject}: chance alone could well explain the rise (p = {cell.p_value:.2g}); "
        "more trials would tell"
        for cell in cells
        if cell.before is not None
        and cell.before.answer == "reject"
        and cell.p_value is not None
        and cell.p_value > _CHANCE
    ]


def _by_cell(proof: Verification | None) -> dict[tuple[str, str], tuple[Tally, Decision]]:
    found = proof.found if proof else ()
    return {(tally.eval, tally.subject): (tally, said) for tally, said in found if said.answer != "skipped"}


def _cell(before: tuple[Tally, Decision] | None, after: tuple[Tally, Decision] | None) -> FixCell:
    (tally, _) = next(pair for pair in (after, before) if pair is not None)
    counts = [(pair[0].passed, pair[0].judged) for pair in (after, before) if pair is not None and pair[0].judged]
    return FixCell(
        eval=tally.eval,
        subject=tally.subject,
        policy=tally.policy,
        before=score_of(*before) if before else None,
        after=score_of(*after) if after else None,
        p_value=p_drop(counts[0], counts[1]) if len(counts) == 2 else None,
    )
