"""Read tasks in Harbor's format: `task.toml`, `instruction.md`, `environment/`, `tests/`, `solution/`, or `steps/`.

Every version of the format from 1.0 to 1.4 is read unchanged, but strictly: what Harbor would ignore or skip is an
error here. A task is an eval whose only check is its reward. Demeanor's own settings (policy, trials, labels) are in
`[metadata.demeanor]`, which Harbor ignores.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from demeanor.config import Table, read_toml
from demeanor.core.values.checks import RewardCheck
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.define import EVAL_FIELDS, Field, folder_name, read_fields, refuse_outside, text
from demeanor.plugins.harbor.format.file_names import TASK
from demeanor.plugins.harbor.format.task import HarborTask, TaskStep
from demeanor.plugins.harbor.format.task_environment import read_environment
from demeanor.plugins.harbor.format.task_steps import agent_machine, resolve_step
from demeanor.plugins.harbor.format.task_tables import (
    StepTable,
    VerifierTable,
    check_artifacts,
    read_agent_timeout,
    read_step,
    read_verifier,
)

SCHEMAS = ("1.0", "1.1", "1.2", "1.3", "1.4")
_PACKAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*")


def read_task_folder(folder: Path) -> Eval:
    """The eval of the task in `folder`; it has the folder's name unless `[metadata.demeanor]` gives another."""
    where = folder / TASK
    if not where.is_file():
        raise BadInput(
            f"this looks like a Harbor task, but it has no {TASK}",
            where=folder,
            remedy="add it, or move the folder away: demeanor help harbor describes a task",
        )
    refuse_outside(folder, where=folder)
    reject_unsafe_links(folder)
    data = read_toml(where)
    table = Table(data, where=where)
    labels = _labels(table)
    reward = RewardCheck(key=labels.pop("reward"), at_least=labels.pop("at_least"))
    task, description, keywords, needed = _task(table, folder, reward.key, content_of(folder, data))
    labels["tags"] = tuple(dict.fromkeys((*keywords, *labels["tags"])))
    if "name" not in labels:
        labels["name"] = folder_name(folder, where)
    return Eval(
        scenario=Scenario(
            prompts=tuple(step.instruction for step in task.steps),
            timeout=task.agent_timeout,
            requires_env=needed,
        ),
        checks=(reward,),
        source=Source(path=folder),
        description=description,
        task=task,
        **labels,
    )


def _task(
    table: Table, folder: Path, reward: str, hashes: tuple[str, str]
) -> tuple[HarborTask, str, tuple[str, ...], tuple[str, ...]]:
    """The task, its description and keywords, and the host's environment variables that it needs."""
    name, version, description, keywords = _package(table.table("task"), folder)
    _check_schema(table)
    environment = read_environment(table.table("environment"))
    agent_timeout = read_agent_timeout(table.table("agent"))
    verifier = read_verifier(table.table("verifier"))
    _solution(table.table("solution"))
    strategy = table.choice("multi_step_reward_strategy", ("mean", "final"))
    check_artifacts(table)
    table.maybe_text("source")
    written = [read_step(step_table) for step_table in table.tables("steps")]
    table.finish()
    _unique(written, table)
    machine = agent_machine(folder, environment)
    steps = tuple(
        resolve_step(step_table, folder, machine=machine, agent_timeout=agent_timeout, verifier=verifier)
        for step_table in written or [StepTable(name="")]
    )
    needs = [environment.needs_env, verifier.needs_env, *(step.verifier.needs_env for step in written)]
    task = HarborTask(
        folder=folder.resolve(),
        name=name,
        version=version,
        digest=hashes[0],
        content=hashes[1],
        steps=steps,
        environment=machine,
        users=_users(table.data),
        warnings=tuple(_warnings(steps, verifier, folder=folder, reward=reward, strategy=strategy)),
    )
    return task, description, keywords, tuple(dict.fromkeys(itertools.chain.from_iterable(needs)))


def _users(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """The users that a task or a step names, by key."""
    phases = [(f"{prefix}{name}", data.get(name, {})) for name in ("agent", "verifier")]
    hooks = data.get("verifier", {}).get("collect", ())
    phases += [(f"{prefix}verifier.collect[{number}]", hook) for number, hook in enumerate(hooks)]
    users = {f"{key}.user": str(phase["user"]) for key, phase in phases if "user" in phase}
    for number, step in enumerate(data.get("steps", ())):
        users |= _users(step, f"steps[{number}].")
    return users


def _solution(table: Table | None) -> None:
    """`[solution]` is only checked; Harbor uses it."""
    if table is not None:
        table.strings("env")
        table.finish()


def _labels(table: Table) -> dict[str, Any]:
    """`[metadata.demeanor]`, with the tags of `[metadata]`, which belongs to the author and is not checked."""
    metadata = table.table("metadata") or Table({}, where=table.where)
    ours = metadata.table("demeanor") or Table({}, where=table.where)
    labels = {"policy": Policy.USUALLY_PASSES, "reward": "reward", "at_least": 1.0, **read_fields(ours, _LABELS)}
    tags = metadata.anything("tags")
    free = tags if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags) else ()
    labels["tags"] = (*free, *labels.get("tags", ()))
    return labels


_SHARED = {"name", "policy", "trials", "subjects", "models", "tags", "suite", "owner", "issue"}
_LABELS = (
    *(replace(eval_field, required=False) for eval_field in EVAL_FIELDS if eval_field.name in _SHARED),
    Field(name="reward", text="The key of the reward that counts.", toml=text),
    Field(
        name="at_least",
        text="The least reward that passes.",
        toml=lambda table, key: table.number(key, least=-1e9, most=1e9),
    ),
)
"""The keys of `[metadata.demeanor]`."""


