"""One run on a worker: its sandbox, its gateway, and the attempts that it makes.

The worker makes captures and nothing else: it judges nothing, stores nothing and retries nothing.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor._version import __version__
from demeanor.config import WELL_KNOWN, Config, Limit
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.redaction.values import Cleaner
from demeanor.core.text.wording import redact_before_shortening
from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import scan
from demeanor.core.trees.tree_restore import discard_spooled
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import UsageError, WorldError
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.fingerprints import PATH_TOOLS
from demeanor.core.values.policy import Policy
from demeanor.core.values.ports import Gateway, Template
from demeanor.core.values.starting_state import start_hash
from demeanor.core.values.trial import Trial
from demeanor.judge import ask_user_here
from demeanor.plugins.cluster.archive import unpack
from demeanor.plugins.cluster.client import declared_slots
from demeanor.plugins.cluster.messages import AttemptReply, AttemptRequest, RunSetup, WorkerReport
from demeanor.runner import (
    AttemptContext,
    Catalog,
    Level,
    Services,
    known_secrets,
    make_attempt,
    make_gateway,
    path_tools,
    probed_sandbox,
    project_agent_files,
    run_features,
    sessions_of,
)
from demeanor.sandboxes import require_space
from demeanor.store.captures import capture_json
from demeanor.vcs import run_build

if TYPE_CHECKING:
    from distributed import Worker

    from demeanor.gateway import BudgetAccount
    from demeanor.gateway.models import Upstream
    from demeanor.plugins.cluster.received_cassettes import ReceivedCassettes

_SPOOLED_BYTES = 256 * 2**20
"""Of the files that are too large to keep, this much is sent, for the commands of checks."""

PYTHON = ".".join(platform.python_version_tuple()[:2])


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningAttempt:
    """An attempt that a worker is making."""

    task: asyncio.Task[Capture]
    """The work."""

    started: float
    """When it started (`time.monotonic`)."""


class WorkerRun:
    """One run on this worker. It belongs to the event loop of the worker's runtime."""

    def __init__(self, setup: RunSetup, sandbox: Level, catalog: Catalog, versions: Mapping[str, str]) -> None:
        self.setup = setup
        self.last_sign = time.monotonic()
        """When the conductor was last heard of."""
        self.running: dict[str, RunningAttempt] = {}
        """The attempts in progress, by nonce."""
        self._sandbox = sandbox
        self._catalog = catalog
        self._versions = versions
        self._requests: dict[str, AttemptRequest] = {}
        self._trials: dict[str, Trial] = {}
        self._cassettes: ReceivedCassettes | None = None
        self._cleaner = Cleaner(Redactor(known_secrets(catalog.config, catalog.environ), vendors=False))
        redact_before_shortening(self._cleaner.redactor.text)
        self._gateway = self._make_gateway()
        self._starts: dict[str, tuple[Template, str]] = {}
        self._folder = sandbox.folder / "starts"
        self._facts = {PATH_TOOLS: path_tools()}
        self._files = project_agent_files(catalog.config)

    def share_limits(self, worker: Worker) -> None:
        """Let the limits of providers hold on the whole cluster of Dask's worker, and local models hold its slots."""
        from demeanor.plugins.cluster.limits import limit_across_cluster

        for provider in self._catalog.used_providers:
            limit_across_cluster(provider, worker)
        self._catalog.make_room(declared_slots(worker.state))

    async def start(self) -> None:
        """Start sandbox and gateway."""
        await self._sandbox.start()
        await self._gateway.start()

    async def close(self) -> None:
        """End all attempts with their processes, and remove everything."""
        await self.cancel(tuple(self.running))
        await self._gateway.stop()
        await self._sandbox.stop()

    async def cancel(self, nonces: tuple[str, ...]) -> None:
        """End attempts; when this returns, their processes are gone."""
        tasks = [self.running[nonce].task for nonce in nonces if nonce in self.running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def has_start(self, sha256: str) -> bool:
        """Whether a starting state is here."""
        return sha256 in self._starts

    async def put_start(self, sha256: str, packed: bytes) -> None:
        """Unpack a starting state; raises ArchiveError if it is not the one with this hash."""
        if sha256 not in self._starts:
            folder = self._folder / sha256
            await asyncio.to_thread(unpack, packed, sha256, folder)
            tree = await asyncio.to_thread(scan, folder, in_place=True)
            self._starts[sha256] = Template(folder=folder, tree=tree), start_hash(tree)

    async def attempt(self, request: AttemptRequest) -> tuple[AttemptReply, bytes]:
        """Make one attempt; returns the reply and the capture as JSON."""
        template, hashed = self._starts[request.start]
        trial = _trial(request)
        self._requests[trial.id] = request
        self._trials |= {session.id: trial for session in sessions_of(trial)}
        if self._cassettes is not None:
            self._cassettes.put(trial.id, request.cassette, request.cassette_problem)
        context = self._context(template)
        task = asyncio.ensure_future(make_attempt(trial, request.attempt, context))
        self.running[request.nonce] = RunningAttempt(task=task, started=time.monotonic())
        try:
            capture = await task
        finally:
            del self.running[request.nonce]
            self._requests.pop(trial.id, None)
        return await asyncio.to_thread(self._reply, request, trial, capture, hashed)

    def _reply(
        self, request: AttemptRequest, trial: Trial, capture: Capture, hashed: str
    ) -> tuple[AttemptReply, bytes]:
        """The reply, without the secrets of this machine."""
        try:
            after, spooled = _without_spooled(capture.after, self._cleaner.redactor)
        finally:
            discard_spooled(capture.after)
        facts = {
            **capture.facts,
            "worker": socket.gethostname(),
            "agent_version": self._versions.get(trial.subject.agent, ""),
        }
        capture = replace(capture, after=after, facts=facts)
        clean = self._cleaner.clean(capture, self._cleaner.redactor, capture.before, after, whole=False)
        body = capture_json(replace(clean, trial=trial.id, before=capture.before))
        reply = AttemptReply(
            nonce=request.nonce, trial=trial.id, attempt=request.attempt, start_hash=hashed, spooled=spooled
        )
        return reply, body

    def _context(self, template: Template) -> AttemptContext:
        async def the_template(scenario: object) -> Template:
            return template

        setup = self.setup
        return AttemptContext(
            agent=self._catalog.of,
            sandbox=self._sandbox,
            gateway=self._gateway,
            template=the_template,
            seed=setup.seed,
            facts=self._facts,
            files=self._files,
            idle=setup.idle_timeout,
            output_bytes=setup.limits.output,
            features=run_features(canary=setup.canary, agent_debug=setup.agent_debug),
            services=Services(
                gateway=self._gateway,
                call_author=ask_user_here,  # not called: no code is sent to workers
                run_command=self._sandbox.command,
                redactor=self._catalog.redactor,
            ),
        )

    def _make_gateway(self) -> Gateway:
        return make_gateway(
            self._catalog,
            self.setup.subjects,
            {"trial": self.setup.trial_budget},
            replay=self._replay_model if self.setup.replay is not None else None,
            parent_account=self._account,
            others=self.setup.other_models,
        )

    def _account(self, trial: Trial) -> BudgetAccount:
        """What is left of the eval's and the run's budget for this attempt."""
        from demeanor.gateway import Budget, BudgetAccount

        def budget(limit: Limit) -> Budget:
            return Budget(tokens=limit.tokens, usd=limit.usd)

        request = self._requests[trial.id]
        run = BudgetAccount("the run", budget(request.run_budget))
        return BudgetAccount(f"the eval {trial.eval.name!r}", budget(request.eval_budget), run)

    def _replay_model(self) -> Upstream:
        from demeanor.gateway.cassette import Normaliser, ReplayModel
        from demeanor.plugins.cluster.received_cassettes import ReceivedCassettes

        self._cassettes = ReceivedCassettes(Path(self.setup.replay or ""))
        return ReplayModel(
            folder=self._cassettes,
            trials=self._trials,
            normaliser=Normaliser(self.setup.replay_rules),
            secrets=tuple(known_secrets(self._catalog.config, self._catalog.environ).values()),
        )


def open_run(
    setup: RunSetup, environ: Mapping[str, str], project: bytes | None
) -> tuple[WorkerReport, WorkerRun | None]:
    """Whether this worker can make the attempts of a run and, if so, the run; its services are not started yet.

    `project` is the archive with the project's files, once it was sent.
    """
    report = WorkerReport(
        host=socket.gethostname(),
        version=__version__,
        python=PYTHON,
        cores=os.cpu_count() or 1,
        clock=time.time(),
        keys=_keys(setup, environ),
    )
    differs = _difference(setup)
    if differs and not setup.allow_different:
        return replace(report, problem=differs), None
    if setup.project and project is None:
        return replace(report, needs_project=True), None
    sandbox: Level | None = None
    try:
        require_space(Path(tempfile.gettempdir()))
        sandbox = probed_sandbox(setup.sandbox, _config(setup, Path(setup.root or "/")), environ)
        catalog = Catalog(
            config=_config(setup, _project_folder(setup, sandbox, project, environ)),
            environ=environ,
            replaying=setup.replay is not None,
            built=True,
        )
        agents = {subject.agent: catalog.of(subject) for subject in setup.subjects}
        missing = {name: why for name, agent in agents.items() if (why := agent.missing())}
        versions = {name: agent.version() or "" for name, agent in agents.items() if name not in missing}
        run = WorkerRun(setup, sandbox, catalog, versions)
    except (UsageError, WorldError, ValueError, OSError) as error:
        if sandbox is not None:
            asyncio.run(sandbox.stop())
        return replace(report, problem=str(error)), None
    return replace(report, sandbox=setup.sandbox, agents=versions, missing=missing), run


def _keys(setup: RunSetup, environ: Mapping[str, str]) -> dict[str, bool]:
    """Whether the keys of the providers that the run's subjects use are set; their values stay here."""
    names = {
        setup.models.get(subject.model, {}).get("provider") or subject.model.partition("/")[0]
        for subject in setup.subjects
    }
    variables = {}
    for name in sorted(str(name) for name in names):
        key_env = WELL_KNOWN[name].key_env if name in WELL_KNOWN else ""
        variable = str(setup.providers.get(name, {}).get("key_env", key_env))
        if variable:
            variables[variable] = bool(environ.get(variable))
    return variables


def _difference(setup: RunSetup) -> str:
    """How the versions of this worker differ from those of the conductor."""
    if setup.version != __version__:
        return f"it has Demeanor {__version__}, not {setup.version}"
    return f"it has Python {PYTHON}, not {setup.python}" if setup.python != PYTHON else ""


def _config(setup: RunSetup, root: Path) -> Config:
    return Config(
        root=root,
        file=root / setup.file,
        agents=setup.agents,
        models=setup.models,
        providers=setup.providers,
        sandbox=setup.sandbox,
        min_isolation=setup.min_isolation,
        network=setup.network,
        limits=setup.limits,
        gateway_limits=setup.gateway_limits,
        replay=setup.replay_rules,
    )


def _project_folder(setup: RunSetup, sandbox: Level, project: bytes | None, environ: Mapping[str, str]) -> Path:
    """The project's folder: as it was named, or unpacked and, if requested, built. Raises BuildFailed."""
    if project is None:
        return Path(setup.root)
    folder = sandbox.folder / "project"
    if folder.exists():
        shutil.rmtree(folder)
    unpack(project, setup.project, folder)
    if setup.build.command:
        log_file = sandbox.folder / "build.log"
        run_build(setup.build, folder, "the project on this worker", log_file, environ, lambda line: None)
    return folder


def _trial(request: AttemptRequest) -> Trial:
    """The trial, as far as an attempt needs it: the checks stay with the conductor."""
    eval_ = Eval(
        name=request.eval,
        policy=Policy.USUALLY_PASSES,
        scenario=request.scenario,
        checks=(),
        source=Source(path=Path(request.eval)),
    )
    return Trial(eval=eval_, subject=request.subject, number=request.number, timeout=request.timeout)


def _without_spooled(after: Tree, redactor: Redactor) -> tuple[Tree, dict[str, bytes]]:
    """The tree without copies of large files, and the content of these, as far as it is sent."""
    large = {path: entry for path, entry in after.entries.items() if entry.spooled is not None}
    if not large:
        return after, {}
    sent: dict[str, bytes] = {}
    gaps: list[str] = []
    for path, entry in large.items():
        if entry.spooled is None or sum(map(len, sent.values())) + entry.size > _SPOOLED_BYTES:
            gaps.append(f"{path}: too large to be sent by a worker ({entry.size} bytes)")
        else:
            sent[path] = redactor.data(entry.spooled.read_bytes())
    plain = {path: replace(entry, spooled=None) for path, entry in large.items()}
    return replace(after, entries={**after.entries, **plain}, gaps=(*after.gaps, *gaps)), sent
