"""The session of one trial: its URL, its token and its recorded exchanges."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from demeanor.core.redaction.encodings import forms
from demeanor.core.redaction.key_patterns import TOKEN_PREFIX
from demeanor.core.text.wording import count, one_line, shortened
from demeanor.core.values.canary import SENT
from demeanor.core.values.exchange import Exchange, ProviderError
from demeanor.core.values.intervention import TOOL, Intervention, intervene
from demeanor.core.values.messages import Text, ToolCall
from demeanor.core.values.usage import AT_INPUT_PRICE
from demeanor.gateway.models.prices import missing_rates
from demeanor.gateway.models.upstream import UpstreamInterrupted, estimated_tokens
from demeanor.gateway.server.budget import amount, tokens_of
from demeanor.gateway.server.exchange_recorder import ExchangeRecorder
from demeanor.gateway.server.shared_parts import SharedParts, part_size

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from demeanor.core.values.exchange import Request
    from demeanor.core.values.fault import Fault, Role
    from demeanor.core.values.gateway_limits import GatewayLimits
    from demeanor.core.values.trial import Trial
    from demeanor.core.values.user import AskedUser
    from demeanor.gateway.cassette.prefix_replay import PrefixReplay
    from demeanor.gateway.server.budget import BudgetAccount, Charge
    from demeanor.gateway.server.metrics import MetricsCollector
    from demeanor.gateway.server.request_body import LargeBodies

_STEP = 200
"""Characters of a step that is shown while its trial runs."""

ServeSession: TypeAlias = "Callable[[socket.socket, Session], Awaitable[None]]"
"""Serves one session on its own socket; `GatewayServer.listen` is one."""


_LONGEST_NOTE = 1000
"""Characters of a note."""


class Session:
    """The gateway's side of one attempt at one trial; see `GatewaySession` in core/values/ports.py."""

    def __init__(
        self,
        trial: Trial,
        *,
        seed: int,
        address: str,
        account: BudgetAccount,
        metrics: MetricsCollector,
        serve: ServeSession,
        bodies: LargeBodies,
        limits: GatewayLimits,
        role: Role = "agent",
        prefix: PrefixReplay | None = None,
    ) -> None:
        """`role` says whose requests these are: only the faults for that role apply. `prefix` answers until the agent
        has reached the step at which its trial starts."""
        self.id = secrets.token_hex(8)
        self.trial = trial
        self.seed = seed
        self.role = role
        self.address = address
        self.account = account
        self.closing = AsyncExitStack()
        self.facts: dict[str, str] = {}
        self.memory: dict[object, Any] = {}
        self.closed = False
        self._closing = False
        self.user: AskedUser | None = None
        self.asked = 0
        """Bytes that the user was asked."""
        self.bodies = bodies
        self.limits = limits
        self.prefix = prefix
        self.malformed = 0
        self.connections_refused = 0
        self._token = TOKEN_PREFIX + secrets.token_hex(20)
        self._metrics = metrics
        self._serve = serve
        self._began = self._activity = time.monotonic()
        self._entries: list[Exchange | ExchangeRecorder] = []
        self._open: set[ExchangeRecorder] = set()
        self._tasks: set[asyncio.Task[object]] = set()
        self._notes: dict[str, None] = {}
        self._shared = SharedParts()
        self._received = 0
        self._counted = 0
        self._intervention = Intervention.of(trial.subject)
        self.faults = tuple(fault for fault in trial.eval.scenario.faults if fault.role == role and not fault.tool)

    @property
    def base_url(self) -> str:
        """The base URL for the agent, without a version path such as /v1."""
        return f"{self.address}/t/{self.id}"

    @property
    def token(self) -> str:
        """The API key for the agent."""
        return self._token

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user on the model, on misuse, and on faults that were not injected."""
        return (*self._notes, *self._token_counts(), *self._misuse(), *self._faults_not_injected())

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the agent may use: its subject's, and those that its configuration lists as `also`."""
        recorded = (self.prefix.prefix.model,) if self.prefix else ()
        return (*recorded, self.trial.subject.model, *self.trial.subject.settings.get("also", ()))

    def alias(self, model: str) -> str:
        """The subject's model, if the agent was started with the name of the model that its prefix was recorded with;
        otherwise the name as it is."""
        return self.trial.subject.model if self.prefix and model == self.prefix.prefix.model else model

    @property
    def most_connections(self) -> int:
        """How many connections its agent may have open."""
        return self.limits.connections

    def is_over(self) -> bool:
        """Whether no further request is recorded."""
        return len(self._entries) > self.limits.requests

    @property
    def is_full(self) -> bool:
        """Whether the requests have as much different content as is recorded."""
        return self._shared.distinct > self.limits.distinct

    @property
    def flooded(self) -> str | None:
        """Why the provider is not asked again: its responses were too long. None if they were not."""
        if self._received <= self.limits.received:
            return None
        return f"the responses of this trial have more than {self.limits.received} bytes (8 x limits.response)"

    def receiving(self) -> Callable[[int], None]:
        """What is told of the bytes of a response; it raises UpstreamInterrupted once they are too many."""
        size = 0

        def receive(more: int) -> None:
            nonlocal size
            size += more
            self._received += more
            longer = f"the provider sent more than {self.limits.response} bytes in one response (limits.response)"
            if problem := (longer if size > self.limits.response else self.flooded):
                self.note(f"a response was cut off: {problem}")
                raise UpstreamInterrupted(ProviderError(status=502, reason="server", message=problem))

        return receive

    def charge_token_count(self, spent: Charge) -> None:
        """Charge a request that counts tokens, and note it, because it is no exchange."""
        self._counted += 1
        self.account.spend(spent.tokens, spent.usd)

    def search_leak(self, place: str, *texts: str | bytes) -> None:
        """Note it if the trial's canary token is in a part of a request that no exchange shows."""
        if token := self.facts.get("canary"):
            data = b"\n".join(
                text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in texts
            )
            if any(text in data for text in forms(token)):
                self.note(f"{SENT}{place}")

    def set_address(self, address: tuple[str, int]) -> None:
        """Use this address in `base_url`; the session will `listen` on it."""
        self.address = f"http://{address[0]}:{address[1]}"

    async def listen(self, listener: socket.socket) -> None:
        """Serve this session, and no other, on its own socket."""
        await self._serve(listener, self)

    def set_user(self, user: AskedUser) -> None:
        """Let programs in the sandbox ask this user."""
        self.user = user

    async def close_connections(self) -> None:
        """Cancel requests in progress and refuse new ones; the recorded exchanges stay available."""
        self.closed = True
        await self.close()

    def note(self, *texts: str) -> None:
        """Add notes for the user, each text once. A leak is noted however many others there are."""
        for text in texts:
            if len(self._notes) < self.limits.notes or text.startswith(SENT):
                self._notes[shortened(text, _LONGEST_NOTE)] = None

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Set facts about the attempt's environment: `workspace`, `home`, …"""
        self.facts.update(facts)

    def last_activity(self) -> float:
        """The monotonic time of the last byte in either direction."""
        return max([self._activity, *(recorder.activity for recorder in self._open)])

    def waiting(self) -> bool:
        """Whether a provider that has got a request owes a response right now."""
        return any(recorder.awaiting_provider for recorder in self._open)

    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges in order of arrival, including those in progress as far as they got."""
        return tuple(entry.exchange() if isinstance(entry, ExchangeRecorder) else entry for entry in self._entries)

    def last_step(self) -> str:
        """The last call that the model asked for, or the last that it said, in a line; empty before the first."""
        answers = (entry.response for entry in reversed(self._entries) if isinstance(entry, Exchange))
        for part in (part for answer in answers if answer is not None for part in reversed(answer.parts)):
            if isinstance(part, ToolCall):
                return one_line(f"{part.name}({part.raw or json.dumps(part.arguments, default=str)})", width=_STEP)
            if isinstance(part, Text) and part.text.strip():
                return one_line(part.text, width=_STEP)
        return ""

    def fault(self, number: int) -> Fault | None:
        """The fault for exchange `number`, if any; number 0 is not an exchange and has none."""
        rules = self.faults if number else ()
        return next((fault for fault in rules if fault.hits(number, self.seed)), None)

    def intervene(self, request: Request) -> tuple[Request, tuple[str, ...]]:
        """The request after the trial's intervention, and the ids of the instructions that it changed."""
        if not self._intervention:
            return request, ()
        request, changed = intervene(request, self._intervention, self.facts)
        for id_, text in changed.items():
            done = self._intervention.verb(id_)
            what = f"description of {id_.removeprefix(TOOL)}" if id_.startswith(TOOL) else f"instruction {id_}"
            self.note(f"the {what} was {done} in the agent's requests: {one_line(text, width=60)}")
        return request, tuple(changed)

    def touch(self) -> None:
        """Note that bytes moved just now."""
        self._activity = time.monotonic()

    @contextmanager
    def track_request(self) -> Iterator[None]:
        """Track the current task as a request, so that `close` can cancel it."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a request is always handled in a task
        self._tasks.add(task)
        self.touch()
        try:
            yield
        finally:
            self._tasks.discard(task)

    @contextmanager
    def record(self, dialect: str, request: Request, *, started: float, body: bytes) -> Iterator[ExchangeRecorder]:
        """Record one exchange until the end of the block, however the block ends."""
        recorder = ExchangeRecorder(
            number=len(self._entries) + 1,
            dialect=dialect,
            request=self._shared.share(request, body),
            started=started,
            origin=self._began,
            size=len(body),
        )
        self._entries.append(recorder)
        self._open.add(recorder)
        self._metrics.open += 1
        try:
            yield recorder
        finally:
            recorder.end()
            exchange = recorder.exchange()
            self._entries[recorder.number - 1] = exchange
            self._open.discard(recorder)
            self._activity = max(self._activity, recorder.activity)
            self._metrics.open -= 1
            self._metrics.add(exchange)
            self._charge(exchange, recorder)

    async def close(self) -> None:
        """Cancel requests in progress and stop listening on the session's own sockets."""
        self._closing = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.closing.aclose()

    def _faults_not_injected(self) -> Iterator[str]:
        """Notes on faults that had no matching exchange, or whose responses had nothing to break."""
        injected = {entry.fault for entry in self._entries}
        for fault in self.faults:
            if fault.first is not None and str(fault) not in injected:
                seen = count(len(self._entries), "exchange")
                yield f"the fault {fault} was not injected: {seen}, and none that it could break"

    def _token_counts(self) -> Iterator[str]:
        """A note on the requests that no exchange shows."""
        if self._counted:
            yield f"the agent had the tokens of {count(self._counted, 'request')} counted, which are in no exchange"

    def _misuse(self) -> Iterator[str]:
        """Notes on connections and requests that could not be served."""
        if self.malformed:
            yield f"{count(self.malformed, 'request')} {'were' if self.malformed != 1 else 'was'} not valid HTTP"
        if self.connections_refused:
            refused = count(self.connections_refused, "connection")
            yield (
                f"{refused} {'were' if self.connections_refused != 1 else 'was'} refused: "
                f"the agent had {self.limits.connections} open at once (limits.connections)"
            )

    def _charge(self, exchange: Exchange, recorder: ExchangeRecorder) -> None:
        """Charge an exchange to the budget; without token counts of the provider, estimate them from the sizes."""
        if exchange.replayed:
            return
        if exchange.response is None:
            if recorder.sent and exchange.error is None:
                self._charge_unanswered(recorder)
            return
        usage, price, cost_usd = exchange.response.usage, recorder.price, exchange.cost_usd
        sent, received = tokens_of(usage, recorder.size, sum(map(part_size, exchange.response.parts)))
        if cost_usd is None and price is not None:
            cost_usd = amount(sent, received, price).usd
            if self.account.has_usd_limit():
                self.note("the provider did not count tokens: an estimate of their cost was charged to the budget")
        self.account.spend(sent + received, cost_usd)
        for rate in missing_rates(usage, price):
            self.note(f"the price of {self.trial.subject.model!r} has no {rate}: {AT_INPUT_PRICE}")

    def _charge_unanswered(self, recorder: ExchangeRecorder) -> None:
        """Charge a request that a provider has got, and whose answer nobody waited for. If the agent hung up, a model
        that does not stream may have said all that it may."""
        hung_up = not self._closing and not recorder.request.stream
        spent = recorder.most if hung_up else amount(estimated_tokens(recorder.size), 0, recorder.price)
        self.account.spend(spent.tokens, spent.usd)
