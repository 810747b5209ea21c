"""Where pages are: paths on the server, or files of an export, relative to the page that links to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote, urlencode

from demeanor.core.text.wording import slug

ROUTES: Mapping[str, str] = {
    "overview": "/",
    "runs": "/runs",
    "run": "/run/{run}",
    "eval": "/eval/{eval}",
    "trial": "/trial/{run}/{eval}/{subject}/{number}",
    "compare": "/compare",
    "board": "/board",
    "failures": "/failures/{run}",
    "cost": "/cost",
    "cover": "/cover",
    "live": "/live",
    "find": "/find",
}
"""The pages by name; a name in braces is one segment of the path."""

NOTE_PATH = "/note"
"""Where a form sends a note."""

STOP_PATH = "/stop"
"""Where a form asks that a run ends. No other path than these two accepts POST."""

_NEED_A_SERVER = {"find", "live", "compare"}


class Links(Protocol):
    """What a template knows about addresses."""

    @property
    def served(self) -> bool:
        """Whether a server answers: forms, live updates and scripts work."""
        ...

    def page(self, name: str, *parts: object, **query: object) -> str:
        """The address of a page; empty if there is no such page here."""
        ...

    def static(self, name: str) -> str:
        """The address of the style sheet or the script."""
        ...


@dataclass(frozen=True, slots=True)
class ServedLinks:
    """Addresses on the server."""

    served: bool = True
    """A server answers."""

    def page(self, name: str, *parts: object, **query: object) -> str:
        """The path of a page, with every part quoted."""
        return path_of(name, *parts) + query_text(query) if name in ROUTES else ""

    def static(self, name: str) -> str:
        """The path of a static file."""
        return f"/static/{name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class WantedPage:
    """A page that was linked to."""

    name: str
    """Its name."""

    parts: tuple[str, ...]
    """The values of its path."""

    query: Mapping[str, str]
    """Its query."""

    def named_parts(self) -> dict[str, str]:
        """The values of its path by name."""
        names = re.findall(r"{(\w+)}", ROUTES[self.name])
        return dict(zip(names, self.parts, strict=True))


@dataclass(slots=True)
class ExportedLinks:
    """Files of an export. Remembers which pages were linked to, so that exactly those are written."""

    depth: int = 0
    """How many folders below the export the current page is."""

    wanted: dict[str, WantedPage] = field(default_factory=dict)
    """File → what it shows, of every page that was linked to."""

    runs: frozenset[str] = frozenset()
    """The runs that are exported."""

    served: bool = False
    """There is no server."""

    def page(self, name: str, *parts: object, **query: object) -> str:
        """The relative path of a page's file; empty for pages that an export does not have."""
        run = str(parts[0]) if name in {"run", "trial", "failures"} else query.get("run")
        if name in _NEED_A_SERVER or "x" in query or (run and run not in self.runs):
            return ""
        fields = {key: value for key, value in query.items() if value not in (None, "")}
        if name == "overview" and run:
            fields = {}
        file = file_of(name, *parts, **fields)
        shown = {key: str(value) for key, value in fields.items()}
        self.wanted.setdefault(file, WantedPage(name=name, parts=tuple(map(str, parts)), query=shown))
        return "../" * self.depth + file

    def static(self, name: str) -> str:
        """The relative path of a static file."""
        return "../" * self.depth + f"static/{name}"


def path_of(name: str, *parts: object) -> str:
    """The path of a page on the server; every part is one quoted segment."""
    path = ROUTES[name]
    for part in parts:
        start, _, rest = path.partition("{")
        path = start + quote(str(part), safe="") + rest.partition("}")[2]
    return path


def file_of(name: str, *parts: object, **query: object) -> str:
    """The file of a page in an export: readable, and never outside of the export."""
    if name == "overview" and not query:
        return "index.html"
    if not parts and not query:
        return f"{name}.html"
    digest = sha256("\0".join([*map(str, parts), *(f"{key}={query[key]}" for key in sorted(query))]).encode())
    readable = "-".join(slug(str(part))[:40] for part in (*parts, *query.values()))
    return f"{name}/{readable}-{digest.hexdigest()[:8]}.html"


def query_text(query: Mapping[str, object]) -> str:
    """`?a=b`, without values that are empty."""
    fields = {key: str(value) for key, value in query.items() if value not in (None, "")}
    return f"?{urlencode(fields)}" if fields else ""
