"""A history that several machines share: a PostgreSQL server, and captures in a common folder."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from demeanor.store.history import open_history
from tests.helpers.postgres_server import postgres_server
from tests.helpers.project import Project

NUMBERS = itertools.count()
DOWN = "postgresql://me:hush@127.0.0.1:1/evals"
EVAL = """
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Write out.txt.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""
CONFIG = """
subjects = ["writer"]
sandbox = "none"
[agents.writer]
adapter = "command"
command = ["sh", "-c", "printf hi > out.txt; echo done", "{prompt}"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of a PostgreSQL server."""
    with postgres_server() as address:
        yield address


@pytest.fixture
def store(server: str) -> str:
    """The address of an empty history."""
    return f"{server}&schema=shared_{os.getpid()}_{next(NUMBERS)}"


@pytest.fixture
def writer(project: Project) -> Project:
    """A project with one eval."""
    project.write(evals__eval_a_py=EVAL, demeanor_toml=CONFIG)
    return project


def run(project: Project, store: str = "", *more: str) -> str:
    """Run the evals; returns the name of the run."""
    done = project.demeanor("run", "--policy", "all", "--trials", "2", *more, DEMEANOR_STORE=store)
    assert done.returncode == 0, done.stdout + done.stderr
    return (project.folder / "results/latest").resolve().name


def test_a_database_that_is_down_does_not_stop_a_run(writer: Project, store: str):
    """A note says so, without the password, and the next run adds the missing one."""
    done = writer.demeanor("run", "--policy", "all", "--trials", "2", DEMEANOR_STORE=DOWN)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the history is missing a part of this run: postgresql://me@127.0.0.1:1/evals" in done.stdout
    assert "2 passed" in done.stdout
    assert "hush" not in done.stdout + done.stderr
    first = (writer.folder / "results/latest").resolve().name
    again = writer.demeanor("run", "--policy", "all", "--trials", "2", DEMEANOR_STORE=store)
    assert f"added to the history, which was not available when they ran: {first}" in again.stdout
    assert writer.demeanor("store", "export", first, "--format", "csv", DEMEANOR_STORE=store).stdout.count("\n") == 3
    third = writer.demeanor("run", "--policy", "all", "--trials", "2", DEMEANOR_STORE=store)
    assert "added to the history" not in third.stdout


def test_doctor_checks_the_store(writer: Project, store: str, server: str):
    """The history, runs that it is missing, and the captures; the check itself writes nothing."""
    before = writer.demeanor("doctor", DEMEANOR_STORE=f"{server}&schema=untouched").stdout
    assert "empty; the first run creates the tables" in before
    with psycopg.connect(server) as connection:
        assert not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'untouched'").fetchall()
    missing = run(writer, DOWN)
    broken = writer.demeanor("doctor", DEMEANOR_STORE=DOWN)
    assert broken.returncode == 1
    assert "broken   store" in broken.stdout
    assert "DEMEANOR_STORE" in broken.stdout
    assert "PGPASSWORD" in broken.stdout
    assert f"not in the history: {missing}" in broken.stdout
    assert "hush" not in broken.stdout
    name = run(writer, store)
    sound = writer.demeanor("doctor", DEMEANOR_STORE=store).stdout
    assert f"2 runs; the latest is {name}" in sound
    assert "broken   store" not in sound
    (writer.folder / "taken").write_text("a file")
    (writer.folder / "demeanor.toml").write_text(f'captures = "taken/captures"\n{CONFIG}')
    assert "broken   captures" in writer.demeanor("doctor", DEMEANOR_STORE=store).stdout


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Project, Project]:
    """Two machines with the same project and the same store of captures; the agent of the second one fails."""
    found = []
    for name, text in (("first", "hi"), ("second", "bye")):
        (tmp_path / name).mkdir()
        machine = Project(tmp_path / name / "project")
        machine.write(evals__eval_a_py=EVAL, demeanor_toml=f"{CAPTURES}\n{CONFIG.replace('hi', text)}")
        found.append(machine)
    return found[0], found[1]


CAPTURES = 'captures = "../../captures"'


