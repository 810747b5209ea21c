"""Capture → Evidence: a pure function, so that a better reader can be applied to old captures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum

from demeanor.core.text.instructions import with_placeholders
from demeanor.core.text.unordered import sort_enums, sort_sets
from demeanor.core.text.wording import excerpt, one_line
from demeanor.core.values.capture import Capture
from demeanor.core.values.evidence import Evidence, Spent
from demeanor.core.values.exchange import Exchange, Request
from demeanor.core.values.trajectory import Asked, Called, Concluded, Event, Kind, Said, Steered, Trajectory, proved
from demeanor.core.values.verdict import VoidCause
from demeanor.core.values.whole_task import VERIFIER_OUTPUT
from demeanor.observe.attribution import (
    agent_failure,
    certain_failure,
    external_failure,
    gave_up,
    injected,
    missing_network,
    past_gateway,
)
from demeanor.observe.conversations import Conversations
from demeanor.observe.from_exchanges import answers, events_of
from demeanor.observe.leaks import leak
from demeanor.observe.mcp_calls import server_failure, servers, with_mcp_calls
from demeanor.observe.merge import merge
from demeanor.observe.unread import call_gaps, unexplained_change, with_unusual_calls

_NO_EXCHANGES = "the gateway recorded no exchanges, and the agent's own log may not report sub-agents"


def observe(capture: Capture, kinds: Mapping[str, Kind]) -> Evidence:
    """What is known about a trial. `kinds` are the kinds of the agent's own tools."""
    capture = replace(capture, exchanges=with_unusual_calls(capture.exchanges))
    conversations = separate(capture)
    exchanges = conversations.main
    tools = {tool.name: tool for exchange in capture.exchanges for tool in exchange.request.tools}
    log = _with_kinds(capture.log, kinds)
    events, disagreements = merge(events_of(conversations, kinds), log, has_tools=bool(tools))
    events = tuple(proved(event) if isinstance(event, Called) else event for event in events)
    events, unrequested = with_mcp_calls(events, capture)
    disagreements += unrequested
    trajectory = Trajectory(
        events=events,
        gaps=_gaps(capture),
        call_gaps=(*call_gaps(capture.exchanges, capture.log, events), *unexplained_change(capture, events)),
        disagreements=disagreements,
        tools=tools,
        requests_told=capture.requests_told,
        servers=servers(capture),
        sub_agent_gaps=() if capture.exchanges else (_NO_EXCHANGES,),
    )
    trouble = _trouble(capture, exchanges)
    misdeed = (certain_failure if trouble else agent_failure)(capture, exchanges)
    if trouble is not None and (surrender := gave_up(capture, exchanges)) is not None:
        trouble, misdeed = None, misdeed or surrender
    return Evidence(
        trial=capture.trial,
        trajectory=trajectory,
        before=capture.before,
        after=capture.after,
        ends=capture.ends,
        then=capture.then,
        home_before=capture.home_before,
        home_after=capture.home_after,
        prints_events=capture.prints_events,
        asked=prompt_text(exchanges[0].request, capture.facts) if exchanges else None,
        sampling=tuple(_sampling(exchanges[0].request)) if exchanges else (),
        spent=_spent(capture, exchanges, events),
        trouble=trouble,
        misdeed=misdeed,
        leak=leak(capture),
        injected=injected(capture, exchanges),
        rewards=capture.rewards,
        step_rewards=capture.step_rewards,
        verifier_said=_verifier_output(capture),
        user=capture.user,
        prompts=capture.prompts,
        notes=_notes(capture, disagreements, misdeed or ""),
    )


def separate(capture: Capture) -> Conversations:
    """The exchanges of a trial, separated into conversations."""
    told = tuple(event.text for event in capture.log if isinstance(event, Said | Concluded))
    hints = (event.text for event in capture.log if isinstance(event, Steered) and event.text)
    return Conversations(capture.exchanges, (*capture.prompts, *hints), told)


def _trouble(capture: Capture, exchanges: Sequence[Exchange]) -> tuple[VoidCause, str] | None:
    """What voids the trial, if anything. A broken server may be the reason why the agent did not start."""
    trouble = _user_failure(capture) or external_failure(capture, exchanges)
    if trouble is None or trouble[0] is VoidCause.AGENT_START:
        return server_failure(capture, recorded_only=trouble is not None) or trouble
    return trouble


def _user_failure(capture: Capture) -> tuple[VoidCause, str] | None:
    """What is wrong with the user, if anything: the agent then worked under other conditions than the eval says."""
    return next((turn.problem for turn in capture.user if turn.problem is not None), None)


