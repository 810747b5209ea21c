"""Evals that were promoted by hand: they are ALWAYS_PASSES, but the history shows that they have not earned it.

Evals that were ALWAYS_PASSES before the first night keep their policy, because nothing could have recorded a promotion.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.core.values.ports import History
from demeanor.define import read_promotions


def unrecorded_promotions(history: History, evals: Iterable[Eval], root: Path) -> tuple[set[str], bool]:
    """The ALWAYS_PASSES evals without a recorded promotion, and whether any promotion is recorded.

    Promotions are recorded in the history, and in a file of the project in `root`.
    """
    demoted = history.last_decisions("demote")
    promoted = {name: str(promotion.get("made", "")) for name, promotion in read_promotions(root).items()}
    for name, decision in history.last_decisions("promote").items():
        promoted[name] = max(decision.made, promoted.get(name, ""))
    standing = {name for name, made in promoted.items() if name not in demoted or made >= demoted[name].made}
    always = {eval_.name for eval_ in evals if eval_.policy is Policy.ALWAYS_PASSES}
    return always - standing, bool(promoted)


def promoted_by_hand(history: History, evals: Iterable[Eval], root: Path) -> dict[str, str]:
    """By name: why the policy of an eval is a promotion by hand. Nothing is, as long as there are no nights."""
    missing, _ = unrecorded_promotions(history, evals, root)
    nights = history.runs(kind="nightly")
    if not nights or not missing:
        return {}
    demoted = history.last_decisions("demote")
    first = nights[-1]
    promoted = {}
    for name in sorted(missing):
        cells = history.eval_history(name, kind="nightly")
        other = next((cell for cell in reversed(cells) if cell.policy is not Policy.ALWAYS_PASSES), None)
        if other is not None:
            promoted[name] = f"it was {other.policy.value} in {other.run}"
        elif name in demoted:
            promoted[name] = f"it was demoted on {demoted[name].made[:10]}"
        elif not cells:
            promoted[name] = "no night has run it yet"
        elif cells[0].started[:10] > first.info.started[:10]:
            promoted[name] = f"it was ALWAYS_PASSES in its first night, {cells[0].run}"
    return promoted


def manual_promotion(name: str, why: str) -> str:
    """The complaint about a promotion by hand, with the remedy."""
    return (
        f"ALWAYS_PASSES without a recorded promotion: {why} → set it to USUALLY_PASSES, then: "
        f"demeanor promote {shlex.quote(name)} --apply (it says what is missing)"
    )
