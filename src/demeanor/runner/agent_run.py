"""Runs the programs of one agent within the time limit of its trial, prompt by prompt.

The prompts are those of the eval, followed by the messages of its user. Most agents are started again for each prompt,
and continue their conversation. Others are one program for the whole conversation (`asks_user`), which asks the gateway
for the user's next message.
"""

from __future__ import annotations

import contextlib
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.trees import open_files
from demeanor.core.values.agent import Agent, Orders, Task, asks_user
from demeanor.core.values.capture import stall_seconds
from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import GatewaySession, SandboxSession
from demeanor.core.values.process import Limits, ProcessEnd
from demeanor.core.values.verdict import VoidCause

if TYPE_CHECKING:
    from demeanor.core.values.process import Launch
    from demeanor.runner.users import TrialUser


@dataclass(kw_only=True)
class AgentRun:
    """One agent at work: what it was asked, and how its programs ended so far."""

    agent: Agent
    """The agent."""

    task: Task
    """What it is asked; prompts are added as the user says more."""

    orders: Orders
    """How it is started."""

    order: Callable[[Task], Orders]
    """How it is started for a task with further prompts."""

    sandbox: SandboxSession
    """Where it runs."""

    gateway: GatewaySession | None
    """Its model; None if it needs none."""

    limits: Limits
    """The limits of all its programs together."""

    ends: list[ProcessEnd] = field(default_factory=list)
    """How each of its programs ended."""

    then: tuple[Launch, ...] = ()
    """Commands that run after it, if it succeeded."""

    then_ends: list[ProcessEnd] = field(default_factory=list)
    """How each of these ended."""

    user: TrialUser | None = None
    """Who answers it; None if nobody does."""

    seconds: float = 0.0
    """How long it ran, without the time that its user took."""

    stalled: float | None = None
    """For how many seconds the provider had stalled, if that is why the last program was killed."""

    refused: str | None = None
    """Which limit of the machine was reached, if that may be why the last program failed."""

    async def run(self, last_message: Callable[[], str]) -> None:
        """Run the programs one after the other; `last_message` is the agent's last message so far."""
        started = time.monotonic()
        await self._run(started, last_message)
        self.seconds = time.monotonic() - started - (self.user.seconds if self.user else 0.0)

    async def _run(self, started: float, last_message: Callable[[], str]) -> None:
        user = self.user
        launches = list(self.orders.launches)
        while launches:
            waited = user.waited if user else 0.0
            left = self.limits.wall + waited - (time.monotonic() - started)
            limits = replace(self.limits, wall=max(left, 0.0))
            watch = _Watch(self.gateway, user)
            if user:
                limits = replace(limits, paused=partial(_waited_since, user, waited))
            before = refusals()
            end = await self.sandbox.run(launches.pop(0), limits=limits, last_activity=watch)
            self.ends.append(end)
            if self.agent.exit_ok(end) is not True:
                self.refused = refusals().reason(before, end)
            if end.ended_by != "exit":
                self.stalled = watch.stalled(self.limits.wall)
                return
            if self.agent.exit_ok(end) is False:
                return
            if not launches and user is not None and not asks_user(self.agent):
                said = await user.reply(last_message())
                launches = [self._next(said)] if said is not None else []
        await self._run_then(started + (user.waited if user else 0.0))

    async def _run_then(self, started: float) -> None:
        """Run the commands after the agent, within what is left of the trial's time."""
        for launch in self.then:
            watch = _Watch(self.gateway, None)
            limits = replace(self.limits, wall=max(self.limits.wall - (time.monotonic() - started), 0.0))
            self.then_ends.append(end := await self.sandbox.run(launch, limits=limits, last_activity=watch))
            if end.ended_by != "exit":
                self.stalled = watch.stalled(self.limits.wall)
                return

    def _next(self, said: str) -> Launch:
        """The launch for the user's next message."""
        task = replace(self.task, prompts=(*self.task.prompts, said))
        orders = self.order(task)
        if len(orders.launches) != len(self.orders.launches) + 1:
            detail = f"{self.agent.name} is not started once per prompt, and does not ask for the user's messages"
            raise WorldError(VoidCause.HARNESS, detail)
        new = {path: content for path, content in orders.home_files.items() if path not in self.orders.home_files}
        self.sandbox.write_home_files(new)
        self.task, self.orders = task, orders
        return orders.launches[-1]


def _waited_since(user: TrialUser, before: float) -> float:
    return user.waited - before


class _Watch:
    """Samples the gateway whenever the sandbox checks its time limits, the last time just before it kills an agent.

    Later is too late: when the agent dies its connection closes, and the gateway no longer waits for the provider.
    """

    def __init__(self, gateway: GatewaySession | None, user: TrialUser | None) -> None:
        self._gateway = gateway
        self._user = user
        self._waited: float | None = None

    def __call__(self) -> float:
        """The time of the last byte in either direction; now, while the agent waits for the user."""
        if self._user is not None and self._user.is_due:
            return time.monotonic()
        if self._gateway is None:
            return 0.0
        activity = self._gateway.last_activity()
        self._waited = time.monotonic() - activity if self._gateway.waiting() else None
        return activity

    def stalled(self, timeout: float) -> float | None:
        """How long the provider had sent nothing, if that is long enough to blame it for a time-out."""
        return stall_seconds(self._waited, timeout)


# Limits of the machine that an agent runs into: they are never its own failure.
#
# The kernel counts the processes that it refused to a control group, and those that it killed because the memory of
# the machine was short. The limits of the trial itself are not among them: processes are limited by RLIMIT_NPROC,
# and a kill in the trial's own group is seen by its supervisor.

_COUNT = re.compile(r"^(?:max|oom_kill) (\d+)$", re.MULTILINE)
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
_LESS = "run fewer trials at a time with --jobs, or raise the limit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusals:
    """What this machine has refused since it was started."""

    processes: int = 0
    """Processes and threads that our control group and those above it could not start."""

    killed: int = 0
    """Processes that were killed because memory was short."""

    files: int = 0
    """How often the gateway could not accept connections, because too many files were open."""

    def reason(self, before: Refusals, end: ProcessEnd) -> str | None:
        """Which limit of the machine was reached while a program ran that failed; None if none that explains it."""
        if end.ended_by != "exit":
            return None
        if self.files > before.files:
            return f"too many open files, so the gateway could not accept connections: {open_files.REMEDY}"
        if self.processes > before.processes:
            return f"this machine could start no more processes while the agent ran: {_LESS} (pids.max)"
        killed = end.signal == signal.SIGKILL or end.exit_code in _KILLED
        if killed and self.killed > before.killed:
            return f"this machine ran out of memory while the agent ran, and processes were killed: {_LESS}"
        return None


def refusals(groups: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> Refusals:
    """What this machine has refused until now; what can't be read counts as nothing."""
    paths: dict[str, Path] = {}
    with contextlib.suppress(OSError, ValueError):
        for line in (proc / "self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            paths |= dict.fromkeys(kinds.split(","), Path(path.lstrip("/")))
    top, own = (groups / "pids", paths["pids"]) if "pids" in paths else (groups, paths.get("", Path()))
    above = [top / folder / "pids.events" for folder in (own, *own.parents)]
    return Refusals(
        processes=sum(map(_count, dict.fromkeys(above))),
        killed=_count(proc / "vmstat"),
        files=open_files.shortages(),
    )


def _count(path: Path) -> int:
    with contextlib.suppress(OSError):
        match = _COUNT.search(path.read_text())
        return int(match[1]) if match else 0
    return 0
