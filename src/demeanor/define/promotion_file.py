"""`promotions.json` beside the configuration: the promotions that `demeanor promote` applied, committed with them.

The history records promotions too, but CI may use another history than the machine on which an eval was promoted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.core.values.errors import BadInput

NAME = "promotions.json"


def read_promotions(root: Path) -> dict[str, Mapping[str, Any]]:
    """The recorded promotions of the project, by eval; raises BadInput if the file is invalid."""
    path = root / NAME
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BadInput(f"can't be read: {error}", where=path, remedy="restore it from git") from None
    if not isinstance(data, dict) or not all(isinstance(entry, dict) for entry in data.values()):
        raise BadInput("expected a table for each eval", where=path, remedy="restore it from git")
    return data


def write_promotions(root: Path, promotions: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the promotions; without any, the file is removed."""
    path = root / NAME
    if promotions:
        text = json.dumps(dict(sorted(promotions.items())), indent=2, ensure_ascii=False)
        path.write_text(f"{text}\n", "utf-8")
    else:
        path.unlink(missing_ok=True)
