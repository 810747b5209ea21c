"""The last scan of a trial, as `demeanor fork --scan` stored it beside the trial."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from demeanor.core.values.record import Record
from demeanor.store.runs import RunFolder

SCAN_FILE = "fork.json"
"""The report of the last scan, in the folder of the recorded trial."""


_MOST_BYTES = 4 * 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredScan:
    """A scan that was stored beside its trial."""

    report: dict[str, Any]
    """The report of the scan, as in docs/fork.schema.json. Hostile text."""

    problem: str = ""
    """Why it can't be shown; empty if it can."""


def stored_scan(folder: RunFolder | None, record: Record) -> StoredScan | None:
    """The scan of a trial; None if there was none, or the folder of its run is not on this machine."""
    if folder is None or not record.folder:
        return None
    path = folder.folder / record.folder / SCAN_FILE
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > _MOST_BYTES:
            return StoredScan(report={}, problem=f"{path} has more than {_MOST_BYTES} bytes")
        report = json.loads(path.read_text("utf-8"))
        if not isinstance(report, dict) or not {"steps", "decisive", "outcome"} <= set(report):
            return StoredScan(report={}, problem=f"{path} is not the report of a scan")
    except (OSError, ValueError) as error:
        return StoredScan(report={}, problem=f"{path} can't be read: {error}")
    return StoredScan(report=report)
