"""When a provider's silence is to blame for a trial that ran out of time."""

from __future__ import annotations

_LONG = 10.0


def stall_seconds(silent: float | None, timeout: float) -> float | None:
    """How long the provider had owed a byte, if that is long enough to blame it for a time-out after `timeout`."""
    return silent if silent is not None and silent >= min(_LONG, timeout / 4) else None
