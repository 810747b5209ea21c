"""All runs in one database, SQLite beside the results or PostgreSQL for a team: the same schema and queries on both."""

from demeanor.store.history.connect import open_history, place_of
from demeanor.store.history.sql_history import SqlHistory

__all__ = ["SqlHistory", "open_history", "place_of"]
