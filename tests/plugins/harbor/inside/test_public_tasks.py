"""Twenty tasks in the manner of the public sets, on an image from a registry, without a container engine."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.core.trees.program_tree import program_tree
from demeanor.plugins.harbor.verb.rootfs import own_mounts
from tests.helpers.harbor_engine import PROGRAM, needs_harbor
from tests.helpers.image_registry import image_registry, manifest
from tests.helpers.project import Project
from tests.helpers.public_tasks import AGENT_INSIDE, TASKS, write_tasks

pytestmark = [pytest.mark.packages, needs_harbor]

CONFIG = f"""\
attempts = 1
[harbor]
program = "{PROGRAM}"
env = "bubblewrap"
images = "pull"
[harbor.agents.inside]
agent = "claude-code"
env = {{ ANTHROPIC_BASE_URL = "{{url}}", ANTHROPIC_API_KEY = "{{token}}" }}
output = "claude-code.txt"
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of an image of Debian 12 in a registry, made of Debian's own packages."""
    program = shutil.which("mmdebstrap")
    if program is None:
        pytest.skip("mmdebstrap is not installed: run tools/system.sh mmdebstrap")
    folder = tmp_path_factory.mktemp("registry")
    file = folder / "debian.tar.gz"
    (folder / "tmp").mkdir()
    words = [*own_mounts(), program, "--quiet", "--variant=minbase", "bookworm", str(file)]
    env = {**os.environ, "TMPDIR": str(folder / "tmp")}
    with (folder / "log").open("wb") as log, program_tree(words, env=env, stdout=log, clean_up_time=30) as process:
        process.wait()
    assert process.returncode == 0, (folder / "log").read_text()
    with image_registry(folder) as registry:
        registry.push("lab/debian", "12", *manifest([file.read_bytes()]))
        yield f"{registry.host}/lab/debian:12"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of caches, which all tests here share."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def tasks(project: Project, cache: Path) -> Project:
    """A project without tasks yet."""
    project.write(demeanor_toml=CONFIG)
    project.env |= {"DEMEANOR_CACHE": str(cache), "DEMEANOR_AGENTS": str(cache / "none")}
    return project


def test_a_coding_agent_that_the_dockerfile_installs_is_used(tasks: Project, image: str) -> None:
    """A real agent, which is not installed on this machine; the gateway sees its requests."""
    AGENT_INSIDE.write(tasks.folder / "tasks/inside", image)
    done = tasks.demeanor("run", "tasks", "--policy", "all", "--trials", "1", "--subject", "inside:scripted")
    assert done.returncode == 0, done.stdout
    (record,) = records(tasks)
    assert record["spent"]["turns"] == 2
    assert record["agent_version"]


def test_twenty_public_style_tasks_run_on_their_image(tasks: Project, image: str, cache: Path) -> None:
    """The solution of each gets 1, doing nothing gets 0, each at the first attempt; a second run builds nothing."""
    write_tasks(tasks.folder / "tasks", image)
    words = ("tasks", "--policy", "all", "--trials", "1", "--jobs", "2")
    tasks.demeanor("run", *words, "--subject", "oracle", "--subject", "nop")
    found = {(one["eval"], one["subject"]): one["verdict"]["outcome"] for one in records(tasks)}
    assert Counter(found.values()) == {"pass": len(TASKS), "fail": len(TASKS)}, found
    assert {task for (task, subject), outcome in found.items() if (subject, outcome) == ("oracle", "pass")} == {*TASKS}
    roots = sorted((cache / "images/roots").iterdir())
    again = tasks.demeanor("run", *words, "--subject", "oracle", "-k", "hello")
    assert again.returncode == 0, again.stdout
    assert sorted((cache / "images/roots").iterdir()) == roots


def records(project: Project) -> list[dict[str, dict[str, object]]]:
    """The attempts of the latest run."""
    lines = (project.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]
