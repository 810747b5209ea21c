"""The budgets of an eval and of a run on a cluster: every attempt reserves its expected cost, and settles afterwards.

Workers spend at the same time, each with a gateway of its own, and none of them knows what the others spend. So an
attempt is sent with what is left for it: the budget, less what is spent, less what others are expected to spend. It
waits while that is less than its own expected cost, which is the mean of the attempts at the same eval so far.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from demeanor.config.tables import Limit
from demeanor.core.record import Record
from demeanor.core.trial import Trial


@dataclass(frozen=True, slots=True)
class Amount:
    """Money and tokens."""

    usd: float = 0.0
    """US dollars."""

    tokens: float = 0.0
    """Tokens in both directions."""

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.usd + other.usd, self.tokens + other.tokens)


class BudgetLedger:
    """What is spent and reserved of the budgets of one run."""

    def __init__(self, limits: Mapping[str, Limit]) -> None:
        """`limits` are the budgets by scope."""
        self._eval = limits.get("eval", Limit())
        self._run = limits.get("run", Limit())
        self._spent: dict[str, Amount] = defaultdict(Amount)
        self._attempts: Counter[str] = Counter()
        self._reserved: dict[str, tuple[str, Amount]] = {}
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
        while not (self._enough(self._eval, name) and self._enough(self._run, None, expected=self._expected(name))):
            self._settled.clear()
            await self._settled.wait()
        left = self._left(self._eval, name), self._left(self._run, None)
        self._reserved[trial.id] = name, self._expected(name)
        return left

    def settle(self, record: Record) -> None:
        """Replace what an attempt had reserved by what it has spent."""
        spent = Amount(record.spent.cost_usd or 0.0, float(record.spent.tokens or 0))
        self._spent[record.eval] += spent
        self._attempts[record.eval] += 1
        self._reserved.pop(record.trial, None)
        self._settled.set()

    def _expected(self, name: str) -> Amount:
        if self._attempts[name]:
            whole, number = self._spent[name], self._attempts[name]
        else:
            whole, number = sum(self._spent.values(), Amount()), max(1, self._attempts.total())
        return Amount(whole.usd / number, whole.tokens / number)

    def _enough(self, limit: Limit, scope: str | None, *, expected: Amount | None = None) -> bool:
        """Whether what is left of a budget covers an attempt, or no other attempt can give anything back."""
        if not any(scope in (None, name) for name, _ in self._reserved.values()):
            return True
        left, cost = self._left(limit, scope), expected or self._expected(scope or "")
        return (left.usd is None or left.usd > cost.usd) and (left.tokens is None or left.tokens > cost.tokens)

    def _left(self, limit: Limit, name: str | None) -> Limit:
        """What is left of a budget, for one eval or for all, beside what others have reserved."""
        spent = [one for key, one in self._spent.items() if name in (None, key)]
        reserved = [one for key, one in self._reserved.values() if name in (None, key)]
        gone = sum([*spent, *reserved], Amount())
        return Limit(
            usd=None if limit.usd is None else max(0.0, limit.usd - gone.usd),
            tokens=None if limit.tokens is None else max(0, int(limit.tokens - gone.tokens)),
        )
