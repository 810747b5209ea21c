"""`demeanor validate --list`: the evals that are defined."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from demeanor.core.values.eval import Eval


def print_evals(evals: Sequence[Eval], root: Path, *, as_json: bool) -> None:
    """Print the evals of a project, whose folder is `root`."""
    from demeanor.commands.validate.list_text import listing_json, listing_text
    from demeanor.render import screen_of

    if as_json:
        print(json.dumps(listing_json(evals, root=root), indent=2))
    else:
        print(listing_text(evals, root=root, width=screen_of(sys.stdout).width))
