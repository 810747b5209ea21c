"""The budgets of an eval and of a run on a cluster: every attempt reserves its expected cost, and settles afterwards.

Workers spend at the same time, each with a gateway of its own, and none of them knows what the others spend. So an
attempt is sent with what is left for it: the budget, less what is spent, less what others are expected to spend. It
waits while that is less than its own expected cost, which is the mean of the attempts at the same eval so far.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from demeanor.config import Limit
from demeanor.core.values.record import Record
from demeanor.core.values.trial import Trial


@dataclass(frozen=True, slots=True)
class Expense:
    """Money and tokens."""

    usd: float = 0.0
    """US dollars."""

    tokens: float = 0.0
    """Tokens in both directions."""

    def __add__(self, other: Expense) -> Expense:
        return Expense(self.usd + other.usd, self.tokens + other.tokens)


class BudgetLedger:
    """What is spent and reserved of the budgets of one run."""

    def __init__(self, limits: Mapping[str, Limit]) -> None:
        """`limits` are the budgets by scope."""
        self._eval = limits.get("eval", Limit())
        self._run = limits.get("run", Limit())
        self._evals: dict[str, Account] = defaultdict(Account)
        self._all = Account()
        self._reserved: dict[str, tuple[str, Expense]] = {}
        self._settled = asyncio.Event()

    def continue_from(self, records: Iterable[Record], run: Limit) -> None:
        """Start with what earlier parts of the run have spent; `run` is its budget, which they are counted against."""
        self._run = run
        for record in records:
            self.settle(record)

    async def reserve(self, trial: Trial) -> tuple[Limit, Limit]:
        """Reserve the expected cost of an attempt; what is left for it of the eval's and of the run's budget.

        Waits while other attempts that spend the same budget may need what is left; the only one may have it all.
        """
        name = trial.eval.name
        own = self._evals[name]
        while not (own.enough(self._eval, own.mean) and self._all.enough(self._run, self._expected(own))):
            self._settled.clear()
            await self._settled.wait()
        left = own.left(self._eval), self._all.left(self._run)
        expected = self._expected(own)
        self._reserved[trial.id] = name, expected
        own.reserve(expected)
        self._all.reserve(expected)
        return left

    def settle(self, record: Record) -> None:
        """Replace what an attempt had reserved by what it has spent."""
        name, reserved = self._reserved.pop(record.trial, (record.eval, None))
        spent = Expense(record.spent.cost_usd or 0.0, float(record.spent.tokens or 0))
        for account in (self._evals[name], self._all):
            account.settle(reserved, spent)
        self._settled.set()

    def _expected(self, own: Account) -> Expense:
        """What an attempt at an eval will cost: the mean of those at the same eval, or of all."""
        return own.mean if own.attempts else self._all.mean


class Account:
    """What is spent and reserved of one budget. Sums are kept, because a run may have many thousands of attempts."""

    def __init__(self) -> None:
        self.attempts = 0
        """Attempts that are settled."""
        self._open = 0
        self._spent = Expense()
        self._reserved = Expense()

    @property
    def mean(self) -> Expense:
        """What the attempts so far have cost, each."""
        number = max(1, self.attempts)
        return Expense(self._spent.usd / number, self._spent.tokens / number)

    def reserve(self, amount: Expense) -> None:
        """Reserve an amount for an attempt."""
        self._open += 1
        self._reserved += amount

    def settle(self, reserved: Expense | None, spent: Expense) -> None:
        """Replace a reservation, if there is one, by what was spent."""
        self.attempts += 1
        self._spent += spent
        if reserved is not None:
            self._open -= 1
            rest = Expense(self._reserved.usd - reserved.usd, self._reserved.tokens - reserved.tokens)
            self._reserved = rest if self._open else Expense()  # no rounding errors remain

    def enough(self, limit: Limit, cost: Expense) -> bool:
        """Whether what is left of a budget covers an attempt, or no other attempt can give anything back."""
        left = self.left(limit)
        enough = (left.usd is None or left.usd > cost.usd) and (left.tokens is None or left.tokens > cost.tokens)
        return enough or not self._open

    def left(self, limit: Limit) -> Limit:
        """What is left of a budget beside what is reserved."""
        gone = self._spent + self._reserved
        return Limit(
            usd=None if limit.usd is None else max(0.0, limit.usd - gone.usd),
            tokens=None if limit.tokens is None else max(0, int(limit.tokens - gone.tokens)),
        )
