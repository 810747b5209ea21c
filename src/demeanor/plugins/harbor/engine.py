"""The engine of tasks in Harbor's format: which cells it can run, and how a run and the self-tests are prepared.

What runs and reads trials is imported only when it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.agents import RecipeAgent
from demeanor.agents.packages import agents_folders, program_paths
from demeanor.config import Table
from demeanor.core.trees.tree import Tree
from demeanor.core.values.errors import WorldError
from demeanor.core.values.eval import Eval
from demeanor.core.values.ports import Gateway, Template
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Cell, Plan
from demeanor.core.values.verdict import VoidCause
from demeanor.plugins.harbor.format.task import HarborTask, harbor_task
from demeanor.plugins.harbor.program import HARBOR, find_harbor, harbor_problem, harbor_version, require_harbor
from demeanor.plugins.harbor.rules import HarborRules, harbor_rules, read_rules
from demeanor.runner import Engine, EngineRun, EngineStatus, ShowProgress, TaskOptions

if TYPE_CHECKING:
    from demeanor.judge import SelfTest
    from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
    from demeanor.plugins.harbor.trials.context import TaskContext
    from demeanor.runner import Catalog
    from demeanor.sandboxes.levels import NoneSandbox

_PACKAGE = Path(__file__).parents[2]


class HarborEngine(Engine):
    """Runs tasks with Harbor."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._config, self._environ = catalog.config, catalog.environ
        self._rules = harbor_rules(catalog.config)

    @staticmethod
    def read_config(table: Table) -> HarborRules:
        """The table `[harbor]`."""
        return read_rules(table)

    def agents(self) -> Mapping[str, str | None]:
        """The agents that only Harbor can start."""
        from demeanor.plugins.harbor.trials.agents import WITHOUT_MODEL, only_for_tasks

        names = only_for_tasks(self._rules)
        return {name: None if name in WITHOUT_MODEL else "openai-chat" for name in names}

    def status(self) -> EngineStatus:
        """Which Harbor is used; it is optional unless one is installed or configured."""
        problem = harbor_problem(self._config, self._environ)
        words = find_harbor(self._config, self._environ)
        if problem is not None:
            why, _, remedy = problem.partition("\n  → ")
            expected = bool(words or self._rules.program)
            return EngineStatus(
                state="broken" if expected else "ok",
                detail=why if expected else f"optional; {why}",
                remedy=remedy,
                problem=problem,
            )
        version = harbor_version(words)
        tested = "" if version == HARBOR.version else f"; Demeanor is tested with {HARBOR.version}"
        return EngineStatus(state="warning" if tested else "ok", detail=f"{version} ({' '.join(words)}){tested}")

    def environment(self, request: RunRequest) -> str:
        """The name of the environment that tasks run in."""
        return self.choice(request.env).name

    def choice(self, asked: str | None) -> EnvironmentChoice:
        """The environment that is asked for, or that of the configuration, or one that works here."""
        from demeanor.plugins.harbor.environments.choice import task_environment

        return task_environment(asked, self._rules)

    def refusals(self, cells: Sequence[Cell], request: RunRequest) -> Mapping[str, str]:
        """The cells that Harbor can't run here: id → why."""
        environment = self.choice(request.env)
        reasons = {cell.id: self._refusal(cell, environment, replay=request.replay is not None) for cell in cells}
        return {name: why for name, why in reasons.items() if why is not None}

    def _refusal(self, cell: Cell, environment: EnvironmentChoice, *, replay: bool) -> str | None:
        from demeanor.plugins.harbor.environments.task_images import task_refusal
        from demeanor.plugins.harbor.trials.agents import AGENTS, ORACLE, task_agent_spec
        from demeanor.plugins.harbor.trials.model_route import unreachable

        rules, name, faults = self._rules, cell.subject.agent, bool(cell.eval.scenario.faults)
        task, spec = harbor_task(cell.eval), task_agent_spec(cell.subject, rules)
        if name == ORACLE and not all(step.solution for step in task.steps):
            return f"the task has no solution, which {name} would run"
        if refused := task_refusal(task, environment, self._environ):
            return refused
        if spec is None:
            agents = ", ".join((*AGENTS, *rules.agents))
            return f"{name} can't run tasks; use one of {agents}, or configure [harbor.agents.{name}]"
        if environment.ours and spec.fetched and environment.kwargs.get("network") != "host":
            return f"Harbor downloads {name}, and {environment.name} has no network; use --env docker"
        if self.catalog.of(cell.subject).dialect is None:
            return "faults can't be injected, because the agent uses no model" if faults else None
        problem = unreachable(spec, rules, environment)
        return None if rules.direct and not faults and not replay else problem

    def prepare(self, plan: Plan, request: RunRequest, gateway: Gateway, *, seed: int) -> EngineRun:
        """Harbor in a sandbox of its own, with the images that are missing pulled if that is configured."""
        from demeanor.plugins.harbor.environments.task_images import prepare_images
        from demeanor.plugins.harbor.trials.attempt import attempt_task
        from demeanor.runner import no_isolation

        sandbox = no_isolation()
        context = self.context(request.env, sandbox, gateway, seed=seed)
        cells = [cell for cell in plan.cells if not cell.skipped and isinstance(cell.eval.task, HarborTask)]
        images = prepare_images([harbor_task(cell.eval) for cell in cells], context.environment, self._environ)
        return EngineRun(
            attempt=partial(attempt_task, context=context),
            sandboxes=(sandbox,),
            notes=(*context.environment.notes, *images),
        )

    def self_tests(self, tasks: Sequence[Eval], options: TaskOptions, show: ShowProgress) -> Iterator[SelfTest]:
        """The self-test of each task."""
        from demeanor.plugins.harbor.self_test.runs import check_statically, run_test

        for task in tasks:
            yield check_statically(self, task, options) if options.static else run_test(self, task, options, show)

    def context(self, env: str | None, sandbox: NoneSandbox, gateway: Gateway, *, seed: int) -> TaskContext:
        """What all attempts at tasks share; raises UsageError when Harbor is not installed."""
        from demeanor.plugins.harbor.environments.task_images import with_image_cache
        from demeanor.plugins.harbor.trials.context import TaskContext

        require_harbor(self._config, self._environ)
        command = find_harbor(self._config, self._environ)
        empty, packages = sandbox.folder / "empty", sandbox.folder / "packages"
        empty.mkdir(exist_ok=True)
        packages.mkdir(exist_ok=True)
        if not (packages / "demeanor").exists():
            (packages / "demeanor").symlink_to(_PACKAGE)
        return TaskContext(
            program=command,
            version=harbor_version(command),
            rules=self._rules,
            environment=with_image_cache(self.choice(env), self._environ),
            agent=self.catalog.of,
            sandbox=sandbox,
            empty=Template(folder=empty, tree=Tree()),
            gateway=gateway,
            seed=seed,
            packages=packages,
            installed=self._installed,
            environ=self._environ,
        )

    def _installed(self, subject: Subject) -> dict[str, str]:
        """Options that make an agent installed on this machine visible in the bubblewrap environment. Harbor's adapters
        of Claude Code and Codex use it, and don't download one, which would need a network.
        """
        agent = self.catalog.of(subject)
        if not isinstance(agent, RecipeAgent):
            return {}
        if missing := agent.missing():
            raise WorldError(VoidCause.MISSING, missing)
        program = agent.setup.program
        readable = program_paths(program, agents_folders(self._environ))
        return {"reads": ":".join(readable), "path": str(Path(program[-1]).parent)}
