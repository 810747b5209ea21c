"""Where what can be had again is kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str], name: str) -> Path:
    """The folder `name` of the cache: in $DEMEANOR_CACHE, or where caches usually are."""
    if own := environ.get("DEMEANOR_CACHE"):
        return Path(own).expanduser() / name
    usual = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(usual) / "demeanor" / name
