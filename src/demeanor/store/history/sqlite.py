"""SQLite: a file beside the results, with nothing to set up."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from demeanor.core.errors import StoreBusy, StoreError
from demeanor.store.history.database import Row, marks

_KEY = "INTEGER PRIMARY KEY"
MEMORY = Path(":memory:")


class Sqlite:
    """A connection to a file, or to nothing but memory."""

    for_update = ""  # a transaction that writes is alone anyway

    def __init__(self, path: Path, *, patience: float = 30.0) -> None:
        """`patience`: seconds to wait for somebody else who is writing."""
        self.path = path
        try:
            self._connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
            # A write-ahead log lets readers read while somebody writes, and makes a commit cheap: a power cut may
            # take the last of them, which the ledger still has.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA cache_size = -64000")
        except sqlite3.Error as error:
            self._fail(error)

    @property
    def shown(self) -> str:
        """The file."""
        return str(self.path)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """What a query gives."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._fail(error)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """One statement for each of many rows."""
        try:
            self._connection.executemany(sql, rows)
        except sqlite3.Error as error:
            self._fail(error)

    def append(self, table: str, rows: Sequence[Row]) -> None:
        """New rows of a table."""
        if rows:
            self.many(f"INSERT INTO {table} VALUES ({marks(len(rows[0]))})", rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction; SQLite has one writer at a time, so it says at once that it is one."""
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise
        self.rows("COMMIT")

    def script(self, sql: str) -> None:
        """Several statements; sqlite3's own `executescript` would end the transaction first."""
        statement = ""
        for line in sql.replace("{key}", _KEY).splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                self.rows(statement)
                statement = ""

    def tables(self) -> set[str]:
        """The tables that are there."""
        return {name for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def lock_schema(self) -> None:
        """A transaction that writes is alone anyway."""

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _fail(self, error: sqlite3.Error) -> NoReturn:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise StoreBusy(
                f"{self.path}: {error}\n  → another process has been writing for long; try again"
            ) from error
        if isinstance(error, sqlite3.DatabaseError) and "not a database" in str(error):
            remedy = "this file is something else: move it away, or name another one as `store`"
        else:
            remedy = "is the disk full, or the folder not writable?"
        raise StoreError(f"{self.path}: {error}\n  → {remedy}") from error
