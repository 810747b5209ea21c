"""Containers through the command line. A real engine is needed for most of this, and a skip says so loudly."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.helpers.processes import with_environ
from tests.helpers.project import Project
from tests.journeys.test_bubblewrap import captures, until, write
from tests.journeys.test_levels import CALLER, SCRIPT
from tests.sandboxes.levels.test_container import engines


@pytest.fixture
def engine() -> str:
    """An engine that runs containers here."""
    for name, why in engines().items():
        if not why:
            return name
    pytest.skip(f"NO CONTAINERS WERE TRIED: {engines()}")


def test_a_trial_runs_in_a_container_and_its_record_says_so(project: Project, engine: str) -> None:
    """The level, the engine, each limit and how hard it is, and what hostile programs reached."""
    write(project, SCRIPT, config=f'sandbox = "{engine}"\nmin_isolation = "bubblewrap"')
    ran = project.demeanor("run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (capture,) = captures(project)
    facts = capture["facts"]
    assert (facts["sandbox"], facts["network"], facts["workspace"]) == (engine, "gateway", "/sandbox/workspace")
    assert facts["engine"].startswith(f"{engine} ")
    assert "hard" in facts["limit.memory"]
    assert facts["probes"].startswith("31 tried 20")
    assert "open" not in facts["probes"]
    assert project.temporary() == []


def test_an_agent_reaches_its_model_from_a_container(project: Project, engine: str) -> None:
    """Through the listener in the container; its requests are in the record."""
    python = shutil.which("python3", path="/usr/bin")
    if python is None:
        pytest.skip("needs a Python in /usr/bin")
    write(project, SCRIPT)
    table = f'command = ["{python}", "-I", "-c", {json.dumps(CALLER)}, "{{prompt}}"]\ndialect = "openai-chat"\n'
    table += 'base_url_env = ["OPENAI_BASE_URL"]\ntoken_env = ["OPENAI_API_KEY"]\n'
    config = f'trials = 1\nattempts = 1\nsubjects = ["mine:scripted"]\n[agents.mine]\nadapter = "command"\n{table}'
    project.write(demeanor_toml=config)
    ran = project.demeanor("run", "--sandbox", engine)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (capture,) = captures(project)
    assert len(capture["exchanges"]) == 1
    assert capture["facts"]["base_url"].startswith("http://127.0.0.1:11811/t/")


def test_kill_9_of_demeanor_ends_its_containers(project: Project, engine: str) -> None:
    """No process, no temp folder and no container is left."""
    mark = uuid.uuid4().hex
    script = "trap '' TERM; setsid sh -c 'while :; do sleep 0.1; done' & while :; do sleep 0.1; done"
    write(project, script, mark=mark)
    run = subprocess.Popen(
        project.command("run", "--sandbox", engine),
        cwd=project.folder,
        env=project.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        until(lambda: len(with_environ(mark)) >= 2)
        (folder,) = project.temporary()
    finally:
        run.kill()
        run.communicate()
    until(lambda: with_environ(mark) == [])
    until(lambda: project.temporary() == [])
    words = [engine, "ps", "--all", "--format", "{{.Names}}"]
    until(lambda: folder not in subprocess.run(words, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("level", ["docker", "podman"])
def test_an_engine_that_does_not_answer_is_an_error_and_nothing_is_run(project: Project, level: str) -> None:
    """With what to do; and nothing less is put in its place."""
    tools = project.folder.parent / "tools"
    tools.mkdir()
    (tools / level).write_text("#!/bin/sh\necho 'Error: cannot connect to the engine' >&2\nexit 125\n")
    (tools / level).chmod(0o755)
    write(project, SCRIPT)
    ran = project.demeanor("run", "--sandbox", level, PATH=f"{tools}:{os.environ['PATH']}")
    assert ran.returncode == 2
    assert f"{level} is installed, but does not work: cannot connect to the engine" in ran.stderr
    assert f"check that `{level} run` works for you" in ran.stderr
    assert "or use another one: --sandbox bubblewrap" in ran.stderr
    assert not Path(project.folder, "results").exists()
