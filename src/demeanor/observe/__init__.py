"""Capture → Evidence: combines the exchanges, the agent's own log and the workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.observe.atif import atif_events as atif_events, atif_steps as atif_steps
    from demeanor.observe.conversations import Conversations as Conversations, first_request as first_request
    from demeanor.observe.from_exchanges import answers as answers, events_of as events_of, main_answers as main_answers
    from demeanor.observe.observation import observe as observe, separate as separate

__getattr__ = lazy_names(
    __name__,
    {
        "atif": "atif_events atif_steps",
        "conversations": "Conversations first_request",
        "from_exchanges": "answers events_of main_answers",
        "observation": "observe separate",
    },
)
