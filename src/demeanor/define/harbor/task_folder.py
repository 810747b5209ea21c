"""Tasks in the format of Harbor: `task.toml`, `instruction.md`, `environment/`, `tests/`, `solution/`, or `steps/`.

They are read unchanged, in every version of the format from 1.0 to 1.4, but strictly: what Harbor would ignore or skip
is an error here. A task is an eval whose one check is its reward. What Demeanor wants to know besides (policy, trials,
labels) stands in `[metadata.demeanor]`, which Harbor leaves alone.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import cast

from demeanor.config.config import read_toml
from demeanor.config.table import Table
from demeanor.core.checks import RewardCheck
from demeanor.core.errors import BadInput
from demeanor.core.eval import Eval, Source
from demeanor.core.harbor_task import (
    HarborTask,
    RewardStrategy,
)
from demeanor.core.policy import Policy
from demeanor.core.scenario import Scenario
from demeanor.define.eval_fields import name_problem
from demeanor.define.folder.cline_folder import folder_name
from demeanor.define.harbor.task_digest import TASK, content_of, refuse_strays
from demeanor.define.harbor.task_environment import read_environment
from demeanor.define.harbor.task_steps import INSTRUCTION, agent_machine, resolve_step
from demeanor.define.harbor.task_tables import (
    StepTable,
    read_agent,
    read_artifacts,
    read_step,
    read_verifier,
)
from demeanor.define.harbor.task_warnings import task_warnings

SCHEMAS = ("1.0", "1.1", "1.2", "1.3", "1.4")
_PACKAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*")


def looks_like_task(folder: Path) -> bool:
    """Whether a folder met on the way is a task, perhaps a broken one; an error tells what is missing."""
    if (folder / TASK).is_file():
        return True
    return (folder / INSTRUCTION).is_file() and (folder / "environment").is_dir() and (folder / "tests").is_dir()


def read_task_folder(folder: Path) -> Eval:
    """The eval that the task in `folder` is; its name is the folder's unless it gives another."""
    where = folder / TASK
    if not where.is_file():
        raise BadInput(
            f"this looks like a Harbor task, and there is no {TASK}",
            where=folder,
            remedy="`demeanor task new` shows what one looks like",
        )
    data = read_toml(where)
    table = Table(data, where=where)
    refuse_strays(folder)
    ours = _Labels(table)
    task, description, keywords, needed = _task(table, folder, ours, content_of(folder, data))
    return Eval(
        name=ours.name or folder_name(folder, where),
        policy=ours.policy,
        scenario=Scenario(
            prompts=tuple(step.instruction for step in task.steps),
            timeout=task.agent_timeout,
            requires_env=needed,
        ),
        checks=(RewardCheck(key=ours.reward, at_least=ours.at_least),),
        source=Source(path=folder),
        description=description,
        trials=ours.trials,
        subjects=ours.subjects,
        models=ours.models,
        tags=tuple(dict.fromkeys((*keywords, *ours.tags))),
        suite=ours.suite,
        owner=ours.owner,
        issue=ours.issue,
        task=task,
    )


def _task(
    table: Table, folder: Path, ours: _Labels, hashes: tuple[str, str]
) -> tuple[HarborTask, str, tuple[str, ...], tuple[str, ...]]:
    """The task; its description, its keywords, and the variables of the host that it needs."""
    name, version, description, keywords = _package(table.table("task"), folder)
    schema = _schema(table)
    environment, agent = read_environment(table.table("environment")), read_agent(table.table("agent"))
    verifier = read_verifier(table.table("verifier"))
    _solution(table.table("solution"))
    strategy = table.choice("multi_step_reward_strategy", ("mean", "final"))
    artifacts = read_artifacts(table)
    table.maybe_text("source")
    written = [read_step(one) for one in table.tables("steps")]
    table.finish()
    _unique(written, table)
    machine = agent_machine(folder, environment)
    steps = tuple(
        resolve_step(one, folder, machine=machine, agent=agent, verifier=verifier)
        for one in written or [StepTable(name="")]
    )
    needs = [environment.needs_env, verifier.needs_env, *(step.verifier.needs_env for step in written)]
    task = HarborTask(
        folder=folder.resolve(),
        name=name,
        version=version,
        schema=schema,
        digest=hashes[0],
        content=hashes[1],
        steps=steps,
        environment=machine,
        reward=ours.reward,
        at_least=ours.at_least,
        strategy=cast("RewardStrategy", strategy or "mean"),
        artifacts=artifacts,
        warnings=tuple(task_warnings(steps, verifier, folder=folder, reward=ours.reward, strategy=strategy)),
    )
    return task, description, keywords, tuple(dict.fromkeys(itertools.chain.from_iterable(needs)))