def _package(table: Table | None, folder: Path) -> tuple[str, str | None, str, tuple[str, ...]]:
    """`[task]`: name, version, description and keywords."""
    if table is None:
        return folder.resolve().name, None, "", ()
    name = table.text("name", required=True)
    if not _PACKAGE.fullmatch(name) or ".." in name:
        table.fail("name", f"{name!r} is not a valid task name", f"include an organisation: 'my-team/{folder.name}'")
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


def _check_schema(table: Table) -> None:
    """`schema_version`, formerly called `version`."""
    today, before = table.maybe_text("schema_version"), table.maybe_text("version")
    if today is not None and before is not None and today != before:
        table.fail("version", f"is {before!r}, but schema_version is {today!r}", "keep schema_version only")
    key = "version" if today is None and before is not None else "schema_version"
    schema = today or before or SCHEMAS[-1]
    if schema not in SCHEMAS:
        remedy = f"Demeanor reads {SCHEMAS[0]} to {SCHEMAS[-1]}; the version of the task itself goes into [task]"
        table.fail(key, f"unknown format version {schema!r}", remedy)


def _unique(steps: list[StepTable], table: Table) -> None:
    seen: set[str] = set()
    for index, step in enumerate(steps):
        if step.name.casefold() in seen:
            table.fail(f"steps[{index}].name", f"{step.name!r} is given twice (case is ignored)")
        seen.add(step.name.casefold())


def _warnings(
    steps: Sequence[TaskStep], verifier: VerifierTable, *, folder: Path, reward: str, strategy: str | None
) -> Iterator[str]:
    """Valid but probably unintended settings of a task, each with a remedy."""
    shared = [step for step in steps if step.verifier_mode == "shared"]
    if shared:
        yield (
            f"the verifier{_of(shared, steps)} shares the agent's environment, so the agent could forge its reward; "
            'set environment_mode = "separate" under [verifier] and list what it needs in artifacts'
        )
    endless = [step for step in steps if step.agent_timeout is None]
    if endless:
        yield f"the agent{_of(endless, steps)} has no time limit; set timeout_sec under [agent]"
    unsolved = [step for step in steps if step.solution is None]
    if unsolved:
        yield f"there is no solution{_of(unsolved, steps)}, so it is unknown whether the task can be solved"
    several = bool(steps[0].name)
    if several and verifier.timeout is not None and any(step.verifier_timeout != verifier.timeout for step in steps):
        yield "Harbor ignores timeout_sec under [verifier] if there are steps; set it in each step's verifier"
    if strategy is not None and not several:
        yield "multi_step_reward_strategy has no effect without [[steps]]"
    gated = {key for step in steps for key in step.min_reward}
    if gated and reward not in gated:
        yield f"min_reward uses {', '.join(sorted(gated))}, but the reward that counts is {reward}"
    for script in sorted(folder.glob("tests/*.sh")) + sorted(folder.glob("steps/*/tests/*.sh")):
        if b"rewards.json" in script.read_bytes():
            yield f"{script.relative_to(folder).as_posix()} mentions rewards.json, but Harbor reads reward.json"


def _of(some: Sequence[TaskStep], steps: Sequence[TaskStep]) -> str:
    """The names of the affected steps, unless all are."""
    return "" if len(some) == len(steps) else f" of {', '.join(step.name for step in some)}"


# The digest of a task's folder, which identifies the task.
#
# The algorithm is Harbor's, so the digest equals the one in Harbor's locks and datasets.

_FILES = (TASK, "instruction.md", "README.md", "trajectory.json")
_FOLDERS = ("environment", "tests", "solution", "steps")
_LITTER = (".pyc", ".swp", ".swo", "~")


def content_of(folder: Path, task: Mapping[str, Any]) -> tuple[str, str]:
    """Harbor's digest of a task, and one that ignores `[metadata]`."""
    whole, asked = hashlib.sha256(), hashlib.sha256()
    for path, file in sorted(_files(folder)):
        line = f"{path}\0{_hash(file)}\n".encode("utf-8", "surrogateescape")
        whole.update(line)
        if path != TASK:
            asked.update(line)
    settings = {key: value for key, value in task.items() if key != "metadata"}
    asked.update(json.dumps(settings, sort_keys=True, default=str).encode())
    return f"sha256:{whole.hexdigest()}", asked.hexdigest()


def reject_unsafe_links(folder: Path) -> None:
    """Reject links that leave the task or form a cycle, and special files."""
    home = folder.resolve()
    for name in (*_FILES, *_FOLDERS):
        _look(folder / name, home, ())


def _look(path: Path, home: Path, above: tuple[Path, ...]) -> None:
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        real = home.parent
    if path.is_symlink() and (not real.is_relative_to(home) or real in above):
        problem = f"the link leaves the task or forms a cycle: {str(path.readlink())!r}"
        raise BadInput(problem, where=path, remedy="copy its target into the task")
    if path.is_dir():
        for name in sorted(os.listdir(path)):  # noqa: PTH208 - only the names are wanted
            _look(path / name, home, (*above, real))
    elif path.exists() and not path.is_file():
        raise BadInput("is not a file, a folder or a link", where=path, remedy="remove it from the task")


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for name in _FILES:
        if (folder / name).is_file():
            yield name, folder / name
    for name in _FOLDERS:
        for parent, folders, files in os.walk(folder / name):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for file_name in files:
                file = Path(parent) / file_name
                if file.is_file() and not file_name.endswith(_LITTER) and file_name != ".DS_Store":
                    yield file.relative_to(folder).as_posix(), file


def _hash(file: Path) -> str:
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=file) from None