def _sampling(request: Request) -> Iterator[str]:
    """The settings that change how the model answers. Seeds and length limits vary between trials of many agents."""
    for part, names in (
        (request.sampling, ("temperature", "top_p", "top_k")),
        (request.reasoning, ("effort", "budget")),
    ):
        for name in names:
            if (value := getattr(part, name)) is not None:
                yield f"{name} = {value}"


def _with_kinds(log: Sequence[Event], kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
    """The events of the agent's own log with the kinds that the configuration or the eval gives its tools."""
    return tuple(
        replace(event, kind=kinds[event.tool]) if isinstance(event, Called) and event.tool in kinds else event
        for event in log
    )


def _verifier_output(capture: Capture) -> str:
    """The last lines of the verifier's output; of the last step if there are several."""
    outputs = [output.text for path, output in capture.task_files.items() if path.endswith(VERIFIER_OUTPUT)]
    return excerpt(outputs[-1], lines=8) if outputs else ""


def _gaps(capture: Capture) -> tuple[str, ...]:
    if capture.exchanges:
        return ()
    if capture.log_problem:
        return (f"the agent's own log could not be read: {capture.log_problem}",)
    if capture.gaps is not None:
        return capture.gaps
    if not capture.log:
        if why := past_gateway(capture):
            return (f"no exchange was recorded: {why}",)
        return ("no exchange was recorded, and Demeanor can't read this agent's log",)
    return ()


def _spent(capture: Capture, main: Sequence[Exchange], events: Sequence[Event]) -> Spent:
    if capture.said_spent is not None and not capture.exchanges:
        turns = capture.said_spent.turns or max((event.turn for event in events), default=0)
        return replace(capture.said_spent, seconds=capture.seconds, turns=turns)
    asked = [exchange for exchange in capture.exchanges if not exchange.replayed]
    if capture.exchanges and not asked:
        return Spent(seconds=capture.seconds, turns=len(answers(main)), input_tokens=0, output_tokens=0, cost_usd=0.0)
    costs = [exchange.cost_usd for exchange in asked]
    return Spent(
        seconds=capture.seconds,
        turns=len(answers(main)) if capture.exchanges else max((event.turn for event in events), default=0),
        input_tokens=_sum(asked, "input"),
        output_tokens=_sum(asked, "output"),
        cost_usd=fsum(cost for cost in costs if cost is not None) if costs and None not in costs else None,
    )


def _sum(exchanges: Sequence[Exchange], name: str) -> int | None:
    counts = [getattr(exchange.response.usage, name) for exchange in exchanges if exchange.response is not None]
    numbers = [number for number in counts if number is not None]
    return sum(numbers) if numbers else None


def _notes(capture: Capture, disagreements: Sequence[str], misdeed: str) -> tuple[str, ...]:
    notes = [*capture.notes, *disagreements, *_unknown_kinds(capture.log)]
    network = missing_network(capture)
    if network is not None and network not in misdeed:
        notes.append(network)
    left = sum(end.leftovers for end in capture.ends)
    if left:
        notes.append(f"the agent left {left} process{'es' if left > 1 else ''} behind, which Demeanor killed")
    for end in (*capture.ends, *capture.then):
        for name, stream in (("output", end.stdout), ("error output", end.stderr)):
            if stream.truncated:
                notes.append(f"the agent printed {stream.total_bytes} bytes of {name}; the middle was left out")
    if capture.log_problem and capture.exchanges:
        notes.append(f"the agent's own log could not be read: {capture.log_problem}")
    return (*notes, *capture.after.gaps)


def _unknown_kinds(log: Sequence[Event]) -> Iterator[str]:
    """Notes about requests for permission that were answered before the kind of the tool was known."""
    kinds = {event.id: event.kind for event in log if isinstance(event, Called)}
    for event in log:
        if isinstance(event, Asked) and event.kind is Kind.OTHER:
            later = kinds.get(event.id, Kind.OTHER)
            if later is not Kind.OTHER or " " in event.tool:
                told = f"; later it said {later}" if later is not Kind.OTHER else ""
                tool = one_line(event.tool, width=60)
                yield f"{tool}: the rule for `other` answered, since the agent did not say what the tool does{told}"


def prompt_text(request: Request, facts: Mapping[str, str]) -> str:
    """The text, with placeholders for the sandbox's paths, dates and ids, and sets in alphabetical order."""
    return with_placeholders(sort_sets("\n".join(_lines(request))), facts)


def _lines(request: Request) -> Iterator[str]:
    yield "# System prompt\n"
    yield request.system.rstrip() or "(none)"
    yield "\n# Tools"
    if not request.tools:
        yield "\n(none)"
    for tool in request.tools:
        yield f"\n## {tool.name}\n"
        yield tool.description.rstrip() or "(no description)"
        schema = json.dumps(sort_enums(tool.schema), indent=2, sort_keys=True, ensure_ascii=False)
        yield f"\n```json\n{schema}\n```"
    yield ""
