"""Brings a database up to this version's schema, one named migration after the other."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from demeanor._version import __version__
from demeanor.core.errors import StoreError
from demeanor.store.history.database import Database

_NOTED = """
CREATE TABLE migrations (
  name TEXT NOT NULL PRIMARY KEY,  -- the file that was applied
  applied TEXT NOT NULL,           -- when
  demeanor TEXT NOT NULL           -- by which version
);
"""


def migrations() -> dict[str, str]:
    """Every migration by name, in order."""
    found = Path(__file__).with_name("migrations").glob("*.sql")  # importlib.resources takes longer than all else here
    return {path.stem: path.read_text("utf-8") for path in sorted(found)}


def migrate(database: Database) -> None:
    """Apply what is missing; a database that a newer version has changed is refused and left as it is."""
    known = migrations()
    if _applied(database, known) == list(known):
        return
    with database.writing():
        database.lock_schema()
        applied = _applied(database, known)  # somebody else may have been quicker
        if not applied and not database.tables():
            database.script(_NOTED)
        for name, sql in known.items():
            if name not in applied:
                database.script(sql)
                now = datetime.now(UTC).isoformat(timespec="seconds")
                database.rows("INSERT INTO migrations VALUES (?, ?, ?)", (name, now, __version__))


def _applied(database: Database, known: dict[str, str]) -> list[str]:
    """The migrations that were applied; raises where they are not the first ones of ours."""
    tables = database.tables()
    if not tables:
        return []
    if "migrations" not in tables:
        raise StoreError(
            f"{database.shown}: holds tables, but none of Demeanor's ({', '.join(sorted(tables)[:5])})\n"
            "  → name a database of its own as `store`; nothing was changed"
        )
    rows = database.rows("SELECT name, demeanor FROM migrations ORDER BY name")
    applied = [name for name, _ in rows]
    if applied != list(known)[: len(applied)]:
        newest, version = next((name, by) for name, by in reversed(rows) if name not in known or by)
        raise StoreError(
            f"{database.shown}: a newer Demeanor ({version}) has changed the schema ({newest}); this is {__version__}\n"
            f"  → upgrade Demeanor to {version} or newer; nothing was changed"
        )
    return applied
