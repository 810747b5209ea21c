"""Attribute the failure of a trial: to its environment (void) or to the agent (fail)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from demeanor.config import asked_itself
from demeanor.core.text.wording import excerpt
from demeanor.core.values.capture import NOTE_REMEDY, Capture
from demeanor.core.values.exchange import Exchange, ProviderError
from demeanor.core.values.fault import FaultKind, kind_in, must_survive
from demeanor.core.values.fingerprints import BASE_URL, TASK_ENVIRONMENT
from demeanor.core.values.messages import ToolResult
from demeanor.core.values.trajectory import Called, Kind, kind_of
from demeanor.core.values.verdict import VoidCause

_CAUSES = {
    "rate_limit": VoidCause.RATE_LIMIT,
    "auth": VoidCause.AUTH,
    "budget": VoidCause.BUDGET,
    "stalled": VoidCause.STALLED,
}
_MISSES = {"cassette": VoidCause.CASSETTE, "prefix": VoidCause.PREFIX}
_CORRUPT = (FaultKind.MALFORMED, FaultKind.CONTENT_TYPE)
_STATES_ERROR = re.compile(r"\W*+(?:[\w.]*(?:error|exception)|fatal)\b.*\w|.*\bpanicked at\b", re.IGNORECASE)
_LAST_LINES = 5
_NO_NETWORK = re.compile(
    r"\b(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH|getaddrinfo failed|could not resolve host|name or service not known"
    r"|temporary failure in name resolution|failed to resolve|network is unreachable|dns error)\b",
    re.IGNORECASE,
)
_NEEDS_NETWORK = re.compile(
    r"\b(?:https?|ssh)://(?!localhost\b|127\.|\[::1)"
    r"|\b(?:pip3? (?:install|download)|npx|npm (?:ci|i|install)|apt(?:-get)? (?:install|update))\b"
    r"|\bgit (?:clone|fetch|pull|push)\b"
)
_READ = 20_000
"""Characters at the end of a text that are searched for complaints about the network."""


def external_failure(capture: Capture, exchanges: Sequence[Exchange]) -> tuple[VoidCause, str] | None:
    """What failed outside the agent. Only the provider's last answer counts: the agent recovered from earlier errors.

    A replay without an answer always counts, because the agent would not have met it in a live run.
    """
    if capture.breakdown is not None:
        return capture.breakdown.cause, capture.breakdown.detail
    error = _last_error(exchanges)
    injected_error = error is not None and exchanges[-1].fault is not None
    if capture.provider_silent and not injected_error:
        silence = f"the trial timed out after the provider had not responded for {capture.provider_silent:.0f} s"
        return VoidCause.STALLED, f"{silence}{_injected_rule(capture.exchanges)}"
    missed = next(
        (exchange.error for exchange in capture.exchanges if exchange.error and exchange.error.reason in _MISSES), None
    )
    if missed is not None:
        return _MISSES[missed.reason], missed.message
    if (why := start_failure(capture)) is not None:
        return VoidCause.AGENT_START, why
    if _stopped_at_corrupt_answer(capture, exchanges):
        return VoidCause.PROVIDER, f"the agent stopped at a corrupt answer{_injected_rule(exchanges)}"
    if error is None and _failed(capture) and (other := _last_error(capture.exchanges)) and other.reason == "stalled":
        error = other  # a sub-agent or a side request waited in vain, and the agent failed because of it
    if error is None or error.reason == "bad_request" or error.own:
        return None
    status = f"HTTP {error.status}: " if error.status else ""
    return _CAUSES.get(error.reason, VoidCause.PROVIDER), f"{status}{error.message}"


def start_failure(capture: Capture) -> str | None:
    """How an agent failed before its first model request, if it did.

    Only agents that use the gateway are expected to make a request, and success without one is judged: some prompts
    need no model. An agent that called a tool has started, whichever way it reached its model.
    """
    uses_gateway = BASE_URL in capture.facts and TASK_ENVIRONMENT not in capture.facts
    called = any(isinstance(event, Called) for event in capture.log)
    if not uses_gateway or capture.exchanges or called or not capture.ends or capture.exit_ok is True:
        return None
    how = _killed(capture) or _bad_exit(capture)
    network = missing_network(capture)
    return f"the agent made no model request: it {how}" + (f"\n{network}" if network is not None else "")


def injected(capture: Capture, exchanges: Sequence[Exchange]) -> bool:
    """Whether the failure is an injected fault, so that another attempt would fail again."""
    if capture.breakdown is not None or external_failure(capture, exchanges) is None:
        return False
    return bool(_injected_rule(capture.exchanges if capture.provider_silent else exchanges))


def gave_up(capture: Capture, exchanges: Sequence[Exchange]) -> str | None:
    """How the agent gave up because of an injected fault that it should survive, if it did."""
    ended_by = capture.exchanges if capture.provider_silent else exchanges
    if not ended_by or not must_survive(ended_by[-1].fault or "") or not injected(capture, exchanges):
        return None
    _, detail = external_failure(capture, exchanges) or (None, "")
    return f"the agent gave up on a fault that it should survive: {detail}"


def _stopped_at_corrupt_answer(capture: Capture, exchanges: Sequence[Exchange]) -> bool:
    """Whether the agent ended at a complete but corrupted answer, which it may not have understood.

    An answer without tool calls may be the last one; requested tools must have been called.
    """
    last = exchanges[-1] if exchanges else None
    if last is None or last.response is None or last.error is not None or kind_in(last.fault or "") not in _CORRUPT:
        return False
    requested = {(call.id, call.name) for call in last.response.calls}
    used = {(event.id, event.tool) for event in capture.log if isinstance(event, Called)}
    return capture.exit_ok is False or bool(requested - used)


def _injected_rule(exchanges: Sequence[Exchange]) -> str:
    rule = exchanges[-1].fault if exchanges else None
    return f" (injected: {rule})" if rule else ""


def agent_failure(capture: Capture, exchanges: Sequence[Exchange]) -> str | None:
    """How the agent itself failed as a program, if it did."""
    failure = _killed(capture) or _refused(exchanges)
    if failure is None and capture.exit_ok is False and capture.ends:
        failure = _bad_exit(capture)
    network = missing_network(capture) if failure is not None else None
    return f"{failure}\n{network}" if network is not None else failure


def certain_failure(capture: Capture, exchanges: Sequence[Exchange]) -> str | None:
    """How the agent itself failed, if it did so whatever else went wrong: other failures may have brought about that it
    ran out of time, or ended with an error."""
    out_of_memory = any(end.ended_by == "memory" for end in (*capture.ends, *capture.then))
    return _killed(capture) if out_of_memory else _refused(exchanges)


def _refused(exchanges: Sequence[Exchange]) -> str | None:
    """Why its last request was refused, if that was because of the request."""
    error = _last_error(exchanges)
    if error is None or not (error.own or error.reason == "bad_request"):
        return None
    if error.own:
        return f"sent a request that was refused: {error.message}" if error.reason == "bad_request" else error.message
    return f"sent a request that the provider rejected (HTTP {error.status}): {error.message}"


def _killed(capture: Capture) -> str | None:
    for end in (*capture.ends, *capture.then):
        if end.ended_by == "wall":
            return f"reached its time limit and was stopped after {end.seconds:.0f} s"
        if end.ended_by == "idle":
            return f"was idle for too long and was killed after {end.seconds:.0f} s"
        if end.ended_by == "memory":
            return f"exceeded its memory limit ({end.peak_bytes / 2**20:.0f} MiB) and was killed"
    return None


def missing_network(capture: Capture) -> str | None:
    """What the agent or its commands said of a network, if the sandbox had none besides the agent's model; or the
    command that it waited for until it was stopped, if that seems to need one.
    """
    if capture.facts.get("network") not in ("gateway", "none"):
        return None
    texts = [text for end in (*capture.ends, *capture.then) for text in (end.stderr.text, end.stdout.text)]
    request = capture.exchanges[-1].request if capture.exchanges else None
    for message in request.messages if request is not None else ():
        texts += [part.text for part in message.parts if isinstance(part, ToolResult)]
    if why := past_gateway(capture):
        return why
    lines = [line for text in texts for line in text[-_READ:].splitlines()]
    said = next((line.strip() for line in reversed(lines) if _NO_NETWORK.search(line)), None)
    waited = next(filter(_NEEDS_NETWORK.search, _unanswered(capture)), None) if said is None else None
    if said is None and waited is None:
        return None
    tried = f"it tried to use one: {said}" if said else f"it waited for what seems to need one: {waited}"
    remedy = 'put what it needs into the workspace, or set network = "host" for the eval'
    return f"its sandbox has no network, and {excerpt(tried, lines=1)}{NOTE_REMEDY}{remedy}"


def _unanswered(capture: Capture) -> Iterator[str]:
    """The texts in the last commands of an agent that was stopped while it waited for their results."""
    stopped = any(end.ended_by in ("wall", "idle") for end in (*capture.ends, *capture.then))
    response = capture.exchanges[-1].response if capture.exchanges and stopped else None
    for call in response.calls if response is not None else ():
        if kind_of(call.name) in {Kind.EXECUTE, Kind.FETCH}:
            yield from (text for text in (call.arguments or {}).values() if isinstance(text, str))


def past_gateway(capture: Capture) -> str:
    """Which hosts an agent without any exchange asked for, and what to do if one is its model's; empty for none."""
    if capture.exchanges:
        return ""
    return asked_itself(host for end in (*capture.ends, *capture.then) for host in end.asked_hosts)


