"""Builds a session from an agent's own file, prompt by prompt."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from demeanor.agents.log_builder import LogBuilder
from demeanor.agents.recipe import Recipe
from demeanor.core.values.session import PastSession, Round, SeenFile

_REMARK = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)(?:\s[^>]*)?>.*</\1>", re.S)
"""A text that is nothing but a tagged remark of the agent itself: `<environment_context>…`, `<system-reminder>…`."""


@dataclass(kw_only=True)
class _OpenRound:
    """A round that is being read."""

    prompt: str
    log: LogBuilder
    answered: bool = True
    seen: list[SeenFile] = field(default_factory=list)
    interrupted: bool = False
    snapshot: str = ""


class SessionBuilder:
    """Collects the rounds of a session in the order of its file."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._rounds: list[_OpenRound] = []
        self._before = self._open_round("")
        self.gaps: dict[str, None] = {}
        """What the file does not contain, in order."""

    @property
    def rounds(self) -> int:
        """The number of prompts so far."""
        return len(self._rounds)

    @property
    def log(self) -> LogBuilder:
        """The events of the current round."""
        return self._current.log

    @property
    def _current(self) -> _OpenRound:
        return self._rounds[-1] if self._rounds else self._before

    def add_prompt(self, text: str, *, snapshot: str = "") -> None:
        """Begin a round; a text that is only a remark of the agent itself is not a prompt."""
        if text.strip() and not _REMARK.fullmatch(text.strip()):
            self._rounds.append(self._open_round(text.strip(), snapshot))

    def _open_round(self, prompt: str, snapshot: str = "") -> _OpenRound:
        log = LogBuilder(self._recipe.tool_kinds, shells=self._recipe.shells)
        return _OpenRound(prompt=prompt, log=log, snapshot=snapshot)

    def answer(self, *, by_model: bool) -> None:
        """A message follows: consecutive ones of the model are one turn."""
        if by_model and self._current.answered:
            self.log.next_turn()
        self._current.answered = not by_model

    def saw(self, call: str, path: str, text: str | None) -> None:
        """The whole content of a file when `call` was made; None if it did not exist."""
        if path:
            self._current.seen.append(SeenFile(call=call, path=path, text=text))

    def interrupt(self) -> None:
        """The user interrupted the agent."""
        self._current.interrupted = True

    def session(self, **facts: Any) -> PastSession:
        """The session; `facts` are its other fields."""
        if self._before.log.events():
            self.gaps["the agent did something before the first prompt of the file, which is left out"] = None
        rounds = tuple(
            Round(
                prompt=round_.prompt,
                events=round_.log.events(),
                seen=tuple(round_.seen),
                interrupted=round_.interrupted,
                snapshot=round_.snapshot,
            )
            for round_ in self._rounds
        )
        return PastSession(agent=self._recipe.name, rounds=rounds, gaps=tuple(self.gaps), **facts)
