"""pytest's fixtures in checks, under `demeanor run` and under pytest."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project

CONFIG = """\
subjects = ["good"]
trials = 2
attempts = 1
jobs = 1
sandbox = "none"
[agents.good]
adapter = "python"
function = "agents.py:good"
"""
CONFTEST = """\
import pathlib
import pytest

LOG = pathlib.Path(__file__).parent / "log.txt"

def log(word):
    with LOG.open("a") as file:
        file.write(word + "\\n")

@pytest.fixture(scope="session")
def database(tmp_path_factory):
    log("session begins")
    yield tmp_path_factory.mktemp("database")
    log("session ends")

@pytest.fixture
def connection(database):
    log("function begins")
    yield f"connected to {database.name}"
    log("function ends")

@pytest.fixture
def broken():
    raise ConnectionError("no server")
"""
EVALS = """\
import pytest
from demeanor import ALWAYS_PASSES, eval_test

@pytest.fixture(scope="module")
def expected():
    return "done"

@eval_test(ALWAYS_PASSES, prompt="{word}", cases=[{"word": "a"}])
async def takes_fixtures(rig, result, connection, word, expected, tmp_path):
    assert (result, word) == (expected, "a")
    assert connection == "connected to database0"
    assert not list(tmp_path.iterdir())
    (tmp_path / "one").touch()
"""


@pytest.fixture
def evals(project: Project) -> Project:
    """A project whose check takes fixtures of each scope."""
    agent = 'def good(session):\n    session.say("done")\n'
    project.write(agents_py=agent, demeanor_toml=CONFIG, evals__conftest_py=CONFTEST, evals__eval_it_py=EVALS)
    return project


@pytest.mark.parametrize("command", ["demeanor", "pytest", "pytest --pdb"])
def test_a_check_takes_fixtures_of_every_scope(evals: Project, command: str) -> None:
    """A session fixture is created once per process in which checks run, a function fixture for every check."""
    ran = evals.demeanor("run") if command == "demeanor" else evals.pytest("evals", *command.split()[1:])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    log = (evals.folder / "evals/log.txt").read_text().splitlines()
    assert log == ["session begins", *["function begins", "function ends"] * 2, "session ends"]
    assert not [name for name in evals.temporary() if name.startswith("demeanor-")]


def test_a_check_that_does_not_end_leaves_nothing_of_its_fixtures(evals: Project) -> None:
    """Its process is killed, so it can't remove the folder of `tmp_path` itself."""
    endless = EVALS.replace('(tmp_path / "one").touch()', "while True:\n        (tmp_path / 'one').touch()")
    evals.write(demeanor_toml=f"check_timeout = 2\n{CONFIG}", evals__eval_it_py=endless)
    ran = evals.demeanor("run")
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "did not end within 2 s" in ran.stdout
    assert not [name for name in evals.temporary() if name.startswith("demeanor-")]


def test_a_fixture_that_fails_is_void_and_not_the_agents_fault(evals: Project) -> None:
    """The detail names the error."""
    evals.write(evals__eval_it_py=EVALS.replace("tmp_path):", "tmp_path, broken):"))
    ran = evals.demeanor("run", "--json")
    (cell,) = json.loads(ran.stdout)["cells"]
    assert (ran.returncode, cell["tally"]["voided"]) == (3, 2)
    assert "a fixture of the check could not be set up: ConnectionError: no server" in ran.stdout


def test_an_unknown_fixture_is_refused_before_anything_runs(evals: Project) -> None:
    """By every command that asks checks; nothing is stored."""
    evals.write(evals__eval_it_py=EVALS.replace("tmp_path):", "tmp_pahts):"))
    for shown in (evals.demeanor("run"), evals.demeanor("validate"), evals.pytest("evals")):
        told = shown.stdout + shown.stderr
        assert shown.returncode != 0
        assert "pytest knows no fixture 'tmp_pahts'" in told, told
        assert "eval_it.py:8" in told
    assert not (evals.folder / "results").exists()
