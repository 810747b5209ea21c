"""Whose fault it was when a trial did not run to its end: the world's (void) or the agent's (fail)."""

from __future__ import annotations

from collections.abc import Sequence

from demeanor.core.capture import Capture
from demeanor.core.exchange import Exchange, ProviderError
from demeanor.core.fault import FaultKind, kind_in
from demeanor.core.process import ProcessEnd
from demeanor.core.text import excerpt
from demeanor.core.trajectory import Called
from demeanor.core.verdict import VoidCause

_CAUSES = {
    "rate_limit": VoidCause.RATE_LIMIT,
    "auth": VoidCause.AUTH,
    "budget": VoidCause.BUDGET,
    "stalled": VoidCause.STALLED,
}
_SPOILED = (FaultKind.MALFORMED, FaultKind.CONTENT_TYPE)


def trouble(capture: Capture, exchanges: Sequence[Exchange]) -> tuple[VoidCause, str] | None:
    """What broke around the agent. The provider's last word counts: an agent that got over an error has coped.

    A replay that had no answer is another matter: whatever the agent did without one, nobody would do.
    """
    if capture.breakdown is not None:
        return capture.breakdown.cause, capture.breakdown.detail
    error = _last_error(exchanges)
    told_by_itself = error is not None and exchanges[-1].fault is not None
    if capture.provider_silent and not told_by_itself:
        silence = f"the provider was silent for {capture.provider_silent:.0f} s when the time ran out"
        return VoidCause.STALLED, f"{silence}{_asked_for(capture.exchanges)}"
    missed = next((one.error for one in capture.exchanges if one.error and one.error.reason == "cassette"), None)
    if missed is not None:
        return VoidCause.CASSETTE, missed.message
    if _choked(capture, exchanges):
        return VoidCause.PROVIDER, f"the agent did not get over a spoiled answer{_asked_for(exchanges)}"
    if error is None or error.reason == "bad_request":
        return None
    status = f"HTTP {error.status}: " if error.status else ""
    return _CAUSES.get(error.reason, VoidCause.PROVIDER), f"{status}{error.message}"


def injected(capture: Capture, exchanges: Sequence[Exchange]) -> bool:
    """Whether the trouble is a fault that was asked for, so that another attempt would meet it again."""
    if capture.breakdown is not None or trouble(capture, exchanges) is None:
        return False
    return bool(_asked_for(capture.exchanges if capture.provider_silent else exchanges))


def _choked(capture: Capture, exchanges: Sequence[Exchange]) -> bool:
    """Whether the agent ended at an answer that was all there, but spoiled, so that it may not have understood it.

    An answer that asks for nothing more may well be the last one; tools that it asks for must have been used.
    """
    last = exchanges[-1] if exchanges else None
    if last is None or last.response is None or last.error is not None or kind_in(last.fault or "") not in _SPOILED:
        return False
    asked_for = {(call.id, call.name) for call in last.response.calls}
    used = {(event.id, event.tool) for event in capture.log if isinstance(event, Called)}
    return capture.exit_ok is False or bool(asked_for - used)


def _asked_for(exchanges: Sequence[Exchange]) -> str:
    rule = exchanges[-1].fault if exchanges else None
    return f" (injected: {rule})" if rule else ""


def misdeed(capture: Capture, exchanges: Sequence[Exchange]) -> str | None:
    """What the agent itself did wrong as a program."""
    for end in capture.ends:
        if end.ended_by == "wall":
            return f"ran out of its time ({end.seconds:.0f} s)"
        if end.ended_by == "idle":
            return f"did nothing for too long and was ended after {end.seconds:.0f} s"
        if end.ended_by == "memory":
            return f"used more memory than it may ({end.peak_bytes / 2**20:.0f} MiB) and was ended"
    error = _last_error(exchanges)
    if error is not None and error.reason == "bad_request":
        return f"sent a request that the provider refused (HTTP {error.status}): {error.message}"
    if capture.exit_ok is False and capture.ends:
        return _bad_exit(capture.ends[-1])
    return None


def _last_error(exchanges: Sequence[Exchange]) -> ProviderError | None:
    return exchanges[-1].error if exchanges else None


def _bad_exit(end: ProcessEnd) -> str:
    how = f"signal {end.signal}" if end.signal is not None else f"exit code {end.exit_code}"
    said = excerpt(end.stderr.text or end.stdout.text, lines=5)
    return f"ended with {how}" + (f"\n{said}" if said else "")
