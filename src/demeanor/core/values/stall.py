"""Whether a slow provider is the reason for a timeout, of the trial or of the agent itself."""

from __future__ import annotations

_LONG = 10.0


def stall_seconds(silent: float | None, timeout: float) -> float | None:
    """`silent`, the seconds waited for the provider, if that is long enough to explain a timeout after `timeout`."""
    return silent if silent is not None and silent >= min(_LONG, timeout / 4) else None
