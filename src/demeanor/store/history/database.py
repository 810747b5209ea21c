"""The interface of a database, implemented by sqlite.py and postgres.py.

Statements are written once, in the SQL that SQLite and PostgreSQL share, with `?` for values; an implementation fills
in the few words that differ. Every failure is a StoreError that names the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

Row: TypeAlias = tuple[Any, ...]
T = TypeVar("T")

_MAX_PLACEHOLDERS = 400


class Database(Protocol):
    """One connection, used by one thread at a time."""

    @property
    def label(self) -> str:
        """The address of the database, without a password, for messages."""
        ...

    @property
    def for_update(self) -> str:
        """The suffix of a SELECT that locks its rows until the transaction ends."""
        ...

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows that a query returns."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute one statement for each of many rows."""
        ...

    def append(self, table: str, rows: Sequence[Row]) -> None:
        """Insert rows into a table, each with a value for every column."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that writes."""
        ...

    def script(self, sql: str) -> None:
        """Execute the statements of a migration, within a transaction."""
        ...

    def matching(self, words: Sequence[str], limit: int, *, begins: bool) -> list[int]:
        """The newest `texts` that contain all words: their ids. With `begins`, the last may begin a longer word."""
        ...

    def tables(self) -> set[str]:
        """The names of all tables."""
        ...

    def version(self) -> str:
        """A text that differs after every change of the database, and may differ more often."""
        ...

    def lock_schema(self) -> None:
        """Lock the schema until the transaction ends."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


def marks(count: int) -> str:
    """Placeholders for a list of values: `?, ?, ?`."""
    return ", ".join("?" * count)


def conditions(clauses: Iterable[tuple[str, Any]]) -> tuple[str, list[Any]]:
    """The conditions whose value is not None, joined, and their values; without any, one that is always true."""
    set_clauses = [(clause, value) for clause, value in clauses if value is not None]
    return " AND ".join(clause for clause, _ in set_clauses) or "1 = 1", [value for _, value in set_clauses]


def limit_clause(number: int | None) -> str:
    """The end of a query that returns at most `number` rows; empty for all."""
    return "" if number is None else f" LIMIT {int(number)}"


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items in batches that fit into the placeholders of one statement."""
    return (items[i : i + _MAX_PLACEHOLDERS] for i in range(0, len(items), _MAX_PLACEHOLDERS))
