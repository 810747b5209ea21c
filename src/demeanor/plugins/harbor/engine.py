"""Whole tasks: finds Harbor, checks which cells of a plan it can run, and prepares its attempts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.agents.folders import agents_folders
from demeanor.agents.package import Package, find_program, installed_version, program_paths
from demeanor.agents.recipe import RecipeAgent
from demeanor.config.config import Config
from demeanor.core.errors import UsageError, WorldError
from demeanor.plugins.harbor.format.task import HarborTask
from demeanor.core.ports import Gateway, Template
from demeanor.core.run_request import RunRequest
from demeanor.core.subject import Subject
from demeanor.core.tree import Tree
from demeanor.core.trial import Cell, Plan
from demeanor.core.verdict import VoidCause
from demeanor.gateway.null import NullGateway
from demeanor.plugins.harbor.environments.task_images import task_refusal, with_image_cache

if TYPE_CHECKING:
    from demeanor.plugins.harbor.trials.context import TaskContext
    from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
    from demeanor.runner.catalog import Catalog
    from demeanor.sandboxes.levels.none import NoneSandbox

HARBOR = Package(manager="pip", name="harbor", version="0.24.0", program="bin/harbor", needs="python >= 3.12")
"""Harbor, in the version that was tested."""

INSTALL = "demeanor harbor install"
NOT_ON_A_CLUSTER = (
    "Harbor tasks do not run on a cluster, because Harbor has environments of its own\n"
    "  → run them with --executor local, and the other evals apart from them"
)
_MIN_VERSION = (0, 24)
_PACKAGE = Path(__file__).parents[1]


def has_tasks(plan: Plan) -> bool:
    """Whether a plan contains tasks."""
    return any(cell.eval.task is not None for cell in plan.cells)


def only_tasks(plan: Plan) -> bool:
    """Whether a plan contains only tasks, so that no other sandbox is needed."""
    return bool(plan.cells) and all(cell.eval.task is not None for cell in plan.cells)


def find_harbor(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command that starts Harbor; empty if it is not installed.

    Looks for the one named in the configuration, beside our own Python, installed by Demeanor, and on PATH, in this
    order.
    """
    if named := config.harbor.command(config.root):
        return named
    beside = Path(sys.executable).parent / "harbor"
    if beside.is_file():
        return (str(beside),)
    found = find_program("harbor", HARBOR, agents_folders(environ), None)
    return (str(found),) if found else ()


def harbor_version(command: tuple[str, ...]) -> str:
    """The version of an installed Harbor; empty if it does not report one."""
    return installed_version(command, HARBOR, "--version") or ""


def harbor_problem(config: Config, environ: Mapping[str, str]) -> str | None:
    """Why tasks can't run here, with the remedy; None if they can."""
    command = find_harbor(config, environ)
    if not command:
        return f"harbor, which runs whole tasks, is not installed\n  → {INSTALL}, or set its path: [harbor] program = …"
    version = harbor_version(command)
    if not version:
        return f"{' '.join(command)} does not report its version\n  → {INSTALL}"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < _MIN_VERSION:
        return f"Harbor {version} is too old; {HARBOR.version} is tested\n  → {INSTALL}"
    return None


def tasks_refused(config: Config, plan: Plan, environ: Mapping[str, str]) -> str | None:
    """Why a run with this plan would be refused because of its tasks, with the remedy; None if it would not."""
    if not any(cell.eval.task is not None and cell.skipped is None for cell in plan.cells):
        return None
    return NOT_ON_A_CLUSTER if config.executor.is_cluster else harbor_problem(config, environ)


def require_harbor(config: Config, environ: Mapping[str, str]) -> None:
    """Raise UsageError when tasks can't run here."""
    if problem := harbor_problem(config, environ):
        raise UsageError(problem)


