"""A Demeanor that seems to be installed from elsewhere: the same code, with other notes of the installer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FROM_GIT: Mapping[str, Any] = {
    "url": "https://git.example/acme/demeanor.git",
    "vcs_info": {"vcs": "git", "commit_id": COMMIT},
}


def installed_in(folder: Path, direct_url: Mapping[str, Any] | None) -> Path:
    """A folder for PYTHONPATH with the metadata of an installation; without `direct_url`, from a package index."""
    notes = folder / "demeanor-0.dist-info"
    notes.mkdir(parents=True)
    (notes / "METADATA").write_text(distribution("demeanor").read_text("METADATA") or "")
    if direct_url is not None:
        (notes / "direct_url.json").write_text(json.dumps(direct_url))
    return folder
