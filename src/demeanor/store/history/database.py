"""A database of either kind, as far as the history needs one: rows in, rows out, transactions.

Statements are written once, with `?` for values and in the SQL that SQLite and PostgreSQL share; an engine puts in
the few words in which they differ. Whatever goes wrong is a StoreError that names the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

Row: TypeAlias = tuple[Any, ...]
T = TypeVar("T")

_AT_ONCE = 400


class Database(Protocol):
    """One connection, used by one thread at a time."""

    @property
    def shown(self) -> str:
        """The database, as it may be shown to anybody: without a password."""
        ...

    @property
    def for_update(self) -> str:
        """What to write after a SELECT within a transaction whose rows nobody else may change until it ends."""
        ...

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """What a query gives."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """One statement for each of many rows."""
        ...

    def append(self, table: str, rows: Sequence[Row]) -> None:
        """New rows of a table, each with a value for every column."""
        ...

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that writes: all of it is done, or nothing."""
        ...

    def script(self, sql: str) -> None:
        """Several statements of a migration, within a transaction."""
        ...

    def tables(self) -> set[str]:
        """The tables that are there."""
        ...

    def lock_schema(self) -> None:
        """Within a transaction: let nobody else change the schema until it ends."""
        ...

    def close(self) -> None:
        """End the connection."""
        ...


def marks(number: int) -> str:
    """Placeholders for a list of values: `?, ?, ?`."""
    return ", ".join("?" * number)


def pieces(all_of_them: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many as one statement may have placeholders for, and the next ones."""
    return (all_of_them[i : i + _AT_ONCE] for i in range(0, len(all_of_them), _AT_ONCE))
