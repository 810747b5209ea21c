"""Capture of a trial → the instructions of its first request, and where in the repository they are written."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from demeanor.config import Config
from demeanor.core.text.instructions import PromptInstruction, instructions
from demeanor.core.trees.git import GitError
from demeanor.core.values.errors import UsageError
from demeanor.core.values.record import Record
from demeanor.observe import first_request
from demeanor.results.find_trial import find_record
from demeanor.results.runs import StoredRun
from demeanor.results.trial_steps import load_capture
from demeanor.store.captures import open_capture_store
from demeanor.vcs import TextLocation, find_texts, tracked_text_files


@dataclass(frozen=True, kw_only=True, slots=True)
class LocatedInstruction:
    """An instruction with the file that it comes from."""

    instruction: PromptInstruction
    """The instruction. Hostile text: an agent sent it."""

    location: TextLocation | None
    """Where it is written; None if no tracked file contains it."""


def sent_instructions(run: StoredRun, record: Record, config: Config) -> tuple[PromptInstruction, ...]:
    """The instructions of the main agent's first request; raises UsageError if it made none."""
    capture = load_capture(run.place, record, open_capture_store(config))
    request = first_request(capture.exchanges)
    if request is None:
        remedy = f"see what happened: demeanor trace {shlex.quote(str(record.trial))}"
        raise UsageError(f"{record.trial}: the agent sent no request to a model\n  → {remedy}")
    return instructions(request, capture.facts)


def changed_instructions(before: StoredRun, after: StoredRun, trials: str, config: Config) -> tuple[str, ...]:
    """A line for each instruction of the prompt and tools that only one of two runs sent in `trials`: `- system: text`
    or `+ system: text (file:line)`."""
    old, new = (
        {part.id: part for part in sent_instructions(run, find_record(run, trials), config) if part.kind != "section"}
        for run in (before, after)
    )
    gone = [f"- {part.place}: {part.text}" for part in old.values() if part.id not in new]
    added = locate([part for part in new.values() if part.id not in old], config)
    return (*gone, *map(_added, added))


def _added(row: LocatedInstruction) -> str:
    place = f" ({row.location.path}:{row.location.line})" if row.location else ""
    return f"+ {row.instruction.place}: {row.instruction.text}{place}"


def locate(instructions: Sequence[PromptInstruction], config: Config) -> tuple[LocatedInstruction, ...]:
    """The instructions with the tracked files that contain them; outside of a git repository, none is found."""
    evals = tuple(path.rstrip("/") for path in config.paths)

    def in_evals(path: str) -> bool:
        return any(path == place or path.startswith(f"{place}/") for place in evals)

    texts = {instruction.id: instruction.text for instruction in instructions if instruction.kind != "section"}
    try:
        places = find_texts(texts, tracked_text_files(config.root, leave_out=in_evals))
    except GitError:
        places = {}
    return tuple(
        LocatedInstruction(instruction=instruction, location=next(iter(places.get(instruction.id, ())), None))
        for instruction in instructions
    )
