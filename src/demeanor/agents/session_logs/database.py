"""The databases in which goose and opencode keep their sessions.

A copy is read, because opening a database of a running program can change the files beside it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from demeanor.agents.session_logs.messages import goose_session, opencode_session
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.session import PastSession

HEADER = b"SQLite format 3\0"
"""How a database file begins."""


def database_sessions(path: Path) -> list[PastSession]:
    """The sessions in a database, the oldest first; raises ValueError if it is another program's."""
    try:
        with _copy(path) as copied, closing(sqlite3.connect(copied)) as database:
            database.row_factory = sqlite3.Row
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if {"sessions", "messages"} <= tables:
                return [goose_session(row) for row in _goose(database)]
            if {"session", "message", "part"} <= tables:
                return [opencode_session(row) for row in _opencode(database)]
    except (sqlite3.Error, ValueError, RecursionError, IndexError) as error:
        raise ValueError(f"the database can't be read: {error}") from None
    raise ValueError("it is a database, but neither goose's nor opencode's")


@contextmanager
def _copy(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        for ending in ("", "-wal"):
            if (own := Path(f"{path}{ending}")).exists():
                shutil.copyfile(own, Path(folder, f"copy.db{ending}"))
        yield Path(folder, "copy.db")


def _goose(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for row in database.execute("SELECT * FROM sessions ORDER BY updated_at, id").fetchall():
        session = {key: row[key] for key in row.keys()}  # noqa: SIM118 - a row iterates over its values
        if isinstance(session.get("model_config_json"), str):
            session["model_config"] = json.loads(session["model_config_json"])
        rows = database.execute(
            "SELECT message_id, role, content_json, metadata_json FROM messages WHERE session_id = ? ORDER BY id",
            (row["id"],),
        )
        session["conversation"] = [
            {"id": own, "role": role, "content": json.loads(content), "metadata": json.loads(about or "{}")}
            for own, role, content, about in rows
        ]
        yield session


def _opencode(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for row in database.execute("SELECT * FROM session WHERE parent_id IS NULL ORDER BY time_updated, id").fetchall():
        own = row["id"]
        parts: dict[str, list[Any]] = {}
        for message, data in database.execute(
            "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (own,)
        ):
            parts.setdefault(message, []).append(json.loads(data))
        messages = [
            {"info": json.loads(data), "parts": parts.get(message, [])}
            for message, data in database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (own,)
            )
        ]
        info = {"id": own, "directory": row["directory"], "time": {"created": row["time_created"]}}
        yield {"info": info, "messages": messages}
