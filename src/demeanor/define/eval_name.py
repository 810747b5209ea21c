"""What an eval may be called."""

from __future__ import annotations


def name_problem(name: str) -> str | None:
    """Why `name` can't be an eval's name, or None if it can."""
    if not name.strip() or name != name.strip():
        return "a name must not be empty and must not start or end with a blank"
    if not name.isprintable() or "/" in name or "::" in name:
        return "a name must not contain a slash, «::» or invisible characters"
    return None
