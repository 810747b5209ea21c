"""Asks judges: models that answer the questions of checks.

A question is asked in the process that conducts the run, through a gateway of its own, so that it is recorded, priced,
charged to the budgets of the eval and the run, faulted and replayed. The answers are stored with the trial. When it is
judged again, they are reused; the judge is asked again only on request.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from math import fsum
from typing import TYPE_CHECKING, Literal, TypeAlias

from demeanor.config import Limit
from demeanor.core.redaction.redactor import Redactor, without_digits
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import UsageError, WorldError
from demeanor.core.values.evidence import Spent
from demeanor.core.values.exchange import Exchange, Request
from demeanor.core.values.judge_question import JudgeAnswer, JudgeQuestion, JudgeVote
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.core.values.user import UserTurn
from demeanor.core.values.verdict import VoidCause
from demeanor.judge import ChecksStopped, UnusableAnswer, judge_hash, judge_request, question_key, read_vote
from demeanor.runner.cassettes import replay_model
from demeanor.runner.catalog import Catalog
from demeanor.runner.schedule import Retries

if TYPE_CHECKING:
    from demeanor.gateway import BudgetAccount, GatewayServer, Session
    from demeanor.gateway.models import Upstream

Asking: TypeAlias = Literal["never", "missing", "all"]
"""Whether a judge is asked: not at all, if no answer is recorded, or in any case."""


class Judges:
    """The judges of one run or command. It belongs to the event loop that starts it."""

    def __init__(
        self,
        catalog: Catalog,
        limits: Mapping[str, Limit],
        *,
        parent_account: Callable[[Trial], BudgetAccount] | None = None,
        replay: str | None = None,
        retries: Retries | None = None,
    ) -> None:
        """`limits` are the budgets by scope. `parent_account` gives the account of a trial's eval and run, if agents
        spend the same budgets. `replay` is the folder of cassettes that answer instead of models."""
        self._catalog = catalog
        self._limits = limits
        self._parent_account = parent_account
        self._replay = replay
        self._retries = retries or Retries(most=catalog.config.attempts)
        self._replayed: dict[str, Trial] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: GatewayServer | None = None
        self._starting = asyncio.Lock()
        self._tasks: set[asyncio.Task[JudgeAnswer]] = set()

    async def start(self) -> None:
        """Get ready; the gateway starts with the first question."""
        self._loop = asyncio.get_running_loop()

    async def stop(self) -> None:
        """Cancel questions in progress, and stop the gateway."""
        loop, self._loop = self._loop, None
        for task in tuple(self._tasks):
            task.cancel()
        if loop is not None and self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.stop()
            self._server = None

    def of_trial(
        self, trial: Trial, capture: Capture, *, asking: Asking, more: Iterable[JudgeAnswer] = ()
    ) -> TrialJudge:
        """Asks about one attempt; `more` are recorded answers besides those in the capture."""
        token = capture.facts.get("token")
        redactor = self._catalog.redactor
        redactor = redactor.also({"gateway-token": token}) if token else redactor
        return TrialJudge(self, trial, capture.facts, redactor, (*capture.judge_answers, *more), asking)

    def ask(self, trial: Trial, facts: Mapping[str, str], question: JudgeQuestion) -> tuple[JudgeAnswer, list[str]]:
        """Ask a model and wait for its answer; called from a worker thread. Also returns notes about the model."""
        if self._loop is None:
            raise ChecksStopped
        notes: list[str] = []
        try:
            return asyncio.run_coroutine_threadsafe(
                self._tracked(trial, facts, question, notes), self._loop
            ).result(), notes
        except CancelledError:
            raise ChecksStopped from None

    async def _tracked(
        self, trial: Trial, facts: Mapping[str, str], question: JudgeQuestion, notes: list[str]
    ) -> JudgeAnswer:
        task = asyncio.ensure_future(self._ask(trial, facts, question, notes))
        self._tasks.add(task)
        try:
            return await task
        finally:
            self._tasks.discard(task)

    async def _ask(
        self, trial: Trial, facts: Mapping[str, str], question: JudgeQuestion, notes: list[str]
    ) -> JudgeAnswer:
        request = judge_request(question)
        votes, problem, exchanges = await self._votes(trial, facts, question.model, request, question.votes, notes)
        return JudgeAnswer(
            key=question_key(question),
            judge=judge_hash(question, self._model_hash(question.model)),
            question=question.question,
            model=question.model,
            votes=votes,
            problem=problem,
            exchanges=exchanges,
        )

    async def ask_again(self, trial: Trial, earlier: JudgeAnswer) -> JudgeAnswer:
        """Ask what was answered earlier, in the same words and as often."""
        request = earlier.exchanges[0].request
        votes, problem, exchanges = await self._votes(trial, {}, earlier.model, request, len(earlier.votes), [])
        return replace(earlier, votes=votes, problem=problem, exchanges=exchanges)

    async def _votes(
        self, trial: Trial, facts: Mapping[str, str], model: str, request: Request, number: int, notes: list[str]
    ) -> tuple[tuple[JudgeVote, ...], tuple[VoidCause, str] | None, tuple[Exchange, ...]]:
        """The answers of the model, or why there are none; and the exchanges with it."""
        server = await self._started()
        who = Subject(agent=f"judge of {trial.subject}", model=model)
        asked = replace(trial, subject=who)
        self._replayed[asked.id] = trial
        seed = int(facts.get("seed") or 0)
        votes: list[JudgeVote] = []
        problem: tuple[VoidCause, str] | None = None
        async with server.session(asked, seed=seed, role="judge") as session:
            session.set_facts(facts)
            for later in range(number):
                session.seed = seed + later
                try:
                    votes.append(await self._vote(session, model, request))
                except WorldError as error:
                    problem, votes = (error.cause, error.detail), []
                    break
            exchanges = session.exchanges()
            notes += session.notes
        return tuple(votes), problem, exchanges

    async def _vote(self, session: Session, model: str, request: Request) -> JudgeVote:
        """One answer of the model."""
        from demeanor.runner.model_request import ask_model

        failed = f"the judge {model} gave no answer"
        response = await ask_model(session, request, self._retries, cause=VoidCause.JUDGE, failed=failed)
        try:
            return read_vote(response)
        except UnusableAnswer as unusable:
            raise WorldError(VoidCause.JUDGE, f"{failed}: {unusable}") from None

    async def _started(self) -> GatewayServer:
        async with self._starting:
            if self._server is None:
                server = self._make_server()
                await server.start()
                self._server = server
        return self._server

    def _make_server(self) -> GatewayServer:
        from demeanor.gateway import Budget, Budgets, GatewayServer

        scopes = {scope: limit for scope, limit in self._limits.items() if scope != "trial"}
        resolve: Callable[[str], Upstream | None] = self._model
        if self._replay is not None:
            replayed = replay_model(self._catalog, self._replayed, self._replay)
            resolve = lambda name: replayed  # noqa: E731
        return GatewayServer(
            resolve,
            budgets=Budgets(**{scope: Budget(usd=limit.usd, tokens=limit.tokens) for scope, limit in scopes.items()}),
            limits=self._catalog.config.gateway_limits,
            parent_account=self._parent_account,
        )

    def _model(self, name: str) -> Upstream | None:
        try:
            return self._catalog.models.model(name)
        except UsageError:
            return None

    def _model_hash(self, name: str) -> str:
        """What answers for a model name; empty in a replay, which needs no model."""
        with contextlib.suppress(UsageError):
            return "" if self._replay is not None else self._catalog.models.hash_of(name)
        return ""


class TrialJudge:
    """Answers the questions that checks ask about one attempt: from its records, or by asking the model."""

    def __init__(
        self,
        judges: Judges,
        trial: Trial,
        facts: Mapping[str, str],
        redactor: Redactor,
        recorded: Sequence[JudgeAnswer],
        asking: Asking,
    ) -> None:
        self._judges = judges
        self._trial = trial
        self._facts = facts
        self._redactor = redactor
        self._recorded = {answer.key: answer for answer in recorded}
        self._asking = asking
        self._used: dict[str, JudgeAnswer] = {}
        self._notes: dict[str, None] = {}
        self.fresh: list[JudgeAnswer] = []

    @property
    def answers(self) -> tuple[JudgeAnswer, ...]:
        """Every answer that was used, in order."""
        return tuple(self._used.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader: about the model, and what asking it cost."""
        if not self._used:
            return ()
        asked = [exchange for answer in self._used.values() for exchange in answer.exchanges]
        spent = judge_spent(self._used.values())
        price = "at unknown cost" if spent.cost_usd is None else f"${spent.cost_usd:.4f}"
        models = ", ".join(dict.fromkeys(answer.model for answer in self._used.values()))
        return (*self._notes, f"judge {models}: asked {count(len(asked), 'time')}, {spent.tokens or 0} tokens, {price}")

    def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
        """The answer to a question; raises WorldError if there is none."""
        question = replace(question, texts={title: self._clean(text) for title, text in question.texts.items()})
        key = question_key(question)
        answer = self._used.get(key) or self._known(key)
        if answer is None:
            if self._asking == "never":
                raise WorldError(
                    VoidCause.JUDGE,
                    f"the judge {question.model} was never asked this question about this evidence:"
                    f" {one_line(question.question)!r}\n  → ask it now: --ask-judge missing",
                )
            answer, notes = self._judges.ask(self._trial, self._facts, question)
            self._notes.update(dict.fromkeys(f"judge: {note}" for note in notes))
            self.fresh.append(answer)
        self._used[key] = answer
        if answer.problem is not None:
            raise WorldError(*answer.problem)
        return answer

    def _known(self, key: str) -> JudgeAnswer | None:
        """The recorded answer, if it counts: a failure counts only if the judge is not to be asked."""
        answer = self._recorded.get(key)
        failed = answer is not None and answer.problem is not None
        return None if self._asking == "all" or (failed and self._asking == "missing") else answer

    def _clean(self, text: str) -> str:
        """The text without secrets, and without what differs from attempt to attempt: paths, and the digits of marks.

        A recorded answer and a cassette are found by the text, also in a later run.
        """
        for name in ("workspace", "home"):
            if path := self._facts.get(name):
                text = text.replace(path, f"${name.upper()}")
        return without_digits(self._redactor.steady.text(text))


