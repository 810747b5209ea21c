"""What the environment of a task is refused for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.environments.definition import check_environment, check_task_users
from demeanor.plugins.harbor.format.task import HarborTask, TaskEnvironment


@pytest.fixture(autouse=True)
def _ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.mark.parametrize(
    ("lines", "refusal"),
    [
        ("USER app\nRUN id\nUSER root", "Dockerfile:3: RUN: runs as 'app', but root is the only user"),
        ("RUN id\nUSER app:app", "Dockerfile:3: USER app:app: root is the only user"),
        ("USER root:root\nRUN id\nUSER 0", None),
        ("RUN useradd app && chown app /srv\nCOPY --chown=app . /srv", None),
    ],
)
def test_another_user_is_refused_for_an_ordinary_user(
    lines: str, refusal: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its line, before anything runs; root can create users."""
    (tmp_path / "Dockerfile").write_text(f"FROM debian:12\n{lines}\n")
    machine = TaskEnvironment(folder=tmp_path, dockerfile=True)
    if refusal is None:
        check_environment(machine, None)
        return
    with pytest.raises(BadInput) as found:
        check_environment(machine, None)
    assert refusal in str(found.value)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    check_environment(machine, None)


@pytest.mark.parametrize("name", ["Debian:12", "debian:12:3", "debian@12", "http://debian"])
def test_an_impossible_name_of_an_image_is_refused(name: str, tmp_path: Path) -> None:
    """With its line, or the key of task.toml."""
    (tmp_path / "Dockerfile").write_text(f"# an image\nFROM {name}\nRUN id\n")
    with pytest.raises(BadInput) as found:
        check_environment(TaskEnvironment(folder=tmp_path, dockerfile=True), None)
    assert f"Dockerfile:2: FROM {name}: not the name of an image" in str(found.value)
    (tmp_path / "Dockerfile").unlink()
    with pytest.raises(BadInput, match=f"task.toml: docker_image {name}: not the name of an image"):
        check_environment(TaskEnvironment(folder=tmp_path, image=name), None)


@pytest.mark.parametrize(
    ("name", "refused"), [("docker-compose.yaml", True), (".dockerignore", True), ("docker-compose.yml", False)]
)
def test_a_file_that_changes_the_build_is_refused(name: str, refused: bool, tmp_path: Path) -> None:
    """Harbor reads `docker-compose.yaml` only: another name is a file that the task copies."""
    (tmp_path / "Dockerfile").write_text("FROM debian:12\nCOPY . /srv\n")
    (tmp_path / name).touch()
    machine = TaskEnvironment(folder=tmp_path, dockerfile=True)
    if not refused:
        check_environment(machine, None)
        return
    with pytest.raises(BadInput, match=f"{name}: the bubblewrap environment does not support this file"):
        check_environment(machine, None)


def test_a_user_of_task_toml_is_refused_too(tmp_path: Path) -> None:
    """With its key."""
    task = HarborTask(
        folder=tmp_path,
        name="a/b",
        digest="",
        content="",
        steps=(),
        environment=TaskEnvironment(folder=tmp_path),
        users={"agent.user": "0", "steps[1].verifier.user": "app"},
    )
    with pytest.raises(BadInput, match=r"task.toml: steps\[1\].verifier.user: is 'app', but root is the only user"):
        check_task_users(task)
