"""The history: all runs in one database, SQLite or PostgreSQL, with the same schema and queries."""

from demeanor.store.history.connect import history_address, open_history
from demeanor.store.history.sql_history import SqlHistory

__all__ = ["SqlHistory", "history_address", "open_history"]
