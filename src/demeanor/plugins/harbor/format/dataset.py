"""Local datasets of Harbor tasks: a `dataset.toml` next to its tasks, or a `registry.json`.

A listed task that is missing is an error, and so is a task that is not listed: results for part of a dataset are
meaningless. Nothing is downloaded; use `harbor download`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from demeanor.config import Table, read_toml
from demeanor.core.values.errors import BadInput, did_you_mean
from demeanor.core.values.eval import Eval
from demeanor.define import all_of, places_below
from demeanor.plugins.harbor.format.file_names import DATASET, looks_like_task
from demeanor.plugins.harbor.format.task import HarborTask, harbor_task
from demeanor.plugins.harbor.format.task_folder import read_task_folder

_DIGEST = re.compile(r"sha256:[a-f0-9]{64}")


def read_dataset(manifest: Path) -> tuple[Eval, ...]:
    """The tasks that a `dataset.toml` lists, tagged with its name; all tasks below its folder must be listed."""
    tasks: dict[Path, Eval] = {}
    problems: list[BadInput] = []
    for folder in filter(looks_like_task, places_below(manifest.parent)):
        try:
            tasks[folder] = read_task_folder(folder)
        except BadInput as problem:
            problems.append(problem)
    if problems:
        raise all_of(problems)
    return tuple(_listed(manifest, tasks))


def _listed(manifest: Path, tasks: Mapping[Path, Eval]) -> Iterator[Eval]:
    """The tasks that the file lists; `tasks` are those below its folder."""
    table = Table(read_toml(manifest), where=manifest)
    schema = table.text("schema_version", "1.0")
    if schema != "1.0":
        table.fail("schema_version", f"unknown format version {schema!r}", "Demeanor reads 1.0")
    head = table.table("dataset")
    if head is None:
        table.fail("dataset", "is required", "name the dataset: [dataset] name = 'org/name'")
    name, version = head.text("name", required=True), head.maybe_text("version")
    head.text("description")
    head.texts("keywords")
    for author in head.tables("authors"):
        author.text("name", required=True)
        author.maybe_text("email")
        author.finish()
    head.finish()
    for file in table.tables("files"):
        file.text("path", required=True)
        file.text("digest")
        file.finish()
    listed = [_pinned(entry) for entry in table.tables("tasks")]
    table.finish()
    here = {harbor_task(task).name: (folder, task) for folder, task in tasks.items()}
    for index, (task_name, digest) in enumerate(listed):
        if task_name not in here:
            remedy = did_you_mean(task_name, here, f"download it: `harbor download {task_name}`")
            table.fail(f"tasks[{index}].name", f"the task {task_name!r} is missing", remedy)
        _, digest_here = here[task_name]
        _check_digest(table, index, harbor_task(digest_here), digest)
        yield _tagged(digest_here, name, version)
    for task_name, (folder, _) in here.items():
        if task_name not in {name for name, _ in listed}:
            problem = f"the task {task_name!r} is not listed in {DATASET}"
            raise BadInput(problem, where=folder, remedy=f"`harbor dataset add {folder.name}`, or move it elsewhere")


def read_registry(registry: Path) -> tuple[Eval, ...]:
    """The tasks of all datasets that a `registry.json` lists; paths are relative to the file."""
    return tuple(_of_registry(registry))


def _of_registry(registry: Path) -> Iterator[Eval]:
    data = _json(registry)
    if not isinstance(data, list):
        raise BadInput("expected a list of datasets", where=registry)
    for index, row in enumerate(data):
        table = Table(row, where=registry, prefix=f"[{index}].")
        name, version = table.text("name", required=True), table.maybe_text("version")
        table.text("description")
        for metric in table.tables("metrics"):
            metric.text("type", required=True)
            metric.mapping("kwargs")
            metric.finish()
        for entry in table.tables("tasks"):
            yield _tagged(read_task_folder(_local(entry, registry)), name, version)
        table.finish()


def _pinned(table: Table) -> tuple[str, str]:
    name, digest = table.text("name", required=True), table.text("digest", required=True)
    if not _DIGEST.fullmatch(digest):
        table.fail("digest", f"{digest!r} is not a digest", "`harbor sync` writes them")
    table.finish()
    return name, digest


def _check_digest(table: Table, index: int, task: HarborTask, digest: str) -> None:
    """Reject a task with another digest. With a .gitignore, only Harbor can calculate it."""
    if task.digest != digest and not (task.folder / ".gitignore").exists():
        problem = f"the task {task.name!r} at {task.folder} has another digest: {task.digest[:19]}…"
        table.fail(
            f"tasks[{index}].digest", problem, "if the change is intended, run `harbor sync` to update the digests"
        )


def _local(table: Table, registry: Path) -> Path:
    name, path = table.text("name", required=True), table.text("path", required=True)
    url = table.maybe_text("git_url")
    table.maybe_text("git_commit_id")
    table.finish()
    if url is not None:
        remedy = "download the dataset with `harbor download` and use its folder"
        table.fail("git_url", f"the task {name!r} is in another repository, {url}", remedy)
    folder = registry.parent / path
    if not folder.is_dir():
        table.fail("path", f"there is no folder {str(folder)!r}", f"write it relative to {registry.name}")
    return folder


def _tagged(eval_: Eval, name: str, version: str | None) -> Eval:
    """A task with the name of its dataset as a tag, with and without the version, for `--tag`."""
    tags = (name, f"{name}@{version}") if version else (name,)
    return replace(eval_, tags=tuple(dict.fromkeys((*eval_.tags, *tags))))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"is not valid JSON: {error}", where=path) from None
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=path) from None
