"""Which subjects use files of the project: only these can differ between two commits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.errors import WorldError
from demeanor.core.values.subject import Subject
from demeanor.runner.catalog import Catalog

_TASK = Task(
    prompts=("",),
    model="",
    workspace=Path("/workspace"),
    home=Path("/home"),
    base_url="http://gateway",
    token="",
    seed=0,
)
"""Any task: how an agent is started differs between tasks, but not where its files are."""


def uses_project_files(catalog: Catalog, subject: Subject, top: Path) -> bool:
    """Whether the agent is started with paths below `top`, the top folder of the repository, or the model has a script
    there."""
    script = catalog.config.models.get(subject.model, {}).get("script")
    if script is not None and (catalog.config.root / str(script)).resolve().is_relative_to(top):
        return True
    try:
        orders = catalog.of(subject).orders(_TASK)
    except WorldError:
        return True  # Harbor installs and starts it, so this can't be told
    return any(str(top) in text for text in _texts(orders))


def _texts(orders: Orders) -> Iterator[str]:
    """Everything that an agent is started with."""
    for launch in orders.launches:
        yield from (*launch.argv, *launch.env.values(), *launch.reads)
    yield from (content.decode("utf-8", "replace") for content in orders.home_files.values())
