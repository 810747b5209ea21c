"""Datasets that lie on this machine: all of them, or an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from demeanor.core.values.errors import BadInput
from demeanor.define.discovery import discover
from tests.helpers.harbor_task_files import MINIMAL, task, write


def dataset(folder: Path, *names: str, digest: str | None = None) -> Path:
    """A dataset.toml of the tasks that lie in `folder`."""
    lines = ['schema_version = "1.0"', "[dataset]", 'name = "lab/set"', 'version = "2"']
    for name in names:
        (one,) = discover([folder / name])
        assert one.task is not None
        lines += ["[[tasks]]", f'name = "{one.task.name}"', f'digest = "{digest or one.task.digest}"']
    return write(folder, {"dataset.toml": "\n".join(lines)})


def two(folder: Path) -> Path:
    for name in ("greet", "part"):
        task(folder / name, MINIMAL.replace("lab/greet", f"lab/{name}"))
    return folder


def test_the_tasks_of_a_dataset_are_tagged_with_its_name(tmp_path):
    """So that they can be chosen by it, with or without the version."""
    dataset(two(tmp_path / "set"), "greet", "part")
    for path in (tmp_path / "set", tmp_path / "set" / "dataset.toml", tmp_path):
        found = discover([path])
        assert [(one.name, one.tags) for one in found] == [
            ("greet", ("lab/set", "lab/set@2")),
            ("part", ("lab/set", "lab/set@2")),
        ]


def test_half_a_dataset_is_an_error(tmp_path):
    """A task that is listed and not there, and one that is there and not listed."""
    folder = dataset(two(tmp_path / "set"), "greet", "part")
    (folder / "part" / "task.toml").write_text(MINIMAL.replace("lab/greet", "lab/other"))
    with pytest.raises(BadInput, match="the task 'lab/part' is missing"):
        discover([folder])
    dataset(folder, "greet")
    with pytest.raises(BadInput, match=r"the task 'lab/other' is not listed in dataset\.toml"):
        discover([folder])


def test_a_task_that_was_changed_is_not_the_one_that_is_listed(tmp_path):
    """Its digest tells; Harbor's own tool writes it anew."""
    folder = dataset(two(tmp_path / "set"), "greet", "part")
    (folder / "greet" / "instruction.md").write_text("Something else.\n")
    with pytest.raises(BadInput, match="has another digest") as caught:
        discover([folder])
    assert "harbor sync" in str(caught.value)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('[dataset]\nname = "a/b"\ntask = []\n', "dataset.task"),
        ('[dataset]\nname = "a/b"\n[[tasks]]\nname = "a/c"\ndigest = "sha256:1"\n', "harbor sync"),
        ('[[tasks]]\nname = "a/c"\n', "[dataset] name"),
        ('schema_version = "9"\n', "Demeanor reads 1.0"),
    ],
)
def test_mistakes_in_a_dataset_are_refused(tmp_path, toml, message):
    """With file and key."""
    write(tmp_path, {"dataset.toml": toml})
    with pytest.raises(BadInput) as caught:
        discover([tmp_path])
    assert message in str(caught.value)


def registry(folder: Path, *tasks: dict[str, str]) -> Path:
    rows = [{"name": "set", "version": "1.0", "description": "", "tasks": list(tasks), "metrics": [{"type": "mean"}]}]
    write(folder, {"registry.json": json.dumps(rows)})
    return folder / "registry.json"


def test_the_local_tasks_of_a_registry_are_read(tmp_path):
    """By their paths beside it; a task of two datasets has the tags of both."""
    two(tmp_path / "set")
    path = registry(tmp_path, {"name": "greet", "path": "set/greet"})
    more = json.loads(path.read_text())
    path.write_text(json.dumps([*more, {**more[0], "version": "2.0"}]))
    (one,) = discover([path])
    assert one.tags == ("set", "set@1.0", "set@2.0")


def test_a_remote_task_is_fetched_by_harbor_not_by_us(tmp_path):
    """An error that says how."""
    url = {"git_url": "https://example.com/r.git", "git_commit_id": "HEAD"}
    with pytest.raises(BadInput, match="is in another repository") as caught:
        discover([registry(tmp_path, {"name": "greet", "path": "greet", **url})])
    assert "harbor download" in str(caught.value)


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    """With where it was looked for."""
    with pytest.raises(BadInput, match="there is no folder"):
        discover([registry(tmp_path, {"name": "greet", "path": "nowhere"})])


def test_a_registry_of_other_things_is_left_alone(tmp_path):
    """Many files are called registry.json: only one that is named is read as Harbor's."""
    task(tmp_path / "greet")
    write(tmp_path, {"registry.json": '{"items": []}'})
    assert [one.name for one in discover([tmp_path])] == ["greet"]
    with pytest.raises(BadInput, match="expected a list of datasets"):
        discover([tmp_path / "registry.json"])
