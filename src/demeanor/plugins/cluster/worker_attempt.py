"""Makes one attempt on one worker: sends it what it lacks, waits for its reply, and checks the capture in it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import tree_path_problem
from demeanor.core.values.capture import Capture
from demeanor.core.values.fingerprints import scenario_hashes
from demeanor.core.values.ports import Template
from demeanor.core.values.starting_state import start_hash
from demeanor.core.values.trial import Trial
from demeanor.plugins.cluster.archive import Archive, pack
from demeanor.plugins.cluster.cluster_run import ClusterRun
from demeanor.plugins.cluster.messages import (
    SMALL,
    AttemptReply,
    AttemptRequest,
    BadMessage,
    pack_message,
    unpack_message,
)
from demeanor.plugins.cluster.worker import cancel_attempts, seconds_of_attempt
from demeanor.plugins.cluster.worker_link import UnknownRun, WorkerLink, WorkerLost
from demeanor.plugins.cluster.worker_pool import WorkerPool
from demeanor.store.captures import read_capture_json

_GRACE = 60.0
"""Seconds that an attempt may take longer than its time limit: to set up and tear down its sandbox."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PackedStart:
    """A starting state, ready to be sent."""

    archive: Archive
    """Its files."""

    tree: Tree
    """The same as a tree."""

    hashed: str
    """The hash of the tree, which the worker has to repeat."""


def pack_start(template: Template) -> PackedStart:
    """The starting state of a template, packed."""
    return PackedStart(archive=pack(template.folder), tree=template.tree, hashed=start_hash(template.tree))


class WorkerAttempts:
    """Makes attempts of one run on workers of its pool."""

    def __init__(self, run: ClusterRun, pool: WorkerPool, folder: Path) -> None:
        """`folder` is for files that are too large to keep."""
        self._run = run
        self._pool = pool
        self._folder = folder

    async def make(self, link: WorkerLink, trial: Trial, request: AttemptRequest, start: PackedStart) -> Capture:
        """The capture of one attempt on this worker; raises WorkerLost, BadMessage or StoreError."""
        reply, body = await self._ask(link, trial, request, start.archive)
        if len(body) <= SMALL and not reply.spooled:
            return self._capture(trial, start, reply, body)
        return await asyncio.to_thread(self._capture, trial, start, reply, body)

    async def _ask(
        self, link: WorkerLink, trial: Trial, request: AttemptRequest, start: Archive
    ) -> tuple[AttemptReply, bytes]:
        """The worker's reply; it is sent first what it lacks."""
        await link.send_start(self._run.id, start)
        status = ""
        for _ in range(3):
            try:
                packed = await self._result(link, trial, request)
            except UnknownRun:
                status = "unknown run"
                await self._pool.reopen(link)
                await link.send_start(self._run.id, start, again=True)
                continue
            if isinstance(packed, bytes) and len(packed) <= SMALL:
                reply, body = unpack_message(AttemptReply, packed)
            else:
                reply, body = await asyncio.to_thread(unpack_message, AttemptReply, packed)
            if (reply.nonce, reply.trial, reply.attempt) != (request.nonce, trial.id, request.attempt):
                raise BadMessage(f"it belongs to {reply.trial!r}, attempt {reply.attempt}, or to another request")
            if reply.status == "done":
                return reply, body
            if reply.status == "failed":
                raise BadMessage(f"it failed: {reply.problem}")
            status = reply.status
            await link.send_start(self._run.id, start, again=True)
        raise BadMessage(f"it still says {status!r}")

    async def _result(self, link: WorkerLink, trial: Trial, request: AttemptRequest) -> object:
        """The worker's reply; raises WorkerLost if the attempt is given up."""
        silence = self._run.silence
        reply = link.attempt(request.run, request.nonce, pack_message(request), seconds=silence)
        limit = trial.timeout + _GRACE
        try:
            while not reply.done():
                await asyncio.wait((reply,), timeout=limit)
                if not reply.done():
                    await self._require_progress(link, trial, request)
                limit = _GRACE
            return reply.result()
        except WorkerLost as error:
            link.give_up(request.nonce, f"{trial.id}, attempt {request.attempt}, from {link}")
            if reply.done() and not link.lost:
                self._pool.lose(link, str(error))
            raise
        finally:
            if not reply.cancel() and not reply.cancelled():
                reply.exception()  # it is not read if this attempt was cancelled

    async def _require_progress(self, link: WorkerLink, trial: Trial, request: AttemptRequest) -> None:
        """Raise WorkerLost if the attempt has been running for too long; end it then."""
        run, nonce = request.run, request.nonce
        seconds = await link.call(seconds_of_attempt, run, nonce, seconds=self._run.silence)
        if isinstance(seconds, float) and seconds > trial.timeout + _GRACE:
            await link.call(cancel_attempts, run, (nonce,), seconds=self._run.silence)
            raise WorkerLost(f"did not end the attempt within {seconds:.0f} seconds")

    def _capture(self, trial: Trial, start: PackedStart, reply: AttemptReply, body: bytes) -> Capture:
        """The capture in a reply, checked; raises BadMessage or StoreError."""
        capture = read_capture_json(body, start.tree, where="the capture")
        if (capture.trial, capture.attempt) != (trial.id, reply.attempt):
            raise BadMessage(f"its capture is of {capture.trial!r}, attempt {capture.attempt}")
        if not capture.breakdown and reply.start_hash != start.hashed:
            raise BadMessage("the attempt began with other files than those that were sent")
        for path, entry in capture.after.entries.items():
            if problem := tree_path_problem(path):
                raise BadMessage(f"the path {path!r} {problem}")
            content = entry.content if entry.kind == "file" and path not in reply.spooled else None
            if isinstance(content, bytes) and hashlib.sha256(content).hexdigest() != entry.sha256:
                raise BadMessage(f"the content of {path!r} does not have its hash")
        after = _with_spooled(capture.after, reply, self._folder / reply.nonce)
        if capture.breakdown:
            return replace(capture, before=Tree(), after=Tree())
        return replace(capture, scenario=scenario_hashes(trial.eval.scenario), before=start.tree, after=after)


def _with_spooled(after: Tree, reply: AttemptReply, folder: Path) -> Tree:
    """The tree with copies of the files that are too large to keep, for the commands of checks."""
    entries = dict(after.entries)
    for index, (path, content) in enumerate(reply.spooled.items()):
        if path not in entries:
            raise BadMessage(f"there is no file {path!r}")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / str(index)).write_bytes(content)
        entries[path] = replace(entries[path], spooled=folder / str(index))
    return replace(after, entries=entries) if reply.spooled else after
