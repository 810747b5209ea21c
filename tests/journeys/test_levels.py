"""Isolation levels through the command line: landlock, min_isolation, and no fallback to a weaker level."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.sandboxes.supervisor import landlock_abi
from tests.helpers.processes import with_environ
from tests.helpers.project import Project
from tests.journeys.test_bubblewrap import captures, until, write

pytestmark = pytest.mark.skipif(landlock_abi.version() < landlock_abi.MIN_VERSION, reason="landlock is not here")
SCRIPT = "printf hi > out.txt; cat /etc/shadow; ls /root; true"


@pytest.fixture
def temp() -> Iterator[str]:
    """A temp folder that everybody can enter, as the usual one is."""
    with tempfile.TemporaryDirectory(prefix="levels-") as folder:
        Path(folder).chmod(0o755)
        yield folder


def without_bubblewrap(project: Project) -> str:
    """A PATH that has little on it."""
    tools = project.folder.parent / "tools"
    tools.mkdir()
    for name in ("sh", "git", "grep", "printf", "sleep"):
        (tools / name).symlink_to(shutil.which(name) or "")
    return str(tools)


def test_a_trial_runs_in_landlock_and_its_record_says_what_stays_open(project: Project, temp: str) -> None:
    """The level, each limit and how hard it is, and what the level does not do."""
    write(project, SCRIPT)
    ran = project.demeanor("run", "--sandbox", "landlock", TMPDIR=temp)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (capture,) = captures(project)
    facts = capture["facts"]
    assert (facts["sandbox"], facts["network"]) == ("landlock", "gateway")
    assert facts["ends"] in ("pid namespace", "process tree")
    assert (facts["limit.disk"], facts["open.address"]) == ("unsupported", "any, at the port of the gateway")
    assert facts["probes"].startswith("31 tried 20")
    assert ("see a process of the host" in facts["probes.open"]) == (facts["ends"] == "process tree")
    assert capture["ends"][0]["stderr"]["text"].count("Permission denied") == 2
    assert list(Path(temp).iterdir()) == []


CALLER = """\
import json, os, urllib.request
body = dict(model="scripted", messages=[dict(role="user", content="Say hi.")])
key = dict([("Authorization", "Bearer " + os.environ["OPENAI_API_KEY"]), ("Content-Type", "application/json")])
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
answer = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), key))
assert json.load(answer)["choices"]
open("out.txt", "w").write("hi")
"""


def test_an_agent_in_landlock_reaches_its_model(project: Project, temp: str) -> None:
    """Through a port of its own, and what it asked is in the record."""
    python = shutil.which("python3", path="/usr/bin")
    if python is None:
        pytest.skip("needs a Python that everybody may run")
    write(project, SCRIPT)
    table = f'command = ["{python}", "-I", "-c", {json.dumps(CALLER)}, "{{prompt}}"]\ndialect = "openai-chat"\n'
    table += 'base_url_env = ["OPENAI_BASE_URL"]\ntoken_env = ["OPENAI_API_KEY"]\n'
    config = f'trials = 1\nattempts = 1\nsubjects = ["mine:scripted"]\n[agents.mine]\nadapter = "command"\n{table}'
    project.write(demeanor_toml=config)
    ran = project.demeanor("run", "--sandbox", "landlock", TMPDIR=temp)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (capture,) = captures(project)
    assert len(capture["exchanges"]) == 1


@pytest.mark.parametrize(
    ("least", "asked", "code"),
    [
        ("landlock", "none", 2),
        ("landlock", "landlock", 0),
        ("landlock", "bubblewrap", 0),
        ("bubblewrap", "landlock", 2),
        ("bubblewrap", "none", 2),
        ("none", "none", 0),
    ],
)
def test_the_least_that_is_wanted_is_kept(project: Project, temp: str, least: str, asked: str, code: int) -> None:
    """Whatever is asked for on the command line, or in the configuration itself."""
    if "bubblewrap" in (least, asked) and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    write(project, SCRIPT, config=f'min_isolation = "{least}"')
    ran = project.demeanor("run", "--sandbox", asked, TMPDIR=temp)
    assert ran.returncode == code, ran.stdout + ran.stderr
    if code == 2:
        assert f"requires {least!r} or stronger isolation, and the sandbox {asked!r} is weaker" in ran.stderr
        assert "min_isolation" in ran.stderr
        assert not (project.folder / "results").exists()
        write(project, SCRIPT, config=f'min_isolation = "{least}"\nsandbox = "{asked}"')
        assert project.demeanor("run", TMPDIR=temp).returncode == 2
    else:
        assert captures(project)[0]["facts"]["sandbox"] == asked


def test_a_level_that_can_not_be_had_is_an_error_with_the_strongest_that_works(project: Project, temp: str) -> None:
    """Nothing is run in its place."""
    write(project, SCRIPT)
    ran = project.demeanor("run", PATH=without_bubblewrap(project), TMPDIR=temp)
    assert ran.returncode == 2
    assert "or use weaker isolation, which works here: --sandbox landlock" in ran.stderr
    assert not (project.folder / "results").exists()
    if os.getuid() == 0:  # the attempt's user can't enter this temp folder
        Path(temp).chmod(0o700)
        ran = project.demeanor("run", "--sandbox", "landlock", TMPDIR=temp)
        assert ran.returncode == 2
        assert "other users must be able to enter the temp folder" in ran.stderr
        assert not (project.folder / "results").exists()


def test_a_level_that_is_not_there_is_an_error(project: Project) -> None:
    """Also in the configuration."""
    write(project, SCRIPT, config='sandbox = "chroot"')
    ran = project.demeanor("run")
    assert ran.returncode == 2
    assert "chroot" in ran.stderr
    assert "none" in ran.stderr
    assert project.demeanor("run", "--sandbox", "chroot").returncode == 2


def test_doctor_tries_every_level(project: Project, temp: str) -> None:
    """As a table and as JSON; what is missing is said, and why. (Container engines have tests of their own.)"""
    path = without_bubblewrap(project)
    bwrap = Path(path) / "bwrap"
    if program := shutil.which("bwrap"):
        bwrap.symlink_to(program)
    shown = project.demeanor("doctor", "--sandboxes", PATH=path, TMPDIR=temp)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    head, *rows = shown.stdout.splitlines()
    assert head.split()[:2] == ["no", "sandbox"]
    assert "landlock" in head
    assert any(row.startswith("see a process of the host") and " open" in row for row in rows)
    bwrap.unlink(missing_ok=True)
    found = json.loads(project.demeanor("doctor", "--sandboxes", "--json", PATH=path, TMPDIR=temp).stdout)
    assert found["not_here"]["bubblewrap"] == "bwrap is not on PATH"
    assert {"landlock", "none"} <= found["levels"].keys()
    states = {one["name"]: one["state"] for one in found["levels"]["landlock"]}
    assert states["read another user's file"] == "blocked"
    assert states["reach its gateway"] == "works"


def test_kill_9_of_demeanor_kills_agents_in_landlock(project: Project, temp: str) -> None:
    """No process and no temp folder is left."""
    mark = uuid.uuid4().hex
    script = "trap '' TERM; setsid sh -c 'while :; do sleep 0.1; done' & while :; do sleep 0.1; done"
    write(project, script, mark=mark)
    run = subprocess.Popen(
        project.command("run", "--sandbox", "landlock"),
        cwd=project.folder,
        env={**project.env, "TMPDIR": temp},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        until(lambda: len(with_environ(mark)) >= 2)
    finally:
        run.kill()
        run.communicate()
    until(lambda: with_environ(mark) == [])
    until(lambda: not list(Path(temp).iterdir()))