def _solution(table: Table | None) -> None:
    """`[solution]`: Harbor alone needs it, so it is only checked."""
    if table is not None:
        table.strings("env")
        table.finish()


class _Labels:
    """`[metadata]` is the author's own; `[metadata.demeanor]` in it is ours, and read strictly."""

    def __init__(self, table: Table) -> None:
        metadata = table.table("metadata") or Table({}, where=table.where)
        ours = metadata.table("demeanor") or Table({}, where=table.where)
        free = metadata.anything("tags")
        self.name = ours.maybe_text("name")
        if self.name is not None and (problem := name_problem(self.name)):
            ours.fail("name", f"{self.name!r} can't be an eval's name", problem)
        self.policy = Policy(ours.choice("policy", [one.value for one in Policy], Policy.USUALLY_PASSES.value) or "")
        self.trials = ours.whole("trials", least=1)
        self.subjects, self.models = ours.texts("subjects"), ours.texts("models")
        texts = isinstance(free, list) and all(isinstance(one, str) for one in free)
        self.tags = (*(free if texts else ()), *ours.texts("tags"))
        self.suite, self.owner, self.issue = (ours.maybe_text(key) for key in ("suite", "owner", "issue"))
        self.reward = ours.text("reward", "reward")
        given = ours.number("at_least", least=-1e9, most=1e9)
        self.at_least = 1.0 if given is None else given
        ours.finish()


def _package(table: Table | None, folder: Path) -> tuple[str, str | None, str, tuple[str, ...]]:
    """`[task]`: name, version, description and keywords."""
    if table is None:
        return folder.resolve().name, None, "", ()
    name = table.text("name", required=True)
    if not _PACKAGE.fullmatch(name) or ".." in name:
        table.fail("name", f"{name!r} is no name of a task", f"write it with an organisation: 'my-team/{folder.name}'")
    version, description = table.maybe_text("version"), table.text("description")
    if version == "":
        table.fail("version", "is empty")
    keywords = table.texts("keywords")
    for author in table.tables("authors"):
        author.text("name", required=True)
        author.maybe_text("email")
        author.finish()
    table.finish()
    return name, version, description, keywords


def _schema(table: Table) -> str:
    """`schema_version`, or `version` as it was called at first."""
    today, before = table.maybe_text("schema_version"), table.maybe_text("version")
    if today is not None and before is not None and today != before:
        table.fail("version", f"is {before!r}, and schema_version is {today!r}", "keep schema_version only")
    key = "version" if today is None and before is not None else "schema_version"
    schema = today or before or SCHEMAS[-1]
    if schema not in SCHEMAS:
        remedy = f"Demeanor reads {SCHEMAS[0]} to {SCHEMAS[-1]}; the version of the task itself goes into [task]"
        table.fail(key, f"unknown version {schema!r} of the format", remedy)
    return schema


def _unique(steps: list[StepTable], table: Table) -> None:
    seen: set[str] = set()
    for place, step in enumerate(steps):
        if step.name.casefold() in seen:
            table.fail(f"steps[{place}].name", f"{step.name!r} is there twice (capitals do not count)")
        seen.add(step.name.casefold())