def judge_spent(answers: Iterable[JudgeAnswer | UserTurn]) -> Spent:
    """What the answers cost, without time and turns, which are the agent's."""
    exchanges = [exchange for answer in answers for exchange in answer.exchanges]
    costs = [exchange.cost_usd for exchange in exchanges if exchange.response is not None]
    return Spent(
        input_tokens=_tokens(exchanges, "input"),
        output_tokens=_tokens(exchanges, "output"),
        cost_usd=None if None in costs else fsum(cost or 0.0 for cost in costs),
    )


def with_judge_spent(spent: Spent, answers: Sequence[JudgeAnswer | UserTurn]) -> Spent:
    """What a trial used, its judges and its user included. An unknown cost stays unknown."""
    if not any(answer.exchanges for answer in answers):
        return spent
    judged = judge_spent(answers)
    unknown = spent.cost_usd is None or judged.cost_usd is None
    return replace(
        spent,
        input_tokens=_plus(spent.input_tokens, judged.input_tokens),
        output_tokens=_plus(spent.output_tokens, judged.output_tokens),
        cost_usd=None if unknown else (spent.cost_usd or 0.0) + (judged.cost_usd or 0.0),
    )


def _plus(number: int | None, other: int | None) -> int | None:
    return other if number is None else number + (other or 0)


def _tokens(exchanges: Sequence[Exchange], name: Literal["input", "output"]) -> int | None:
    counts = [getattr(exchange.response.usage, name) for exchange in exchanges if exchange.response is not None]
    return sum(number for number in counts if number is not None) if any(n is not None for n in counts) else None
