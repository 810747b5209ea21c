"""The dashboard as files with relative links: the last night, its evals and its trials."""

from __future__ import annotations

import re
from pathlib import Path

from demeanor.core.values.errors import UsageError
from demeanor.results import nights_until
from demeanor.web.links import ExportedLinks, WantedPage
from demeanor.web.pages.context import PageContext
from demeanor.web.pages.site import DashboardSite
from demeanor.web.templating import STYLE, static_text

MOST_PAGES = 5000
_ICON = "icon.svg"


def export_pages(context: PageContext, folder: Path) -> int:
    """Write every page that can be reached from the overview of the last night; returns their number."""
    history = context.history()
    newest = history.runs(kind="nightly", limit=1) or history.runs(limit=1)
    if not newest:
        raise UsageError("the history has no run yet\n  → demeanor run or demeanor nightly starts one")
    site = DashboardSite(context)
    runs = frozenset(nights_until(history, newest[0], 0)[-1].names)
    pages = {"index.html": WantedPage(name="overview", parts=(), query={})}
    written: set[str] = set()
    try:
        while len(written) < MOST_PAGES and (left := [file for file in pages if file not in written]):
            for file in left[: MOST_PAGES - len(written)]:
                page = pages[file]
                links = ExportedLinks(depth=file.count("/"), wanted=pages, runs=runs)
                text = site.render(page.name, page.named_parts(), page.query, links)
                _write(folder / file, re.sub(r' href=""', "", text))
                written.add(file)
        _write(folder / "static" / STYLE, static_text(STYLE))
        _write(folder / "static" / _ICON, static_text(_ICON))
    except OSError as error:
        raise UsageError(f"--export: {folder} can't be written: {error.strerror}") from None
    return len(written)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
