"""Captures with their workspaces, as they were; what can't be restored truly is refused."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache

from demeanor.core.capture import Capture
from demeanor.core.errors import DemeanorError, StoreError
from demeanor.core.eval import Eval
from demeanor.core.fingerprints import eval_hash, scenario_hashes
from demeanor.core.record import Record
from demeanor.core.starting_state import SECRETS, start_hash
from demeanor.core.tree import Tree
from demeanor.runner.template import TemplateCache
from demeanor.store.captures.capture_json import read_capture_json, read_start_hash
from demeanor.store.captures.capture_store import CaptureStore, capture_text, read_start
from demeanor.store.runs.run_folder import RunFolder

_AT_HAND = 4
"""How many starting states are held in memory at once."""


class NotRestorable(Exception):
    """A trial can't be judged again; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Today:
    """How a scenario's workspace is laid out today."""

    tree: Tree | None
    """Its files; None where that does not work."""

    problem: str = ""
    """Why not, if so."""


class Restorer:
    """Restores the captures of one run."""

    def __init__(
        self, run: RunFolder | None, vault: CaptureStore | None, templates: TemplateCache, *, as_it_was: bool
    ) -> None:
        """`as_it_was`: whether a trial may be judged whose scenario has been edited since."""
        self._run = run
        self._vault = vault
        self._templates = templates
        self._as_it_was = as_it_was
        self._start = lru_cache(_AT_HAND)(lambda name: read_start(name, run=run, captures=vault))

    async def capture(self, record: Record, one: Eval) -> Capture:
        """An attempt's capture with its workspace before and after; raises Refused."""
        try:
            text, where = await asyncio.to_thread(capture_text, record, run=self._run, captures=self._vault)
            capture = read_capture_json(text, Tree(), where=where)
            if capture.breakdown is not None:
                return capture
            before = await self._before(record, one, capture, read_start_hash(text, where=where))
            return read_capture_json(text, before, where=where)
        except StoreError as error:
            raise NotRestorable(str(error).splitlines()[0]) from None

    async def _before(self, record: Record, one: Eval, capture: Capture, start: str | None) -> Tree:
        """The state that the workspace started from."""
        today = await self._today(one)
        if start is None:
            return _unnamed(record, one, today)
        if not start:
            raise NotRestorable(SECRETS)
        kept = await asyncio.to_thread(self._start, start)
        edited = _edited(one, capture, today, start)
        if edited and not self._as_it_was:
            raise NotRestorable(
                f"its scenario has been edited since ({', '.join(edited)}), so it was a trial of something else;"
                " --as-it-was judges it all the same"
            )
        if kept is not None:
            return kept
        if today.tree is None or start_hash(today.tree) != start:
            raise NotRestorable(
                "its starting files were not kept, being too large, and those of the scenario are others now"
            )
        return today.tree

    async def _today(self, one: Eval) -> _Today:
        if one.task is not None:
            return _Today(tree=Tree())  # its files are Harbor's, and part of what the task is known by
        try:
            template = await self._templates.get(one.scenario, where=one.source.path)
        except DemeanorError as error:
            return _Today(tree=None, problem=str(error).splitlines()[0])
        return _Today(tree=template.tree)


def _unnamed(record: Record, one: Eval, today: _Today) -> Tree:
    """Of a capture that does not say what it started from: the scenario's own files, if nothing was edited at all."""
    if today.tree is None:
        raise NotRestorable(f"its workspace can't be laid out any more: {today.problem}")
    if not record.eval_hash or eval_hash(one, today.tree) != record.eval_hash:
        raise NotRestorable(
            "it was kept by an older Demeanor, without its starting files, and its eval has been edited since:"
            " nobody can tell whether those are still the same"
        )
    return today.tree


def _edited(one: Eval, capture: Capture, today: _Today, start: str) -> list[str]:
    """The parts of the scenario that are not what they were."""
    now = scenario_hashes(one.scenario, one.task)
    parts = [part for part, was in capture.scenario.items() if now.get(part) != was]
    if today.tree is None:
        parts.append(f"its files can't be laid out: {today.problem}")
    elif start_hash(today.tree) != start:
        parts.append("files")
    return parts
