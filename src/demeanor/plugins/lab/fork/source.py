"""Find the trial to fork: its capture, its eval as it is now, and whether both still belong together."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from demeanor.config import Config
from demeanor.core.text.wording import one_line
from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import DemeanorError, StoreError, UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import scenario_hashes
from demeanor.core.values.record import Record
from demeanor.core.values.starting_state import start_hash
from demeanor.core.values.subject import Subject
from demeanor.core.values.trajectory import Called, Event, Said
from demeanor.core.values.trial import Trial
from demeanor.results import StoredRun, read_steps
from demeanor.runner import (
    DEFAULT_TIMEOUT,
    Catalog,
    ForkedTrial,
    choose_evals,
    load_prefixes,
    temporary_templates,
    with_faults,
)
from demeanor.store.captures import capture_text, open_capture_store, read_capture_json, read_start_hash

_WIDTH = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkSource:
    """The trial to fork, and what it did."""

    run: StoredRun
    """Its run."""

    record: Record
    """Its record."""

    forked: ForkedTrial
    """The trial with its capture."""

    did: tuple[str, ...]
    """What it did at each step. Hostile text."""

    def require_step(self, step: int) -> None:
        """Raise UsageError if there is no such step."""
        if step > len(self.did):
            raise UsageError(
                f"--at {step}: {self.record.trial} has steps 1 to {len(self.did)}\n"
                f"  → list them: demeanor fork {shlex.quote(self.record.trial)} --run {self.run.name}"
            )


def find_source(run: StoredRun, record: Record, config: Config, catalog: Catalog) -> ForkSource:
    """The trial to fork; raises UsageError if trials can't start from it."""
    if run.place.origin != "demeanor":
        raise UsageError(f"{run.name} was imported from {run.place.origin}, and imported runs have no recordings")
    captures = open_capture_store(config)
    text, where = capture_text(record, run=run.place.folder, captures=captures, home=run.place.source)
    capture = read_capture_json(text, Tree(), where=where)
    eval_ = _eval_of(run, record, config)
    _require_same_scenario(eval_, capture, read_start_hash(text, where=where), record)
    agent, _, model = record.subject.partition(":")
    subject = run.request.intervention.on(Subject(agent=agent, model=model))
    trial = Trial(eval=eval_, subject=subject, number=record.number, timeout=DEFAULT_TIMEOUT)
    forked = ForkedTrial(trial=trial, capture=capture, redactor=catalog.redactor)
    steps = forked.steps
    if not steps:
        raise UsageError(
            f"{record.trial}: the gateway recorded no answer of a model, so there is no step to start from\n"
            f"  → see what happened: demeanor trace {shlex.quote(str(record.trial))}"
        )
    events = read_steps(run.place, record, captures)
    return ForkSource(
        run=run, record=record, forked=forked, did=tuple(describe_turn(events, n) for n in range(1, len(steps) + 1))
    )


def describe_turn(events: Sequence[Event], turn: int) -> str:
    """What an agent did in a turn: the calls that its model requested, or else its text. Hostile text."""
    calls = [event for event in events if isinstance(event, Called) and event.turn == turn and not event.by_sub_agent]
    if calls:
        return one_line("; ".join(_call(event) for event in calls), width=_WIDTH)
    texts = [event.text for event in events if isinstance(event, Said) and event.turn == turn]
    return one_line(f"said: {' '.join(texts)}", width=_WIDTH) if texts else "(an empty answer)"


def _call(event: Called) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in event.arguments.items()) or event.raw
    return f"{event.tool}({arguments})"


def _eval_of(run: StoredRun, record: Record, config: Config) -> Eval:
    """The eval of a trial as it is defined now, with the faults of its run."""
    paths = list(dict.fromkeys(path.partition("::")[0] for path in run.request.paths))
    here = [str(config.root / path) for path in paths if (config.root / path).exists()]
    (eval_,) = choose_evals(config, paths=here, names=(record.eval,))
    if eval_.task is not None:
        raise UsageError(f"{record.trial}: trials of whole tasks can't be forked, because Harbor starts their agents")
    return with_faults(load_prefixes([eval_])[0], run.request.faults or config.faults)


def _require_same_scenario(eval_: Eval, capture: Capture, start: str, record: Record) -> None:
    """Raise UsageError if the agent would find another situation than the recorded one."""
    now = scenario_hashes(eval_.scenario)
    edited = [part for part in {**capture.scenario, **now} if now.get(part) != capture.scenario.get(part)]
    if start and start != _current_start(eval_):
        edited.append("files")
    if capture.breakdown is None and edited:
        changed = (
            f"the scenario of its eval has changed since ({', '.join(edited)}), so its agent would not do the same"
        )
        remedy = f"run the eval again, and fork a trial of that run: demeanor run {eval_.source.path}"
        raise UsageError(f"{record.trial}: {changed} again\n  → {remedy}")


def _current_start(eval_: Eval) -> str:
    """The hash of the starting workspace as it is defined now."""

    async def hash_of_template() -> str:
        with temporary_templates() as cache:
            return start_hash((await cache.get(eval_.scenario, where=eval_.source.path)).tree)

    try:
        return asyncio.run(hash_of_template())
    except DemeanorError as error:
        raise StoreError(f"{eval_.source.path}: the starting files can't be created: {error}") from None


def stored_beside(source: ForkSource) -> Path | None:
    """The folder of the recorded trial; None if it is not on this machine."""
    run = source.run.folder
    folder = run.folder / source.record.folder if run and source.record.folder else None
    return folder if folder and folder.is_dir() else None
