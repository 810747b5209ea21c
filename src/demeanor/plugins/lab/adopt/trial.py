"""A stored trial as a session: its exchanges, its steps, and its files before and after."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import DemeanorError, StoreError
from demeanor.core.values.record import Record
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.session import PastSession, Round
from demeanor.core.values.trajectory import Event, Said
from demeanor.observe import observe
from demeanor.results import StoredRun
from demeanor.runner import Catalog, choose_evals, exchange_rounds
from demeanor.store.captures import CaptureStore, capture_text, read_capture_json, read_start, read_start_hash


def trial_session(catalog: Catalog, run: StoredRun, record: Record, captures: CaptureStore | None) -> PastSession:
    """The session of a trial; raises StoreError if its capture is not available."""
    if run.place.origin != "demeanor":
        raise StoreError(f"{run.name} was imported from {run.place.origin}, and imported runs have no steps")
    text, where = capture_text(record, run=run.folder, captures=captures, home=run.place.source)
    start = read_start_hash(text, where=where)
    before = read_start(start, run=run.folder, captures=captures) if start else None
    capture = read_capture_json(text, before or Tree(), where=where)
    agent, _, model = record.subject.partition(":")
    scenario, gaps = _scenario(catalog, record)
    if before is None:
        gaps.append("the starting files of the trial were not stored")
    return PastSession(
        agent=agent,
        model=model,
        id=record.trial,
        rounds=_rounds(capture, scenario),
        folder=capture.facts.get("workspace", ""),
        started=record.ended,
        before=before,
        after=capture.after if before is not None else None,
        scenario=scenario,
        gaps=tuple(gaps),
    )


def _rounds(capture: Capture, scenario: Scenario) -> tuple[Round, ...]:
    """The prompts of the trial, each with what the agent did; all of it belongs to the last if that can't be told."""
    events = _events(capture)
    prompts = capture.prompts or scenario.prompts
    if len(prompts) > 1 and capture.exchanges:
        rounds = exchange_rounds(capture.exchanges, prompts, events)
        if len(rounds) == len(prompts):
            return rounds
    return (*(Round(prompt=prompt) for prompt in prompts[:-1]), Round(prompt=prompts[-1], events=events))


def _events(capture: Capture) -> tuple[Event, ...]:
    """The steps; an agent that prints text instead of events said what it printed."""
    evidence = observe(capture, {})
    events = evidence.trajectory.events
    printed = capture.ends[-1].stdout.text.strip() if capture.ends and not capture.prints_events else ""
    if printed and not evidence.trajectory.final_text:
        return (*events, Said(turn=1 + max((event.turn for event in events), default=0), text=printed))
    return events


def _scenario(catalog: Catalog, record: Record) -> tuple[Scenario, list[str]]:
    """What the trial's eval says about the situation besides its prompts and files, and what can't be taken over."""
    try:
        (eval_,) = choose_evals(catalog.config, names=[record.eval])
    except (DemeanorError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        gap = f"whether the eval {record.eval} had prior messages, approval rules or parameters is not known: {reason}"
        return Scenario(prompts=("",)), [gap]
    scenario = eval_.scenario
    settings = {"mcp": scenario.mcp, "faults": scenario.faults, "network": scenario.network}
    gaps = [f"copy `{name}` from the eval {eval_.name}" for name, value in settings.items() if value]
    return replace(scenario, files={}, template=None, setup=None), gaps
