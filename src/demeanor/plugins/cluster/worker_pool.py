"""The workers of a cluster that a run uses: found, checked, watched, and handed out to attempts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from demeanor.core.text.wording import count
from demeanor.core.values.errors import UsageError, WorldError
from demeanor.core.values.verdict import VoidCause
from demeanor.plugins.cluster.archive import Archive
from demeanor.plugins.cluster.client import listed_workers, slots_of
from demeanor.plugins.cluster.cluster_run import ClusterRun
from demeanor.plugins.cluster.connection import ClusterConnection
from demeanor.plugins.cluster.messages import BadMessage
from demeanor.plugins.cluster.worker import cancel_attempts
from demeanor.plugins.cluster.worker_link import WorkerLink, WorkerLost

_LOOK_SECONDS = 1.0
_FIND_SECONDS = 120.0
_RESTART_SECONDS = 60.0
"""How long a cluster may be without workers before the run ends: a worker may be starting."""

_CLOCK_SECONDS = 30.0
_MOST_BROKEN = 3
"""Attempts in a row that could not be made on a worker, after which it is not used any more."""

_PLENTY = 10**6
_NO_WORKER = "the cluster has no worker any more that can be used; continue with --resume once it has"
_GONE = "the connection to the scheduler was lost; continue with --resume once it is back"


class WorkerPool:
    """The workers that a run uses."""

    def __init__(
        self,
        client: ClusterConnection,
        run: ClusterRun,
        project: Archive | None,
        *,
        changed: Callable[[int, int], None],
        abort: Callable[[str], None],
    ) -> None:
        """`changed` is told the numbers of workers and slots when they change; `abort` ends the run."""
        self.notes: list[str] = []
        self._client = client
        self._run = run
        self._setup = run.setup
        self._silence = run.silence
        self._changed = changed
        self._abort = abort
        self._project = project
        self._links: dict[str, WorkerLink] = {}
        self._looking: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def links(self) -> tuple[WorkerLink, ...]:
        """All workers that were found, usable or not."""
        return tuple(self._links.values())

    async def start(self) -> None:
        """Find workers and let them prepare; raises UsageError if none can be used."""
        await self.survey()
        if not any(link.usable for link in self._links.values()):
            reasons = "\n  ".join(f"{link}: {link.report.problem or link.why_lost}" for link in self._links.values())
            raise UsageError(f"no worker of the cluster can be used:\n  {reasons}\n  → see: demeanor cluster check")
        self._looking = asyncio.create_task(self._look())

    async def survey(self) -> None:
        """Find workers and let them prepare; raises UsageError if there are none."""
        waited = 0.0
        while len(workers := await listed_workers(self._client)) < self._run.expected:
            if waited >= _FIND_SECONDS or (waited >= self._silence and workers):
                break
            await asyncio.sleep(0.2)
            waited += 0.2
        if not workers:
            raise UsageError(
                "the cluster has no workers\n  → start some, with the same certificates: demeanor help scale"
            )
        await self._add(workers)

    async def stop(self) -> None:
        """End the run on all workers."""
        self._stopped = True
        tasks = [link.watch for link in self._links.values() if link.watch] + [self._looking] * bool(self._looking)
        for task in tasks:
            if task is not None:
                task.cancel()
        await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)
        await asyncio.gather(*(link.close(self._setup.run) for link in self._links.values() if link.usable))

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[WorkerLink]:
        """A worker with a free slot; raises WorldError if there is none for a while."""
        waited = 0.0
        while True:
            free = [link for link in self._links.values() if link.usable and link.busy < link.slots]
            if free:
                break
            if waited > self._silence:
                raise WorldError(VoidCause.WORKER, f"no worker was available for {self._silence:g} seconds")
            await asyncio.sleep(0.05)
            waited += 0.05
        link = max(free, key=lambda link: link.slots - link.busy)
        link.busy += 1
        try:
            yield link
        finally:
            link.busy -= 1

    def count(self, link: WorkerLink, problem: str) -> None:
        """Note whether a worker could make an attempt; one that can't make any is left out: its disk may be full."""
        link.broken = link.broken + 1 if problem else 0
        if link.broken >= _MOST_BROKEN and link.usable:
            broken = count(link.broken, "attempt")
            self.notes.append(f"the worker {link} is not used any more: {broken} in a row broke: {problem}")
            link.usable = False
            if link.watch is not None:
                link.watch.cancel()
            self._count()

    async def reopen(self, link: WorkerLink) -> None:
        """Let a worker prepare again that does not know the run any more; raises WorkerLost if it can't."""
        await link.open(self._setup, self._project)
        if link.report.problem:
            raise WorkerLost(link.report.problem)

    async def _add(self, workers: Mapping[str, Mapping[str, Any]]) -> None:
        """Let new workers prepare, and use those that can make the same attempts as the others."""
        new = []
        for address, worker in workers.items():
            slots = slots_of(worker, self._run.spec.slots)
            name = str(worker["name"])
            link = WorkerLink(self._client, address, name=name, slots=slots, note=self.notes.append)
            self._links[address] = link
            new.append(link)
        await asyncio.gather(*(self._open(link) for link in new))
        for link in new:
            self._admit(link)
        self._count()

    async def _open(self, link: WorkerLink) -> None:
        try:
            await link.open(self._setup, self._project)
        except (WorkerLost, BadMessage) as error:
            link.lose(str(error))

    def _admit(self, link: WorkerLink) -> None:
        """Use a worker, unless it can't make attempts or differs from the others."""
        if link.lost:
            self.notes.append(f"the worker {link} is not used: {link.why_lost}")
            return
        problem = link.report.problem or ("" if self._setup.allow_different else self._difference(link))
        if problem:
            link.report = replace(link.report, problem=problem)
            self.notes.append(f"the worker {link} is not used: {problem}")
            return
        link.usable = True
        link.watch = asyncio.create_task(self._watch(link))

    def _difference(self, link: WorkerLink) -> str:
        """How the clock or the agents of a worker differ from ours and from those of the workers in use."""
        if abs(link.clock_skew) > _CLOCK_SECONDS:
            ahead = "ahead" if link.clock_skew > 0 else "behind"
            return f"its clock is {abs(link.clock_skew):.0f} s {ahead}"
        others = [other for other in self._links.values() if other is not link and not other.lost]
        best = min((len(other.report.missing) for other in others if not other.report.problem), default=None)
        if best is not None and len(link.report.missing) > best:
            return "; ".join(link.report.missing.values())
        used = next((other for other in others if other.usable), None)
        for name, version in link.report.agents.items() if used else ():
            theirs = used.report.agents.get(name) if used else None
            if theirs is not None and theirs != version:
                return f"it has {name} {version or '(unknown version)'}, others have {theirs or '(unknown version)'}"
        return ""

    async def _look(self) -> None:
        """Find workers that join, and notice those that leave."""
        unused = 0.0
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            unused = 0.0 if any(link.usable for link in self._links.values()) else unused + _LOOK_SECONDS
            if unused > max(self._silence, _RESTART_SECONDS):
                return self._give_up(_NO_WORKER)
            try:
                async with asyncio.timeout(self._silence):
                    workers = await listed_workers(self._client)
            except (OSError, TimeoutError):
                if self._stopped:
                    return None
                for link in self._links.values():
                    link.lose("the scheduler is gone")
                return self._give_up(_GONE)
            for address in [address for address in self._links if address not in workers]:
                self.lose(self._links.pop(address), "is not connected any more")
            new = {address: worker for address, worker in workers.items() if address not in self._links}
            if new:
                await self._add(new)

    async def _watch(self, link: WorkerLink) -> None:
        """Tell a worker regularly that we are here; give it up if it is silent, until it answers again."""
        while True:
            try:
                alive = await link.keep_alive(self._setup.run, seconds=self._silence)
                if not link.usable:
                    await self._welcome_back(link)
                elif not alive:
                    await self.reopen(link)
            except WorkerLost as error:
                if link.usable:
                    self.lose(link, str(error))
            await asyncio.sleep(min(5.0, self._silence / 3))

    async def _welcome_back(self, link: WorkerLink) -> None:
        """Use a worker again that was silent; what it was doing meanwhile was given up, so it ends that."""
        await link.discard_late(self._setup.run, seconds=self._silence)
        await link.call(cancel_attempts, self._setup.run, None, seconds=self._silence)
        link.lost = False
        link.usable = True
        self.notes.append(f"the worker {link} answers again")
        self._count()

    def lose(self, link: WorkerLink, why: str) -> None:
        """Give a worker up, with everything that it is doing."""
        if link.usable:
            self.notes.append(f"the worker {link} was lost: it {why}")
        link.lose(why)
        self._count()
        if link.watch is not None and link.address not in self._links:
            link.watch.cancel()

    def _count(self) -> None:
        used = [link for link in self._links.values() if link.usable]
        self._changed(len(used), sum(link.slots for link in used))

    def _give_up(self, reason: str) -> None:
        """End the run; trials that wait for a worker get a place, and see that the run has ended."""
        self._abort(reason)
        self._changed(0, _PLENTY)
