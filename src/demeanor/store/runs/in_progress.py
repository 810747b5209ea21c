"""Which runs are being written right now, without disturbing them."""

from __future__ import annotations

from pathlib import Path

from demeanor.store.runs.ledger import LEDGER

_LOCKS = Path("/proc/locks")


def is_being_written(run: Path) -> bool | None:
    """Whether a process holds the lock of a run's ledger; None where the system does not tell.

    Trying to lock the ledger would answer too, but could make a run that is just starting fail.
    """
    try:
        inode = (run / LEDGER).stat().st_ino
        lines = _LOCKS.read_text("ascii").splitlines()
    except OSError:
        return None
    return any(f":{inode}" in field for line in lines if "FLOCK" in line for field in line.split()[5:6])
