"""SQLite: a file beside the results; needs no setup."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from demeanor.core.values.errors import StoreError, StoreUnavailable
from demeanor.store.history.database import Row, marks

_KEY = "INTEGER PRIMARY KEY"
MEMORY = Path(":memory:")
CACHE_KIB = 64_000
"""Memory for pages that queries read again and again."""
_SEARCH = """CREATE VIRTUAL TABLE texts_index USING fts5 (body, content='texts', content_rowid='id', columnsize=0);
CREATE TRIGGER texts_added AFTER INSERT ON texts BEGIN
  INSERT INTO texts_index (rowid, body) VALUES (new.id, new.body);
END;"""
_HEADER = b"SQLite format 3\0"


class Sqlite:
    """A connection to a file, or to a database in memory."""

    for_update = ""  # SQLite has one writer at a time

    def __init__(
        self, path: Path, *, timeout: float = 30.0, stands_for: Path | None = None, cache_kib: int = CACHE_KIB
    ) -> None:
        """`timeout`: seconds to wait for another writer. `stands_for`: the missing file that this one is read as.
        `cache_kib`: the most memory for pages of the file."""
        self.path = path
        self._named = stands_for or path
        try:
            self._connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            self._fail(error)
        try:
            # With a write-ahead log readers are not blocked by a writer, and a commit is cheap. A power failure may
            # lose the last commits, which are still in the ledger.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        except sqlite3.Error as error:
            self._connection.close()
            self._fail(error)

    @property
    def label(self) -> str:
        """The path of the file."""
        return str(self._named)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows that a query returns."""
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._fail(error)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute one statement for each of many rows."""
        try:
            self._connection.executemany(sql, rows)
        except sqlite3.Error as error:
            self._fail(error)

    def append(self, table: str, rows: Sequence[Row]) -> None:
        """Insert rows into a table."""
        if rows:
            self.many(f"INSERT INTO {table} VALUES ({marks(len(rows[0]))})", rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction. BEGIN IMMEDIATE takes the write lock at once, instead of failing at the first write."""
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise
        self.rows("COMMIT")

    def script(self, sql: str) -> None:
        """Execute several statements; sqlite3's own `executescript` would end the transaction first."""
        statement = ""
        for line in sql.replace("{search}", _SEARCH).replace("{key}", _KEY).splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                self.rows(statement)
                statement = ""

    def matching(self, words: Sequence[str], limit: int, *, begins: bool) -> list[int]:
        """The newest texts that contain all words."""
        query = " ".join(f'"{word}"' for word in words) + "*" * begins
        sql = "SELECT rowid FROM texts_index WHERE texts_index MATCH ? ORDER BY rowid DESC LIMIT ?"
        return [number for (number,) in self.rows(sql, (query, limit))]

    def tables(self) -> set[str]:
        """The names of all tables."""
        return {name for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def version(self) -> str:
        """Size and time of the file and of its write-ahead log, which every commit changes."""
        states = []
        for path in (self.path, self.path.with_name(f"{self.path.name}-wal")):
            try:
                stat = path.stat()
                states.append(f"{stat.st_size}.{stat.st_mtime_ns}")
            except FileNotFoundError:
                states.append("none")
        return " ".join(states)

    def lock_schema(self) -> None:
        """Nothing to do: a transaction that writes holds the only write lock."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _fail(self, error: sqlite3.Error) -> NoReturn:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise StoreUnavailable(
                f"{self.path}: {error}\n  → another process holds the lock for too long; try again"
            ) from error
        if isinstance(error, sqlite3.DatabaseError) and "not a database" in str(error):
            remedy = "this file is not an SQLite database: move it away, or set `store` to another path"
        else:
            remedy = "check that the disk is not full and that the folder is writable"
        raise StoreError(f"{self.path}: {error}\n  → {remedy}") from error


def is_sqlite(path: Path) -> bool:
    """Whether a path is a file that contains an SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_HEADER)) == _HEADER