def check_tasks(catalog: Catalog, plan: Plan, request: RunRequest) -> Plan:
    """The plan with cells that can't run marked as skipped; raises UsageError when no task can run."""
    if not has_tasks(plan):
        return plan
    from demeanor.plugins.harbor.trials.agents import AGENTS, task_agent_spec
    from demeanor.plugins.harbor.trials.model_route import unreachable

    rules = catalog.config.harbor
    environment = chosen_environment(catalog.config, request)

    def checked(cell: Cell) -> Cell:
        if cell.skipped or cell.eval.task is None:
            return cell
        spec, name = task_agent_spec(cell.subject, rules), cell.subject.agent
        if refused := _refusal(cell.eval.task, name, environment, catalog.environ):
            return _skipped(cell, refused)
        if spec is None:
            known = ", ".join((*AGENTS, *rules.agents))
            return _skipped(cell, f"{name} can't run tasks; use one of {known}, or configure [harbor.agents.{name}]")
        if environment.ours and spec.fetched and environment.kwargs.get("network") != "host":
            return _skipped(cell, f"Harbor downloads {name}, and {environment.name} has no network; use --env docker")
        if catalog.of(cell.subject).dialect is None:
            return (
                _skipped(cell, "faults can't be injected, because the agent uses no model") if _faults(cell) else cell
            )
        problem = unreachable(spec, rules, environment)
        if problem is None or (rules.direct and not _faults(cell) and request.replay is None):
            return cell
        return _skipped(cell, problem)

    return Plan(cells=tuple(checked(cell) for cell in plan.cells))


def _refusal(task: HarborTask, agent: str, environment: EnvironmentChoice, environ: Mapping[str, str]) -> str | None:
    """Why every attempt at a task would be refused; None if it would not."""
    if agent == "oracle" and not all(step.solution for step in task.steps):
        return f"the task has no solution, which {agent} would run"
    return task_refusal(task, environment, environ)


def _faults(cell: Cell) -> bool:
    return bool(cell.eval.scenario.faults)


def _skipped(cell: Cell, why: str) -> Cell:
    return replace(cell, trials=(), skipped=why)


def chosen_environment(config: Config, request: RunRequest) -> EnvironmentChoice:
    """The environment that a run's tasks run in."""
    from demeanor.plugins.harbor.environments import choice as environments

    return environments.task_environment(request.env, config.harbor)


def task_environment(config: Config, request: RunRequest, plan: Plan) -> str | None:
    """The name of that environment; None for a plan without tasks."""
    return chosen_environment(config, request).name if has_tasks(plan) else None


def task_context(
    catalog: Catalog, request: RunRequest, sandbox: NoneSandbox, gateway: Gateway | None = None, *, seed: int
) -> TaskContext:
    """What all attempts at tasks share; raises UsageError when Harbor is not installed. Agents that call no model need
    no gateway.
    """
    from demeanor.plugins.harbor.trials.context import TaskContext

    require_harbor(catalog.config, catalog.environ)
    command = find_harbor(catalog.config, catalog.environ)
    empty, packages = sandbox.folder / "empty", sandbox.folder / "packages"
    empty.mkdir(exist_ok=True)
    packages.mkdir(exist_ok=True)
    if not (packages / "demeanor").exists():
        (packages / "demeanor").symlink_to(_PACKAGE)
    return TaskContext(
        program=command,
        version=harbor_version(command),
        rules=catalog.config.harbor,
        environment=with_image_cache(chosen_environment(catalog.config, request), catalog.environ),
        agent=catalog.of,
        sandbox=sandbox,
        empty=Template(folder=empty, tree=Tree()),
        gateway=gateway or NullGateway(),
        seed=seed,
        packages=packages,
        installed=partial(_installed, catalog),
        environ=catalog.environ,
    )


def _installed(catalog: Catalog, subject: Subject) -> dict[str, str]:
    """Options that make an agent installed on this machine visible in the bubblewrap environment. Harbor's adapters of
    Claude Code and Codex use it, and don't download one, which would need a network.
    """
    agent = catalog.of(subject)
    if not isinstance(agent, RecipeAgent):
        return {}
    if missing := agent.missing():
        raise WorldError(VoidCause.MISSING, missing)
    program = agent.setup.program
    readable = program_paths(program, agents_folders(catalog.environ))
    return {"reads": ":".join(readable), "path": str(Path(program[-1]).parent)}
