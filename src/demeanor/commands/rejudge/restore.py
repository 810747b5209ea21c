"""Restore captures together with their workspaces. A workspace that can't be restored exactly is refused."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache

from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import DemeanorError, StoreError
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import scenario_hashes
from demeanor.core.values.record import Record
from demeanor.core.values.starting_state import SECRETS, start_hash
from demeanor.runner import TemplateCache
from demeanor.store.captures import CaptureStore, capture_text, read_capture_json, read_start, read_start_hash
from demeanor.store.runs import RunPlace

_CACHED_STARTS = 4
"""How many starting states are cached in memory."""


class NotRestorable(Exception):
    """A trial can't be judged again; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _CurrentFiles:
    """The starting files of a scenario as it is now."""

    tree: Tree | None
    """The files; None when they can't be created."""

    problem: str = ""
    """Why they can't be created; empty when they can."""


class Restorer:
    """Restores the captures of one run."""

    def __init__(
        self, place: RunPlace, captures: CaptureStore | None, templates: TemplateCache, *, as_it_was: bool
    ) -> None:
        """With `as_it_was`, trials are restored even if their scenario was edited since."""
        self._place = place
        self._captures = captures
        self._templates = templates
        self._as_it_was = as_it_was
        self._start = lru_cache(_CACHED_STARTS)(lambda name: read_start(name, run=place.folder, captures=captures))

    async def capture(self, record: Record, eval_: Eval) -> Capture:
        """Return an attempt's capture with its workspace before and after, or raise NotRestorable."""
        try:
            place = self._place
            text, where = await asyncio.to_thread(
                capture_text, record, run=place.folder, captures=self._captures, home=place.source
            )
            capture = read_capture_json(text, Tree(), where=where)
            if capture.breakdown is not None:
                return capture
            before = await self._starting_tree(eval_, capture, read_start_hash(text, where=where))
            return read_capture_json(text, before, where=where)
        except StoreError as error:
            raise NotRestorable(str(error).splitlines()[0]) from None

    async def _starting_tree(self, eval_: Eval, capture: Capture, start: str) -> Tree:
        """Return the starting state of the workspace."""
        current = await self._current(eval_)
        if not start:
            raise NotRestorable(SECRETS)
        stored = await asyncio.to_thread(self._start, start)
        edited = _edited_parts(eval_, capture, current, start)
        if edited and not self._as_it_was:
            raise NotRestorable(
                f"its scenario has been edited since ({', '.join(edited)}), so it tested something else;"
                " judge it anyway with --as-it-was"
            )
        if stored is not None:
            return stored
        if current.tree is None or start_hash(current.tree) != start:
            raise NotRestorable(
                "its starting files were too large to store, and the files of the scenario have changed since"
            )
        return current.tree

    async def _current(self, eval_: Eval) -> _CurrentFiles:
        if eval_.task is not None:
            return _CurrentFiles(tree=Tree())  # Harbor has the files, and they are part of the task's identity
        try:
            template = await self._templates.get(eval_.scenario, where=eval_.source.path)
        except DemeanorError as error:
            return _CurrentFiles(tree=None, problem=str(error).splitlines()[0])
        return _CurrentFiles(tree=template.tree)


def _edited_parts(eval_: Eval, capture: Capture, current: _CurrentFiles, start: str) -> list[str]:
    """Return the parts of the scenario that changed."""
    now = scenario_hashes(eval_.scenario, eval_.task)
    parts = [part for part, was in capture.scenario.items() if now.get(part) != was]
    if current.tree is None:
        parts.append(f"its files can't be created: {current.problem}")
    elif start_hash(current.tree) != start:
        parts.append("files")
    return parts
