"""The interfaces between the pipeline and its adapters, as Protocols: sandbox, gateway, executor, history."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import socket
    from contextlib import AbstractAsyncContextManager

    from demeanor.core.trees.tree import Tree
    from demeanor.core.values.capture import Capture
    from demeanor.core.values.exchange import Exchange
    from demeanor.core.values.executor_spec import Slots
    from demeanor.core.values.fault import Role
    from demeanor.core.values.history import CapturedTrial, KeptDecision, PastRun, Ruling, RunCell
    from demeanor.core.values.process import Launch, Limits, ProcessEnd
    from demeanor.core.values.progress import Progress
    from demeanor.core.values.record import Record, RunKind
    from demeanor.core.values.sandbox_spec import Network
    from demeanor.core.values.trial import Trial
    from demeanor.core.values.user import AskedUser


class SandboxSession(Protocol):
    """The sandbox of one attempt: its workspace, its HOME, and the programs run in it."""

    @property
    def workspace(self) -> Path:
        """The workspace's path, as the agent sees it."""
        ...

    @property
    def home(self) -> Path:
        """The HOME's path, as the agent sees it."""
        ...

    @property
    def address(self) -> tuple[str, int] | None:
        """The address of `listener` as programs in the sandbox see it; None where they use the host's network."""
        ...

    @property
    def listener(self) -> socket.socket | None:
        """A socket that listens at `address`, and that only this session's programs can reach; set after `prepare`."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this session, besides the facts of its sandbox."""
        ...

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files into HOME."""
        ...

    async def prepare(self, launches: Sequence[Launch]) -> None:
        """Prepare for all programs that will run: make what they read visible, and open `listener`."""
        ...

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns, every process it started is gone.

        `last_activity` is asked whenever the clock is looked at, and not again once a limit is reached.
        """
        ...

    def collect_files(self, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        """The files that the agent left in HOME, by relative path; links are not followed."""
        ...

    async def look(self) -> Tree:
        """The workspace's content now, while programs may still run."""
        ...

    async def snapshot(self, *, home: bool = False) -> Tree:
        """The content of the workspace, or of HOME, after the last program."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """The starting state of a workspace, created once and copied for each attempt."""

    folder: Path
    """The folder; it is never changed after its creation."""

    tree: Tree
    """Its content."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """The result of a command that a check ran."""

    exit_code: int
    """Its exit code; negative if a signal killed it."""

    stdout: str
    """Its standard output."""

    stderr: str
    """Its standard error."""

    timed_out: bool = False
    """Whether it was killed at its time limit."""

    def __bool__(self) -> bool:
        """Whether it succeeded, so that `assert rig.workspace.run(…)` checks what it says."""
        return self.exit_code == 0 and not self.timed_out


class RunCommand(Protocol):
    """Runs a command in a temporary copy of a workspace, for a check; `Sandbox.command` is one."""

    def __call__(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """The command's result; raises WorldError if it could not be started."""
        ...


class Sandbox(Protocol):
    """Where programs run, cut off from the host as far as its level promises."""

    @property
    def name(self) -> str:
        """Its level, as in `--sandbox`."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of it: the level, and what it could not do here."""
        ...

    async def start(self) -> None:
        """Make ready; raises WorldError where it can't work here."""
        ...

    async def stop(self) -> None:
        """Take everything down."""
        ...

    def open_session(
        self, template: Template, *, network: Network | None = None
    ) -> AbstractAsyncContextManager[SandboxSession]:
        """A new session whose workspace starts as the template; `network` overrides that of the sandbox."""
        ...

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a throw-away copy of a workspace; for checks, called from a worker thread."""
        ...


class GatewaySession(Protocol):
    """The gateway's endpoint for one attempt."""

    @property
    def base_url(self) -> str:
        """The URL for the agent, without a version path such as /v1."""
        ...

    @property
    def token(self) -> str:
        """The API key that the agent sends."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the model, for the reader of a report."""
        ...

    def set_address(self, address: tuple[str, int]) -> None:
        """Change `base_url` to an address at which only this session will `listen`."""
        ...

    async def listen(self, listener: socket.socket) -> None:
        """Serve only this session on the given socket."""
        ...

    def set_user(self, user: AskedUser) -> None:
        """Let programs in the sandbox ask this user; see core/values/user_channel.py."""
        ...

    async def close_connections(self) -> None:
        """Close all connections and accept no more; `exchanges` stays available."""
        ...

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Set the paths of the agent's `workspace` and `home`, which a replay puts into its answers."""
        ...

    def last_activity(self) -> float:
        """The time (`time.monotonic`) of the last byte in either direction."""
        ...

    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges so far."""
        ...

    def waiting(self) -> bool:
        """Whether a request to the provider is unanswered."""
        ...


class Gateway(Protocol):
    """The server between agents and model providers."""

    async def start(self) -> None:
        """Start listening."""
        ...

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        ...

    def session(
        self, trial: Trial, *, seed: int, role: Role = "agent", of: Trial | None = None
    ) -> AbstractAsyncContextManager[GatewaySession]:
        """A session for one attempt at one trial, or for the judge or the user of the trial `of`."""
        ...

    def last_steps(self) -> Mapping[str, str]:
        """What the agents of running trials asked for last, by the id of the trial. Hostile text."""
        ...


class Executor(Protocol):
    """Runs attempts, on this machine or on a cluster."""

    @property
    def slots(self) -> int:
        """The number of attempts that can run in parallel."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, such as workers that were lost; complete once the run has ended."""
        ...

    async def start(self, abort: Callable[[str], None], watch: Callable[[Progress], None] = lambda news: None) -> None:
        """Get ready; raises UsageError if no attempt can run. `abort` is called when none can any more."""
        ...

    async def stop(self) -> None:
        """End all attempts, wherever they run, and release everything."""
        ...

    def continue_from(self, records: Iterable[Record], *, usd: float | None, tokens: int | None) -> None:
        """Take note of what earlier parts of the run have spent, and of its budget."""
        ...

    def settle(self, record: Record) -> None:
        """Take note of what an attempt has spent, once it is judged."""
        ...

    def free_slots(self) -> Slots:
        """The slots in which attempts run."""
        ...

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Run one attempt. Failures are reported in the capture; only cancellation is raised."""
        ...


class History(Protocol):
    """All stored runs, counted: the input of reports over time and of decisions."""

    def runs(
        self,
        *,
        kind: RunKind | None = None,
        branch: str | None = None,
        commit: str | None = None,
        limit: int | None = None,
    ) -> tuple[PastRun, ...]:
        """The runs, newest first; a commit may be abbreviated."""
        ...

    def run(self, name: str = "latest") -> PastRun:
        """The run of this name in the store, or the latest; raises UnknownName."""
        ...

    def cells(self, run: str) -> tuple[RunCell, ...]:
        """The results of one run, in the order of its plan."""
        ...

    def nightly_cells(
        self,
        last: int | None = 7,
        *,
        evals: Collection[str] = (),
        subjects: Collection[str] = (),
        runs: Collection[str] | None = None,
    ) -> tuple[RunCell, ...]:
        """The results of the `last` nightly runs, or of all with None, oldest first; `runs` limits them by name."""
        ...

    def last_run_of(self, subjects: Collection[str]) -> PastRun | None:
        """The newest run with results of all these subjects."""
        ...

    def eval_history(
        self, name: str, subject: str | None = None, *, kind: RunKind | None = None
    ) -> tuple[RunCell, ...]:
        """The results of one eval in all runs, oldest first."""
        ...

    def records(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """All attempts of one run, or of one eval in it, in the order of their end."""
        ...

    def trials(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """The last attempt of each trial of one run, or of one eval in it."""
        ...

    def captured_trials(self, runs: Collection[str], evals: Collection[str]) -> tuple[CapturedTrial, ...]:
        """The trials of these evals in some runs whose captures are known."""
        ...

    def decisions(
        self, *, ruling: Ruling | None = None, name: str | None = None, limit: int | None = None
    ) -> tuple[KeptDecision, ...]:
        """The stored decisions, newest first."""
        ...

    def last_decisions(self, ruling: Ruling) -> Mapping[str, KeptDecision]:
        """The newest decision of one kind, by eval."""
        ...

    def add_decision(self, decision: KeptDecision) -> None:
        """Store a decision; a duplicate is stored once."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...
