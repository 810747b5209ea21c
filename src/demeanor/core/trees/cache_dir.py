"""The cache directory: everything in it can be recreated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str], name: str) -> Path:
    """The cache folder `name`, in $DEMEANOR_CACHE or below $XDG_CACHE_HOME."""
    if own := environ.get("DEMEANOR_CACHE"):
        return Path(own).expanduser() / name
    usual = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(usual) / "demeanor" / name