def test_commands_read_runs_of_other_machines(machines: tuple[Project, Project], store: str):
    """Whatever reads a run finds that of the other machine by its name, if its captures were published."""
    here, there = machines
    passed = run(here, store)
    failed = there.demeanor("run", "--policy", "all", "--trials", "2", DEMEANOR_STORE=store)
    assert failed.returncode in {0, 1}, failed.stderr
    name = (there.folder / "results/latest").resolve().name
    assert name != passed
    shutil.move(there.folder / "results", there.folder / "moved")  # its paths do not exist on this machine

    def ask(*words: str) -> str:
        done = here.demeanor(*words, DEMEANOR_STORE=store)
        assert done.returncode in {0, 1, 3}, done.stdout + done.stderr
        return " ".join(done.stdout.split())

    assert "writes/writer/1" in ask("trace", "writes", "--run", name)
    assert f"{there.folder}/results/{name}/writes/writer/trial-1" in ask("trace", "writes", "--run", name)
    assert "bye" in ask("report", name, "--failures")
    assert f"--run {name}" in ask("report", name, "--failures")
    rejudged = ask("rejudge", "writes", "--last", "2", "--keep")
    assert "4 trials" in rejudged
    assert f"the new verdicts of {name} are not stored: its folder is " in rejudged
    assert ask("store", "export", name, "--format", "csv").count("writes,writer,") == 2
    assert f"1 run: {passed}" in ask("report", "--metrics")  # `latest` is a run of this machine, for every command
    assert passed in ask("report", "latest")
    assert f"base run {passed}" in ask("compare", "latest", name, "--allow-identical")
    assert "2 attempts" in ask("store", "export", name, "--format", "atif", "--output", "atif")
    assert "writes" in ask("report", name)
    assert "regressed" in ask("compare", passed, name, "--allow-identical")
    resumed = here.demeanor("run", "--resume", name, DEMEANOR_STORE=store)
    assert (resumed.returncode, f"{there.folder}/results/{name}" in resumed.stderr) == (2, True)


def test_what_can_not_be_reached_is_named(machines: tuple[Project, Project], store: str):
    """With the machine and the folder that has it."""
    here, there = machines
    (there.folder / "demeanor.toml").write_text(CONFIG)
    (here.folder / "demeanor.toml").write_text(CONFIG)
    name = run(there, store)
    place = f"{socket.gethostname()}:{there.folder}/results/{name}"
    shutil.move(there.folder / "results", there.folder / "moved")
    for words in (("trace", "--run", name), ("store", "export", name, "--format", "atif", "--output", "atif")):
        done = here.demeanor(*words, DEMEANOR_STORE=store)
        assert done.returncode == 70, done.stdout
        assert f"is not on this machine; the folder of its run is {place}" in done.stderr
        assert "set `captures`" in done.stderr
    rejudged = here.demeanor("rejudge", "writes", DEMEANOR_STORE=store).stdout
    assert place in "".join(line.strip() for line in rejudged.splitlines())
    unknown = here.demeanor("trace", "--run", name, DEMEANOR_STORE=DOWN)
    assert "the history can't be read: postgresql://me@127.0.0.1:1/evals" in unknown.stderr


def test_a_history_moves_from_sqlite_to_postgresql(writer: Project, store: str):
    """With attempts, token usage, imported runs and decisions; doing it again adds nothing."""
    first, second = run(writer), run(writer, "", "--seed", "2")
    (writer.folder / "junit.xml").write_text('<testsuite><testcase name="old" time="1"/></testsuite>')
    assert writer.demeanor("store", "import", "junit.xml", "--subject", "a:m").returncode == 0
    compared = writer.demeanor("compare", first, second, "--allow-identical")
    assert compared.returncode == 3, compared.stderr
    moved = writer.demeanor("store", "import", "results/demeanor.db", DEMEANOR_STORE=store)
    assert moved.returncode == 0, moved.stderr
    assert moved.stdout.count("2 attempts, 2 new") == 2
    assert "results/demeanor.db: 1 decision" in moved.stdout
    with open_history(str(writer.folder / "results/demeanor.db")) as old, open_history(store) as new:
        assert len(old.runs()) == 3
        assert new.runs() == old.runs()
        assert new.decisions() == old.decisions()
        for name in (one.name for one in old.runs()):
            assert new.records(name) == old.records(name)
            assert new.cells(name) == old.cells(name)
    again = writer.demeanor("store", "import", "results/demeanor.db", DEMEANOR_STORE=store)
    assert again.stdout.count("already there") == 3
    refused = writer.demeanor("store", "import", "results/demeanor.db", "--kind", "nightly", DEMEANOR_STORE=store)
    assert (refused.returncode, "a history is copied as it is" in refused.stderr) == (2, True)
