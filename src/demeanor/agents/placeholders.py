"""Places in a configuration's texts, such as {prompt}, which are filled in when an agent is started."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from demeanor.config.table import Table
from demeanor.core.agent import Task
from demeanor.core.errors import nearest

PLACES = ("model", "workspace", "home", "base_url", "token", "seed")
PROMPT = "prompt"
_PLACE = re.compile(r"\{\{|\}\}|\{([a-z_]+)\}")


def places_of(task: Task) -> dict[str, str]:
    """What the places of a task stand for, without its prompt."""
    return {
        "model": task.model,
        "workspace": str(task.workspace),
        "home": str(task.home),
        "base_url": task.base_url,
        "token": task.token,
        "seed": str(task.seed),
    }


def fill(text: str, places: Mapping[str, str]) -> str:
    """`text` with its places filled in; doubled braces are literal ones."""
    return _PLACE.sub(lambda match: places[match[1]] if match[1] else match[0][0], text)


def check_places(table: Table, key: str, text: str, known: Iterable[str]) -> None:
    """Refuse a place that nobody knows."""
    known = tuple(known)
    for match in _PLACE.finditer(text):
        if match[1] and match[1] not in known:
            close = nearest(match[1], known)
            told = f"did you mean {{{close}}}?" if close else "known places: " + ", ".join(f"{{{p}}}" for p in known)
            table.fail(key, f"unknown place {match[0]}", f"{told} (write {{{{…}}}} for literal braces)")


def has_place(text: str, place: str) -> bool:
    """Whether a place occurs in `text`."""
    return any(match[1] == place for match in _PLACE.finditer(text))
