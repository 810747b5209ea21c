"""The edges of the world, as Protocols: a stage meets an adapter only here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import socket
    from contextlib import AbstractAsyncContextManager

    from demeanor.core.capture import Capture
    from demeanor.core.evidence import Evidence
    from demeanor.core.exchange import Exchange
    from demeanor.core.history import KeptDecision, PastRun, Ruling, RunCell
    from demeanor.core.process import Launch, Limits, ProcessEnd
    from demeanor.core.record import Record, RunInfo, RunKind
    from demeanor.core.sandbox_spec import Network
    from demeanor.core.tree import Tree
    from demeanor.core.trial import Plan, Trial


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

    async def snapshot(self) -> Tree:
        """The workspace's content now."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A workspace's starting state, laid out once and copied for each attempt."""

    folder: Path
    """Where it lies; never changed once made."""

    tree: Tree
    """Its content."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """What a command run for a check gave."""

    exit_code: int
    """Its exit code; negative where a signal ended it."""

    stdout: str
    """What it printed."""

    stderr: str
    """What it printed as errors."""

    timed_out: bool = False
    """Whether it was ended because it took too long."""


class RunCommand(Protocol):
    """Runs a command in a throw-away copy of a workspace, for a check; `Sandbox.command` is one."""

    def __call__(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """What the command gave; raises WorldError where it could not be started."""
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
    """One trial's own door to its model."""

    @property
    def base_url(self) -> str:
        """Where the agent finds it, without a version path such as /v1."""
        ...

    @property
    def token(self) -> str:
        """The key the agent presents."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the model that answers."""
        ...

    def set_address(self, address: tuple[str, int]) -> None:
        """From now on `base_url` is at an address of the session's own, at which it will `listen`."""
        ...

    async def listen(self, listener: socket.socket) -> None:
        """Serve this session, and no other, on a socket of its own."""
        ...

    async def close_connections(self) -> None:
        """End what is under way and answer nothing any more; what went over the wire can still be asked."""
        ...

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Take note of the bench that the agent works on: `workspace`, `home`; a replay puts them in its answers."""
        ...

    def last_activity(self) -> float:
        """The monotonic time of the last byte in either direction."""
        ...

    def exchanges(self) -> tuple[Exchange, ...]:
        """Everything that went over the wire."""
        ...

    def waiting(self) -> bool:
        """Whether the provider owes an answer right now."""
        ...


class Gateway(Protocol):
    """The model server between agents and providers."""

    async def start(self) -> None:
        """Listen."""
        ...

    async def stop(self) -> None:
        """Stop listening and close everything."""
        ...

    def session(self, trial: Trial, *, seed: int) -> AbstractAsyncContextManager[GatewaySession]:
        """A door for one attempt at one trial."""
        ...


class Executor(Protocol):
    """Where attempts run: this machine, or a cluster."""

    @property
    def slots(self) -> int:
        """How many attempts may run at once."""
        ...

    async def capture(self, trial: Trial, attempt: int) -> Capture:
        """Carry out one attempt. What breaks in the world is told in the capture; only cancellation is raised."""
        ...


class Store(Protocol):
    """The append-only keep of one run."""

    @property
    def folder(self) -> Path:
        """Where the run is kept."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of what could not be written."""
        ...

    def begin(self, run: RunInfo, plan: Plan) -> None:
        """Note what is going to be run."""
        ...

    def records(self) -> tuple[Record, ...]:
        """What was kept already, in order."""
        ...

    def close(self) -> None:
        """Make everything durable; the run may be begun again later."""
        ...

    def keep(self, record: Record, capture: Capture, evidence: Evidence) -> Record:
        """Keep one judged attempt; when this returns, a crash can't lose it. Gives the record with its folder."""
        ...


class History(Protocol):
    """All runs that were kept, counted: what reports over time and decisions are made from."""

    def runs(
        self,
        *,
        kind: RunKind | None = None,
        branch: str | None = None,
        commit: str | None = None,
        limit: int | None = None,
    ) -> tuple[PastRun, ...]:
        """The runs, newest first; a commit may be given by its beginning."""
        ...

    def run(self, name: str = "latest") -> PastRun:
        """One run by its name in the store, or the latest; raises UnknownName."""
        ...

    def cells(self, run: str) -> tuple[RunCell, ...]:
        """What one run found, in the order of its plan."""
        ...

    def nights(
        self, last: int | None = 7, *, evals: Collection[str] = (), subjects: Collection[str] = ()
    ) -> tuple[RunCell, ...]:
        """What the last nightly runs found, the oldest first; None means all of them."""
        ...

    def eval_history(
        self, name: str, subject: str | None = None, *, kind: RunKind | None = None
    ) -> tuple[RunCell, ...]:
        """What every run found of one eval, the oldest first."""
        ...

    def records(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """All attempts of one run, or of one eval in it, in the order in which they ended."""
        ...

    def trials(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """The attempt that counts of each trial of one run, or of one eval in it."""
        ...

    def decisions(
        self, *, ruling: Ruling | None = None, name: str | None = None, limit: int | None = None
    ) -> tuple[KeptDecision, ...]:
        """The decisions that were kept, newest first."""
        ...

    def last_decisions(self, ruling: Ruling) -> Mapping[str, KeptDecision]:
        """By eval: its newest decision of one sort."""
        ...

    def keep_decision(self, decision: KeptDecision) -> None:
        """Keep a decision; the same one twice is kept once."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
