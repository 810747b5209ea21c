"""An upstream that answers from cassettes: it opens no socket to a provider and costs nothing."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from demeanor.core.text.codec import decode, encode
from demeanor.core.values.errors import CassetteError, CassetteUnmatched
from demeanor.core.values.exchange import ProviderError, Response
from demeanor.gateway.cassette.match import ReplayQueue
from demeanor.gateway.cassette.normalise import Normaliser
from demeanor.gateway.cassette.placeholders import Placeholders
from demeanor.gateway.cassette.recording import scenario_fingerprint, scenario_text
from demeanor.gateway.dialects.stream_events import Finished, Interrupted, deltas_of
from demeanor.gateway.models.prices import FREE
from demeanor.gateway.models.upstream import ErrorReply, FullReply, StreamReply, TokenCountReply, estimated_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from demeanor.core.values.exchange import Exchange
    from demeanor.core.values.trial import Trial
    from demeanor.gateway.cassette.cassette import Cassette
    from demeanor.gateway.cassette.folder import CassetteFolder
    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.prices import Price
    from demeanor.gateway.models.upstream import ModelCall, Reply

_SECRET_MARK = re.compile(r"‹redacted:[^›\n]+›|\{\{demeanor:secret\}\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedCassette:
    """A cassette that an attempt is replayed from."""

    path: Path
    """Its file."""

    queue: ReplayQueue
    """Its exchanges."""

    placeholders: Placeholders
    """The placeholders with the values of this attempt."""

    notes: tuple[str, ...] = ()
    """Notes for the user about this cassette."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplayModel:
    """An upstream that answers for every model with what was recorded for the same trial."""

    folder: CassetteFolder
    """Where the cassettes are."""

    trials: Mapping[str, Trial]
    """The trials of the run, by id."""

    normaliser: Normaliser = field(default_factory=Normaliser)
    """How requests are compared."""

    secrets: Sequence[str] = ()
    """Texts that no cassette contains; they are hidden from a request before it is looked up."""

    price: Price | None = FREE
    """Replay costs nothing."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The source of the responses."""
        return (f"replayed from {self.folder.folder}: no model was asked, nothing was spent",)

    @asynccontextmanager
    async def answer(self, call: ModelCall) -> AsyncIterator[Reply]:
        """The recorded reply. A request without one is refused with an error that clients do not retry."""
        if call.route.operation == "count_tokens":
            yield TokenCountReply(tokens=estimated_tokens(len(call.body)))
            return
        try:
            cassette = await self._cassette(call)
            exchange = self._find(call, cassette)
        except CassetteError as error:
            yield ErrorReply(error=ProviderError(status=400, reason="cassette", message=error.detail))
            return
        yield recorded_reply(exchange, cassette.placeholders, stream=call.request.stream, notes=cassette.notes)

    async def close(self) -> None:
        """Nothing to release."""

    async def _cassette(self, call: ModelCall) -> LoadedCassette:
        """The attempt's cassette; it is read once, on first use, also with concurrent requests."""
        loading = call.memory.get(self)
        if loading is None:
            loading = call.memory[self] = asyncio.ensure_future(asyncio.to_thread(self._load, call))
        loaded: LoadedCassette = await asyncio.shield(loading)
        return loaded

    def _load(self, call: ModelCall) -> LoadedCassette:
        trial = self.trials[call.trial]
        path, stored = self.folder.read(trial.eval.name, str(trial.subject), trial.number)
        scenario = scenario_text(trial.eval.scenario)
        requests = [self.normaliser.normalise(encode(exchange.request)) for exchange in stored.exchanges]
        return LoadedCassette(
            path=path,
            queue=ReplayQueue(stored.exchanges, requests),
            placeholders=Placeholders(call.facts, self.secrets, scenario),
            notes=_task_notes(trial, path, stored),
        )

    def _find(self, call: ModelCall, cassette: LoadedCassette) -> Exchange:
        request = self.normaliser.normalise(cassette.placeholders.hide_request(encode(call.request)))
        exchange = cassette.queue.take(request)
        if exchange is not None:
            return exchange
        nearest = cassette.queue.nearest(request)
        message = f"{cassette.path}: none of its exchanges ({len(cassette.queue)}) matches this request"
        if nearest is not None:
            recorded, diff = nearest
            message += (
                f"\n  the nearest is exchange {recorded.number}; the first difference is at {diff.path}"
                f"\n    recorded: {diff.recorded}\n    asked:    {diff.asked}"
            )
        raise CassetteUnmatched(f"{message}\n  → if the change is intended, record again: demeanor run --record")


def _task_notes(trial: Trial, path: Path, stored: Cassette) -> tuple[str, ...]:
    """A note if a whole task has changed since it was recorded: its requests may be the same all the same, although the
    agent works on other files, or is judged by another verifier.
    """
    task = trial.eval.task
    if task is None or scenario_fingerprint(trial.eval.scenario, task) == stored.scenario:
        return ()
    return (f"{path}: the task has changed since it was recorded on {stored.recorded}; record it again: --record",)


def recorded_reply(
    exchange: Exchange, placeholders: Placeholders, *, stream: bool, notes: tuple[str, ...] = ()
) -> Reply:
    """A recorded response, error or both, with this attempt's values."""
    response, error = exchange.response, exchange.error
    if response is not None:
        response = decode(Response, placeholders.restore(encode(response)))
    if response is not None and error is not None and stream:
        return StreamReply(deltas=_broken_off(response, error))
    if response is not None and error is None:
        return FullReply(response=response, notes=(*notes, *_mark_notes(response)))
    return ErrorReply(error=error or ProviderError(status=None, reason="cut", message="no answer was recorded"))


def _mark_notes(response: Response) -> tuple[str, ...]:
    """A note if a secret was removed from a recorded answer. It is not restored: a mark in an edited cassette could ask
    for any of the project's secrets."""
    marks = dict.fromkeys(_SECRET_MARK.findall(json.dumps(encode(response), ensure_ascii=False)))
    if not marks:
        return ()
    return (f"a recorded answer has {', '.join(marks)} in place of a secret, and the agent got it so",)


async def _broken_off(response: Response, error: ProviderError) -> AsyncIterator[Delta]:
    for delta in deltas_of(response):
        if not isinstance(delta, Finished):
            yield delta
    yield Interrupted(error=error)
