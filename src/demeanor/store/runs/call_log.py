"""The call chains of evals that ask for it (`log=True`), in `logs/` beside their source."""

from __future__ import annotations

from pathlib import Path

from demeanor.core.record import Record
from demeanor.core.text import slug


def leave_log(source: Path, record: Record) -> Path:
    """Write one trial's verdict and call chain to `logs/<eval>.<subject>.trial-N.log`; the newest run's stays."""
    folder = source.parent / "logs"
    folder.mkdir(exist_ok=True)
    path = folder / f"{slug(record.eval)}.{slug(record.subject)}.trial-{record.number}.log"
    path.write_text(f"{record.verdict.outcome}\n{record.chain}\n", "utf-8")
    return path
