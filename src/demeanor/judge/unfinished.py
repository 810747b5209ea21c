"""A trial that broke off: what it would have ended with is unknown, and only what was called is certain."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from demeanor.core.values.evidence import Evidence
from demeanor.judge.unknowable import unknowable


def unfinished(evidence: Evidence, why: str) -> Evidence:
    """The evidence as that of a trial in which more could have followed."""
    seen = evidence.trajectory
    seen = replace(seen, gaps=(*seen.gaps, why), requests_told=False, servers=())
    return replace(evidence, trouble=None, trajectory=seen, rewards=None, step_rewards={}, unfinished=why)


class UnfinishedText:
    """In place of the final text of such a trial: whatever a check asks of it is unknown."""

    def __init__(self, why: str) -> None:
        self._why = why

    def _unknown(self, *_: object) -> NoReturn:
        raise unknowable("what the agent says at the end", (self._why,))

    __getattr__ = __getitem__ = __contains__ = __iter__ = __len__ = __bool__ = __str__ = __repr__ = _unknown
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __hash__ = _unknown