def _failed(capture: Capture) -> bool:
    """Whether the agent failed as a program."""
    return capture.exit_ok is False or any(end.ended_by != "exit" for end in (*capture.ends, *capture.then))


def _last_error(exchanges: Sequence[Exchange]) -> ProviderError | None:
    return exchanges[-1].error if exchanges else None


def _bad_exit(capture: Capture) -> str:
    """How its last program ended, with its last output and what it did not find in the sandbox."""
    end = capture.ends[-1]
    how = f"signal {end.signal}" if end.signal is not None else f"exit code {end.exit_code}"
    output = _last_output(end.stderr.text or end.stdout.text)
    missed = (note for note in capture.notes if NOTE_REMEDY in note)
    return "\n".join(filter(None, (f"ended with {how}", output, *missed)))


def _last_output(text: str) -> str:
    """The last lines, after the line that states the error: many programs print their usage or a stack behind it."""
    lines = text.splitlines()
    stated = next((index for index, line in enumerate(lines) if _STATES_ERROR.match(line)), len(lines))
    if stated >= len(lines) - _LAST_LINES:
        return excerpt(text, lines=_LAST_LINES)
    error = lines.pop(stated)
    return f"{excerpt(error, lines=1)}\n{excerpt(chr(10).join(lines), lines=_LAST_LINES)}"
