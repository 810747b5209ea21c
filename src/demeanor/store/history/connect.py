"""Opens the history database and migrates its schema.

The history is beside the results, or at the address in `store` or DEMEANOR_STORE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from demeanor._version import __version__
from demeanor.config import Config, scheme_of
from demeanor.core.values.errors import BadInput, StoreError
from demeanor.store.history.database import Database
from demeanor.store.history.sql_history import SqlHistory

FILE = "demeanor.db"
VARIABLE = "DEMEANOR_STORE"
_MIGRATIONS_TABLE = """
CREATE TABLE migrations (
  name TEXT NOT NULL PRIMARY KEY,  -- the file that was applied
  applied TEXT NOT NULL,           -- when
  demeanor TEXT NOT NULL           -- by which version
);
"""


def history_address(config: Config, environ: Mapping[str, str], results: Path | None = None) -> str:
    """The address of the history: a PostgreSQL URL or a file path."""
    address = environ.get(VARIABLE) or config.store
    if not address:
        return str((results or config.root / config.results) / FILE)
    where, key = (VARIABLE, None) if environ.get(VARIABLE) else (config.where, "store")
    scheme = scheme_of(address)
    if scheme in {"postgresql", "postgres"} and "://" in address:
        return address
    if address.startswith("sqlite:///"):
        address = unquote(address.removeprefix("sqlite:///"))
    elif scheme:
        begin = address[: len(scheme) + (3 if "://" in address else 1)]
        raise BadInput(
            f"addresses that begin with {begin!r} are not supported",
            where=where,
            key=key,
            remedy="write postgresql://USER@HOST/DATABASE, sqlite:///FILE or a file path",
        )
    return str(config.root / address)


def open_database(
    address: str, *, timeout: float = 30.0, reading: bool = False, cache_kib: int | None = None
) -> Database:
    """Connect, and migrate the schema. With `reading`, a missing file is an empty database and is not created.
    `cache_kib` limits the memory that a file's pages may take in this process."""
    database: Database
    if address.startswith(("postgresql:", "postgres:")):
        from demeanor.store.history.postgres import Postgres

        database = Postgres(address, timeout=timeout)
    else:
        from demeanor.store.history.sqlite import CACHE_KIB, MEMORY, Sqlite

        path = Path(address)
        missing = path if reading and not path.exists() else None
        if not missing:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"{path.parent}: can't create this folder: {error.strerror}") from None
        cache = CACHE_KIB if cache_kib is None else cache_kib
        database = Sqlite(MEMORY if missing else path, timeout=timeout, stands_for=missing, cache_kib=cache)
    try:
        migrate(database, migrations())
    except BaseException:
        database.close()
        raise
    return database


def open_history(address: str, *, reading: bool = False) -> SqlHistory:
    """Open the history at an address."""
    return SqlHistory(open_database(address, reading=reading))


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryState:
    """What a history contains, found without changing anything."""

    label: str
    """Its address, without a password."""

    runs: int
    """The number of its runs."""

    latest: str | None
    """The run that started last."""

    missing: int
    """The migrations that the next run will apply; all of them if the database is empty."""

    empty: bool
    """Whether the database has no tables yet."""


def inspect_history(address: str) -> HistoryState:
    """Look at the history at an address; raises StoreError if it can't be reached or belongs to another program."""
    if address.startswith(("postgresql:", "postgres:")):
        from demeanor.store.history.postgres import Postgres

        database: Database = Postgres(address, create=False)
    else:
        from demeanor.store.history.sqlite import Sqlite

        if not Path(address).exists():
            return HistoryState(label=address, runs=0, latest=None, missing=len(migrations()), empty=True)
        database = Sqlite(Path(address))
    try:
        files = migrations()
        applied = _applied(database, files)
        runs = database.rows("SELECT name FROM runs ORDER BY started DESC, id DESC") if applied else []
        return HistoryState(
            label=database.label,
            runs=len(runs),
            latest=runs[0][0] if runs else None,
            missing=len(files) - len(applied),
            empty=not applied,
        )
    finally:
        database.close()


def migrations() -> dict[str, str]:
    """All migrations in order: name → SQL."""
    paths = (
        Path(__file__).with_name("migrations").glob("*.sql")
    )  # importlib.resources is slower than everything else here
    return {path.stem: path.read_text("utf-8") for path in sorted(paths)}


def migrate(database: Database, files: Mapping[str, str]) -> None:
    """Apply the migrations that are missing; raises StoreError, without changes, if a newer version migrated the
    database."""
    if _applied(database, files) == list(files):
        return
    with database.writing():
        database.lock_schema()
        applied = _applied(database, files)  # another process may have been faster
        if not applied and not database.tables():
            database.script(_MIGRATIONS_TABLE)
        for name, sql in files.items():
            if name not in applied:
                database.script(sql)
                now = datetime.now(UTC).isoformat(timespec="seconds")
                database.rows("INSERT INTO migrations VALUES (?, ?, ?)", (name, now, __version__))


def _applied(database: Database, files: Mapping[str, str]) -> list[str]:
    """The migrations that were applied; raises StoreError unless they are the first ones of `files`."""
    tables = database.tables()
    if not tables:
        return []
    if "migrations" not in tables:
        raise StoreError(
            f"{database.label}: contains tables of another program ({', '.join(sorted(tables)[:5])})\n"
            "  → set `store` to a database for Demeanor only; nothing was changed"
        )
    rows = database.rows("SELECT name, demeanor FROM migrations ORDER BY name")
    applied = [name for name, _ in rows]
    if applied != list(files)[: len(applied)]:
        newest, version = next((name, by) for name, by in reversed(rows) if name not in files or by)
        raise StoreError(
            f"{database.label}: a newer Demeanor ({version}) migrated the schema ({newest}); this is {__version__}\n"
            f"  → upgrade Demeanor to {version} or newer; nothing was changed"
        )
    return applied
