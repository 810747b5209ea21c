"""The prompt with each instruction coloured by what the evals say about it; from the reports of `demeanor cover`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.core.text.codec import decode
from demeanor.core.values.errors import StoreError, UnknownName
from demeanor.reports.prompt_coverage import (
    COVER_DOCUMENT,
    FOLDER,
    MEANINGS,
    ORDER,
    REPORT,
    CoverReport,
    headline,
    notices,
    promises,
)
from demeanor.web.pages.context import PageContext

MARKS = {"held": "good", "not held": "bad", "redundant": "open", "harmful": "news", "not tried": "none"}
"""Answer → the class of its colour."""


def cover_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """The newest report, or that of `?run=`."""
    files = {path.parent.name: path for path in sorted((context.results / FOLDER).glob(f"*/{REPORT}"))}
    run = query.get("run") or next(reversed(files), "")
    if not run:
        return {"report": None, "runs": ()}
    if run not in files:
        raise UnknownName("run", run, files, where=context.results / FOLDER)
    report = read_report(files[run])
    instructions = {instruction.id: instruction for instruction in report.instructions}
    shown = {piece.id for piece in report.prompt}
    return {
        "report": report,
        "headline": headline(report),
        "promises": tuple(promises(report)),
        "runs": tuple(reversed(files)),
        "known": instructions,
        "system": [piece for piece in report.prompt if piece.place == "system"],
        "tools": [piece for piece in report.prompt if piece.place != "system"],
        "elsewhere": [instruction for instruction in report.instructions if instruction.id not in shown],
        "counts": Counter(instruction.answer for instruction in report.instructions),
        "order": ORDER,
        "meanings": MEANINGS,
        "marks": MARKS,
        "notices": notices,
        "with_page": {eval_.eval for eval_ in report.evals if _has_history(context, eval_.eval)},
    }


def _has_history(context: PageContext, name: str) -> bool:
    """Whether an eval has a page: a run of the history has it."""
    history = context.history()
    return bool(context.cached(("eval", name), history.database.version(), lambda: history.eval_history(name)))


def read_report(path: Path) -> CoverReport:
    """The report in a file; raises StoreError if it can't be read."""
    try:
        data = json.loads(path.read_text("utf-8"))
        name = data.pop("schema", None) if isinstance(data, dict) else None
        if name != COVER_DOCUMENT.name:
            raise StoreError(f"{path}: written by another version of Demeanor ({name!r})")
        return decode(CoverReport, data)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: can't be read: {error}") from None
