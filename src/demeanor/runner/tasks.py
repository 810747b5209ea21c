"""What whole tasks are run with: Harbor, found and made ready, where a plan has tasks at all."""

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
"""Harbor, in the version that was tried."""

INSTALL = "demeanor harbor install"
_LEAST = (0, 24)
_PACKAGE = Path(__file__).parents[1]


def has_tasks(plan: Plan) -> bool:
    """Whether anything of a plan is for Harbor."""
    return any(cell.eval.task is not None for cell in plan.cells)


def only_tasks(plan: Plan) -> bool:
    """Whether everything of a plan is for Harbor, so that no sandbox of our own is needed."""
    return bool(plan.cells) and all(cell.eval.task is not None for cell in plan.cells)


def find_harbor(config: Config, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that start Harbor; none where it is not there.

    It is the one that the configuration names, the one beside our own Python, the one that Demeanor has installed, or
    the one on PATH, in this order.
    """
    if named := config.harbor.command(config.root):
        return named
    beside = Path(sys.executable).parent / "harbor"
    if beside.is_file():
        return (str(beside),)
    found = find("harbor", HARBOR, agents_folder(environ), None)
    return (str(found),) if found else ()


def harbor_version(words: tuple[str, ...]) -> str:
    """What an installed Harbor says of itself; empty where it says nothing."""
    return version_of(words, HARBOR, "--version") or ""


def harbor_problem(config: Config, environ: Mapping[str, str]) -> str | None:
    """Why tasks can't be run here, with the remedy; None where they can."""
    words = find_harbor(config, environ)
    if not words:
        return f"harbor is not installed, which runs whole tasks\n  → {INSTALL}, or name it: [harbor] program = …"
    version = harbor_version(words)
    if not version:
        return f"{' '.join(words)}: does not say which version of Harbor it is\n  → {INSTALL}"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < _LEAST:
        return f"harbor {version} is too old: {HARBOR.version} was tried\n  → {INSTALL}"
    return None


def require_harbor(config: Config, environ: Mapping[str, str]) -> None:
    """Raise UsageError where tasks can't be run here."""
    if problem := harbor_problem(config, environ):
        raise UsageError(problem)


def check_tasks(catalog: Catalog, plan: Plan, request: RunRequest) -> Plan:
    """A plan whose tasks can be run; raises UsageError where none can. What one agent can't do is skipped, visibly."""
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
            return _skipped(cell, f"{name} can't play tasks; those that can: {known}, or [harbor.agents.{name}]")
        if place.ours and who.fetched and place.kwargs.get("network") != "host":
            return _skipped(
                cell, f"Harbor fetches {name} from the network, which {place.name} has not: try --env docker"
            )
        if catalog.of(cell.subject).dialect is None:
            return _skipped(cell, "no fault can be injected where no model is asked") if _faults(cell) else cell
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
    """The environment that a run's tasks are played in."""
    from demeanor.harbor.environments import task_place

    return task_place(request.env, config.harbor)


def task_environment(config: Config, request: RunRequest, plan: Plan) -> str | None:
    """The name of that environment; None where a plan has no tasks."""
    return place_of(config, request).name if has_tasks(plan) else None


def task_means(
    catalog: Catalog, request: RunRequest, sandbox: NoneSandbox, gateway: Gateway, *, seed: int
) -> TaskContext:
    """What attempts at tasks are made with; raises UsageError where Harbor is not to be had."""
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
    """The installation of an agent on this machine, for an environment of ours: Harbor's adapters of Claude Code and
    Codex find it there and install none, which would take a network."""
    agent = catalog.of(subject)
    if not isinstance(agent, RecipeAgent):
        return {}
    if missing := agent.missing():
        raise WorldError(VoidCause.MISSING, missing)
    words = agent.setup.program
    seen = reads(words, agents_folder(catalog.environ))
    return {"reads": ":".join(seen), "path": str(Path(words[-1]).parent)}
