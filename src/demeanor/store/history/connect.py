"""Where the history lies: beside the results, or where `store` or DEMEANOR_STORE says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from demeanor.config.config import Config
from demeanor.core.errors import BadInput, StoreError
from demeanor.store.history.database import Database
from demeanor.store.history.schema import migrate
from demeanor.store.history.sql_history import SqlHistory

FILE = "demeanor.db"
VARIABLE = "DEMEANOR_STORE"


def place_of(config: Config, environ: Mapping[str, str], results: Path | None = None) -> str:
    """The address of the history: a PostgreSQL URL, or the path of a file."""
    given = environ.get(VARIABLE) or config.store
    if not given:
        return str((results or config.root / config.results) / FILE)
    where, key = (VARIABLE, None) if environ.get(VARIABLE) else (config.where, "store")
    scheme = urlsplit(given).scheme
    if scheme in {"postgresql", "postgres"}:
        return given
    if scheme == "sqlite":
        given = unquote(given.removeprefix("sqlite://").removeprefix("/") if ":///" in given else given[9:])
    elif "://" in given:
        raise BadInput(
            f"{scheme!r} is no kind of database",
            where=where,
            key=key,
            remedy="write postgresql://USER@HOST/DATABASE, or the path of a file",
        )
    return str(config.root / given)


def open_database(place: str, *, patience: float = 30.0, reading: bool = False) -> Database:
    """Connect, and bring the schema up to date. Who only reads finds nothing where nothing is, and leaves no file."""
    database: Database
    if place.startswith(("postgresql:", "postgres:")):
        from demeanor.store.history.postgres import Postgres

        database = Postgres(place, patience=patience)
    else:
        from demeanor.store.history.sqlite import MEMORY, Sqlite

        path = Path(place)
        if reading and not path.exists():
            path = MEMORY
        else:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"{path.parent}: can't be made: {error.strerror}") from None
        database = Sqlite(path, patience=patience)
    try:
        migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def open_history(place: str, *, reading: bool = False) -> SqlHistory:
    """The history at an address."""
    return SqlHistory(open_database(place, reading=reading))
