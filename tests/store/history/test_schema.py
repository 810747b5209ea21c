"""The schema of the history: migrations in order, and nothing damaged."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.core.errors import BadInput, StoreError
from demeanor.store.history import open_history, place_of
from demeanor.store.history.connect import open_database
from demeanor.store.history.postgres import without_password
from demeanor.store.history.schema import migrations
from demeanor.store.history.sqlite import Sqlite
from tests.store.past import a_run, records, write

_WRITER = """
import sys
from dataclasses import replace
from demeanor.store.history.connect import open_database
from demeanor.store.history.writing import WrittenRecord, RunWriter
from tests.store.past import a_run, record
place, uid, many, shared = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "shared"
database = open_database(place)
run = a_run(1) if shared else replace(a_run(1), uid=uid)
writer = RunWriter(database, run)
for number in range(many):
    writer.write((), [WrittenRecord(record=record(int(uid, 16) * many + number))])
"""


def test_migrations_are_named_in_order_and_noted(place: str):
    """Who applied which, and when."""
    database = open_database(place)
    noted = [name for (name,) in database.rows("SELECT name FROM migrations ORDER BY name")]
    assert noted == list(migrations()) == sorted(migrations())
    database.close()
    open_database(place).close()


def test_several_who_come_first_at_once_make_one_schema(place: str):
    """Nobody stumbles over the others."""
    with ThreadPoolExecutor(6) as pool:
        for database in pool.map(lambda _: open_database(place), range(6)):
            assert "attempts" in database.tables()
            database.close()


def test_a_newer_schema_is_refused_and_left_as_it_is(place: str):
    """An old version must not write what a new one would misread."""
    database = open_database(place)
    write(database, a_run(), records("pp"))
    database.rows("INSERT INTO migrations VALUES ('9999_from_the_future', '2030-01-01', '9.9')")
    with pytest.raises(StoreError, match=r"a newer Demeanor \(9\.9\) has changed the schema \(9999_from_the_future\)"):
        open_history(place)
    assert database.rows("SELECT passed FROM tallies") == [(2,)]
    database.close()


def test_somebody_elses_database_is_refused_and_left_as_it_is(tmp_path: Path):
    """Tables of an application are no place for ours."""
    other = Sqlite(tmp_path / "app.db")
    other.rows("CREATE TABLE users (id INTEGER)")
    with pytest.raises(StoreError, match=r"none of Demeanor's \(users\)"):
        open_history(str(tmp_path / "app.db"))
    assert other.tables() == {"users"}


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path):
    """The message says what to do."""
    (tmp_path / "x.db").write_bytes(b"hello, this is text" * 100)
    with pytest.raises(StoreError, match="move it away"):
        open_history(str(tmp_path / "x.db"))
    assert (tmp_path / "x.db").read_bytes() == b"hello, this is text" * 100


def test_who_only_reads_leaves_no_file(tmp_path: Path):
    """An empty history is found where none is."""
    assert open_history(str(tmp_path / "deep" / "demeanor.db"), reading=True).runs() == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("runs", ["shared", "own"])
def test_two_processes_lose_nothing(place: str, runs: str):
    """Each trial in a transaction of its own, both at once, into the same run and into runs of their own."""
    open_database(place).close()
    command = [sys.executable, "-c", _WRITER, place]
    many = 150
    writers = [subprocess.Popen([*command, str(number), str(many), runs]) for number in (1, 2)]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    history = open_history(place)
    assert sum(cell.passed for run in history.runs() for cell in history.cells(run.name)) == 2 * many
    assert sum(len(history.records(run.name)) for run in history.runs()) == 2 * many
    history.close()


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", "/p/results/demeanor.db"),
        ("shared/all.db", "/p/shared/all.db"),
        ("sqlite:///all.db", "/p/all.db"),
        ("sqlite:////var/all.db", "/var/all.db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
    ],
)
def test_the_history_lies_where_the_configuration_says(given: str, found: str):
    """A variable overrules it."""
    config = Config(root=Path("/p"), store=given)
    assert place_of(config, {}) == found
    assert place_of(config, {"DEMEANOR_STORE": "postgres://x/y"}) == "postgres://x/y"


def test_an_unknown_kind_of_database_is_refused():
    """With what would be right."""
    with pytest.raises(BadInput, match="store: 'mysql' is no kind of database\n  → write postgresql"):
        place_of(Config(root=Path("/p"), store="mysql://x"), {})


def test_a_password_is_shown_to_nobody():
    """Neither in the address nor among its options."""
    shown = without_password("postgresql://me:hush@host:5/db?password=hush&sslmode=require")
    assert "hush" not in shown
    assert shown.startswith("postgresql://me@host:5/db?")


def test_a_server_that_is_not_there_is_told_without_the_password():
    """One clear error."""
    with pytest.raises(StoreError, match="is the server up") as caught:
        open_history("postgresql://me:hush@127.0.0.1:1/db")
    assert "hush" not in str(caught.value)
