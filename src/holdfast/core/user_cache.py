"""The user's own cache: what may be deleted at any time, and is made again when it is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def user_cache(environ: Mapping[str, str]) -> Path:
    """Its folder: $HOLDFAST_CACHE, or ours where caches usually are. It need not exist."""
    if own := environ.get("HOLDFAST_CACHE"):
        return Path(own).expanduser()
    usual = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(usual) / "holdfast"
