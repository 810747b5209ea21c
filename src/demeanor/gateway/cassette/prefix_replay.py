"""Answers the requests of an attempt from a prefix until the agent has reached the cut; see core/values/prefix.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from demeanor.core.text.codec import encode
from demeanor.core.values.errors import CassetteError
from demeanor.core.values.exchange import ProviderError
from demeanor.core.values.intervention import intervene
from demeanor.core.values.prefix import REACHED
from demeanor.gateway.cassette.match import ReplayQueue, request_key
from demeanor.gateway.cassette.normalise import Normaliser
from demeanor.gateway.cassette.placeholders import RedactedPlaceholders
from demeanor.gateway.cassette.replay import recorded_reply
from demeanor.gateway.models.upstream import ErrorReply

if TYPE_CHECKING:
    from demeanor.core.redaction.redactor import Redactor
    from demeanor.core.values.exchange import Exchange, Request
    from demeanor.core.values.prefix import Prefix
    from demeanor.core.values.trial import Trial
    from demeanor.gateway.cassette.normalise import NormalisedRequest
    from demeanor.gateway.models.upstream import ModelCall, Reply


@dataclass(frozen=True, kw_only=True)
class PrefixComparison:
    """How the requests of agents are compared with prefixes; the same for all attempts of a run."""

    redactor: Redactor
    """Removes the secrets that were removed from the recording."""

    normaliser: Normaliser = field(default_factory=Normaliser)
    """Removes everything that differs between two runs of the same agent."""

    known: list[tuple[tuple[Exchange, ...], tuple[NormalisedRequest, ...]]] = field(default_factory=list)
    """The exchanges of prefixes and their normalised requests; prefixes of one trial share them."""

    def replay(self, trial: Trial) -> PrefixReplay | None:
        """The replay of the prefix that the trial starts from; None if it starts from the beginning."""
        prefix = trial.eval.scenario.start
        return None if prefix is None else PrefixReplay(prefix, self)

    def requests(self, prefix: Prefix) -> tuple[NormalisedRequest, ...]:
        """The normalised requests of a prefix, calculated once."""
        for exchanges, requests in self.known:
            if exchanges is prefix.exchanges:
                return requests
        normalised = tuple(self.normaliser.normalise(encode(exchange.request)) for exchange in prefix.exchanges)
        self.known.append((prefix.exchanges, normalised))
        return normalised


class PrefixReplay:
    """The replay of a prefix to one attempt.

    A request is compared with all recorded ones, because agents send some of them concurrently. Each recorded answer is
    given once; until the cut is reached, it is repeated for an agent that asks again.
    """

    def __init__(self, prefix: Prefix, comparison: PrefixComparison) -> None:
        self.prefix = prefix
        self._comparison = comparison
        self._requests = comparison.requests(prefix)
        self._remaining: dict[str, list[Exchange]] = {}
        for exchange, request in zip(prefix.exchanges, self._requests, strict=True):
            self._remaining.setdefault(request_key(request), []).append(exchange)
        self._answered: dict[str, Exchange] = {}
        self._reached = False
        self._divergence = ""
        self._placeholders: RedactedPlaceholders | None = None

    def answer(self, call: ModelCall) -> Reply | None:
        """The recorded answer; an error if the request differs from the recording; None if a model is to be asked."""
        if self._divergence:
            return _refused(self._divergence)
        try:
            request, placeholders = self._normalised(call.request, call.facts)
        except CassetteError as error:
            return _refused(error.detail)
        key = self._nearest_key() if self.prefix.lenient and not self._is_next(request) else request_key(request)
        exchange = self._find(key)
        if exchange is not None:
            return recorded_reply(exchange, placeholders, stream=call.request.stream)
        if self._reached and self.prefix.ends:
            return _refused(REACHED)
        if self._reached or request_key(request) in self._remaining:
            return None
        self._divergence = self._describe_divergence(request)
        return _refused(self._divergence)

    def _find(self, key: str) -> Exchange | None:
        """The exchange whose recorded answer is given; None if there is none, or a model is to be asked."""
        waiting = self._remaining.get(key, [])
        if not waiting:
            return self._answered.get(key)
        exchange = waiting.pop(0)
        if exchange.number == self.prefix.cut:
            self._reached = True
            self._answered.clear()
            if self.prefix.instead is None:
                return None
            exchange = replace(exchange, response=self.prefix.instead, error=None, fault=None)
        elif exchange.number > self.prefix.cut:
            return None
        if not self._reached or exchange.number == self.prefix.cut:
            self._answered[key] = exchange
        return exchange

    def _is_next(self, request: NormalisedRequest) -> bool:
        """Whether a recorded answer waits for this request."""
        return bool(self._remaining.get(request_key(request)))

    def _nearest_key(self) -> str:
        """The key of the first recorded request whose answer was not given yet; empty if there is none."""
        waiting = ((own[0].number, key) for key, own in self._remaining.items() if own)
        return min(waiting, default=(0, ""))[1]

    def _normalised(self, request: Request, facts: Mapping[str, str]) -> tuple[NormalisedRequest, RedactedPlaceholders]:
        """The request as it is compared, and the placeholders with the values of this attempt."""
        if self._placeholders is None:
            self._placeholders = RedactedPlaceholders(facts, self._comparison.redactor)
        request, _ = intervene(request, self.prefix.intervention, facts)
        hidden = self._placeholders.hide_request(encode(request))
        return self._comparison.normaliser.normalise(hidden), self._placeholders

    def _describe_divergence(self, request: NormalisedRequest) -> str:
        before = [index for index, exchange in enumerate(self.prefix.exchanges) if exchange.number <= self.prefix.cut]
        queue = ReplayQueue([self.prefix.exchanges[i] for i in before], [self._requests[i] for i in before])
        message = f"the agent's request differs from the recording before step {self.prefix.step}"
        nearest = queue.nearest(request)
        if nearest is None:
            return message
        recorded, diff = nearest
        return (
            f"{message}: the nearest is exchange {recorded.number}; the first difference is at {diff.path}"
            f"\n    recorded: {diff.recorded}\n    asked:    {diff.asked}"
        )


def _refused(message: str) -> ErrorReply:
    """An error that clients do not retry."""
    return ErrorReply(error=ProviderError(status=400, reason="prefix", message=message))
