"""Finds Harbor, checks that it can run the tasks of a plan, and prepares what it needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.agents.package import Package, agents_folder, find, reads, version_of
from demeanor.agents.recipe import RecipeAgent
from demeanor.config.config import Config
from demeanor.core.errors import UsageError, WorldError
from demeanor.core.ports import Gateway, Template
from demeanor.core.run_request import RunRequest
from demeanor.core.subject import Subject
from demeanor.core.tree import Tree
from demeanor.core.trial import Cell, Plan
from demeanor.core.verdict import VoidCause

if TYPE_CHECKING:
    from demeanor.harbor.context import TaskContext
    from demeanor.harbor.environments import TaskPlace
    from demeanor.runner.catalog import Catalog
    from demeanor.sandboxes.levels.none import NoneSandbox

HARBOR = Package(manager="pip", name="harbor", version="0.24.0", program="bin/harbor", needs="python >= 3.12")
"""Harbor, in the version that Demeanor is tested with."""

INSTALL = "demeanor harbor install"
_LEAST = (0, 24)
_PACKAGE = Path(__file__).parents[1]


def has_tasks(plan: Plan) -> bool:
    """Whether a plan has Harbor tasks."""
    return any(cell.eval.task is not None for cell in plan.cells)


def only_tasks(plan: Plan) -> bool:
    """Whether a plan has nothing but Harbor tasks, so that it needs no sandbox."""
    return bool(plan.cells) and all(cell.eval.task is not None for cell in plan.cells)


def find_harbor(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command that starts Harbor; empty if it is not installed.

    Looked for in the configuration, beside the running Python, where Demeanor installs it, and on PATH, in this order.
    """
    if named := config.harbor.words(config.root):
        return named
    beside = Path(sys.executable).parent / "harbor"
    if beside.is_file():
        return (str(beside),)
    found = find("harbor", HARBOR, agents_folder(environ), None)
    return (str(found),) if found else ()


def harbor_version(words: tuple[str, ...]) -> str:
    """The version of an installed Harbor; empty if it does not print one."""
    return version_of(words, HARBOR, "--version") or ""


def harbor_problem(config: Config, environ: Mapping[str, str]) -> str | None:
    """Why Harbor tasks can't run on this machine, with the remedy; None if they can."""
    words = find_harbor(config, environ)
    if not words:
        return f"Harbor, which runs whole tasks, is not installed\n  → {INSTALL}, or set [harbor] program = …"
    version = harbor_version(words)
    if not version:
        return f"{' '.join(words)}: prints no version of Harbor\n  → {INSTALL}"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < _LEAST:
        return f"Harbor {version} is too old; Demeanor is tested with {HARBOR.version}\n  → {INSTALL}"
    return None


def require_harbor(config: Config, environ: Mapping[str, str]) -> None:
    """Raise UsageError if Harbor tasks can't run on this machine."""
    if problem := harbor_problem(config, environ):
        raise UsageError(problem)


def check_tasks(catalog: Catalog, plan: Plan, request: RunRequest) -> Plan:
    """The plan with every task skipped that its agent can't run, with the reason."""
    if not has_tasks(plan):
        return plan
    from demeanor.harbor.agents import ROSTER, player
    from demeanor.harbor.model_route import unreachable

    rules = catalog.config.harbor
    place = place_of(catalog.config, request)

    def checked(cell: Cell) -> Cell:
        if cell.skipped or cell.eval.task is None:
            return cell
        who, name = player(cell.subject, rules), cell.subject.agent
        if who is None:
            known = ", ".join((*ROSTER, *rules.agents))
            return _skipped(
                cell, f"{name} can't run Harbor tasks; agents that can: {known}, or set [harbor.agents.{name}]"
            )
        if place.ours and who.fetched and place.kwargs.get("network") != "host":
            return _skipped(
                cell, f"Harbor installs {name} from the network, and {place.name} has none: use --env docker"
            )
        if catalog.of(cell.subject).dialect is None:
            return _skipped(cell, f"no fault can be injected: {name} uses no model") if _faults(cell) else cell
        why_not = unreachable(who, rules, place)
        if why_not is None or (rules.direct and not _faults(cell) and request.replay is None):
            return cell
        return _skipped(cell, why_not)

    return Plan(cells=tuple(checked(cell) for cell in plan.cells))


def _faults(cell: Cell) -> bool:
    return bool(cell.eval.scenario.faults)


def _skipped(cell: Cell, why: str) -> Cell:
    return replace(cell, trials=(), skipped=why)


def place_of(config: Config, request: RunRequest) -> TaskPlace:
    """The environment in which the tasks of a run are played."""
    from demeanor.harbor.environments import task_place

    return task_place(request.env, config.harbor)


def task_environment(config: Config, request: RunRequest, plan: Plan) -> str | None:
    """The name of that environment; None if the plan has no tasks."""
    return place_of(config, request).name if has_tasks(plan) else None


def task_context(
    catalog: Catalog, request: RunRequest, sandbox: NoneSandbox, gateway: Gateway, *, seed: int
) -> TaskContext:
    """What attempts at tasks are made with; raises UsageError if Harbor is not usable."""
    from demeanor.harbor.context import TaskContext

    require_harbor(catalog.config, catalog.environ)
    words = find_harbor(catalog.config, catalog.environ)
    empty, packages = sandbox.folder / "empty", sandbox.folder / "packages"
    empty.mkdir(exist_ok=True)
    packages.mkdir(exist_ok=True)
    if not (packages / "demeanor").exists():
        (packages / "demeanor").symlink_to(_PACKAGE)
    return TaskContext(
        program=words,
        version=harbor_version(words),
        rules=catalog.config.harbor,
        place=place_of(catalog.config, request),
        agent=catalog.of,
        sandbox=sandbox,
        empty=Template(folder=empty, tree=Tree()),
        gateway=gateway,
        seed=seed,
        packages=packages,
        installed=partial(_installed, catalog),
        environ=catalog.environ,
    )


def _installed(catalog: Catalog, subject: Subject) -> dict[str, str]:
    """Where an agent is installed on this machine, for an environment of Demeanor: Harbor's adapters of Claude Code and
    Codex find it there and do not try to install it, which would need the network."""
    agent = catalog.of(subject)
    if not isinstance(agent, RecipeAgent):
        return {}
    if missing := agent.missing():
        raise WorldError(VoidCause.MISSING, missing)
    words = agent.setup.program
    seen = reads(words, agents_folder(catalog.environ))
    return {"reads": ":".join(seen), "path": str(Path(words[-1]).parent)}
