"""Opening the history: migrations, addresses and errors."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.core.values.errors import BadInput, StoreError, StoreUnavailable
from demeanor.store.history import history_address, open_history
from demeanor.store.history.connect import migrate, migrations, open_database
from demeanor.store.history.postgres import without_password
from demeanor.store.history.sqlite import Sqlite
from tests.helpers.runs import a_run, records, write

_WRITER = """
import sys
from dataclasses import replace
from demeanor.store.history.connect import open_database
from demeanor.store.history.run_writer import WrittenRecord, RunWriter
from tests.helpers.runs import a_run, record
address, uid, many, shared = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "shared"
database = open_database(address)
run = a_run(1) if shared else replace(a_run(1), id=uid, uid=uid)
writer = RunWriter(database, run)
for number in range(many):
    writer.write((), [WrittenRecord(record=record(int(uid, 16) * many + number))])
database.close()
"""


def test_migrations_are_applied_in_order_and_recorded(address: str):
    """In the table `migrations`."""
    database = open_database(address)
    applied = [name for (name,) in database.rows("SELECT name FROM migrations ORDER BY name")]
    assert applied == list(migrations()) == sorted(migrations())
    database.close()
    open_database(address).close()


def test_the_next_migration_is_applied_once_and_keeps_what_is_there(address: str):
    """And a version that does not know it refuses the database."""
    database = open_database(address)
    write(database, a_run(), records("pp"))
    known = {**migrations(), "0003_teams": "ALTER TABLE runs ADD COLUMN team TEXT NOT NULL DEFAULT 'all';"}
    for _ in range(2):
        migrate(database, known)
    assert database.rows("SELECT name FROM migrations ORDER BY name") == [(name,) for name in known]
    assert database.rows("SELECT name, team FROM runs") == [("night-1", "all")]
    assert database.rows("SELECT passed FROM tallies") == [(2,)]
    database.close()
    with pytest.raises(StoreError, match="migrated the schema"):
        open_database(address)


def test_concurrent_first_connections_create_one_schema(address: str):
    """None of them fails."""
    with ThreadPoolExecutor(6) as pool:
        for database in pool.map(lambda _: open_database(address), range(6)):
            assert "attempts" in database.tables()
            database.close()


def test_a_newer_schema_is_refused_and_not_changed(address: str):
    """An old version must not write what a new one would misread."""
    database = open_database(address)
    write(database, a_run(), records("pp"))
    database.rows("INSERT INTO migrations VALUES ('9999_from_the_future', '2030-01-01', '9.9')")
    with pytest.raises(StoreError, match=r"a newer Demeanor \(9\.9\) migrated the schema \(9999_from_the_future\)"):
        open_history(address)
    assert database.rows("SELECT passed FROM tallies") == [(2,)]
    database.close()


def test_the_database_of_another_program_is_refused_and_not_changed(tmp_path: Path):
    """Demeanor does not add its tables to it."""
    other = Sqlite(tmp_path / "app.db")
    other.rows("CREATE TABLE users (id INTEGER)")
    with pytest.raises(StoreError, match=r"tables of another program \(users\)"):
        open_history(str(tmp_path / "app.db"))
    assert other.tables() == {"users"}
    other.close()


def test_a_file_that_is_not_a_database_is_refused_and_not_changed(tmp_path: Path):
    """The message says what to do."""
    (tmp_path / "x.db").write_bytes(b"hello, this is text" * 100)
    with pytest.raises(StoreError, match="move it away"):
        open_history(str(tmp_path / "x.db"))
    assert (tmp_path / "x.db").read_bytes() == b"hello, this is text" * 100


def test_reading_a_missing_history_creates_no_file(tmp_path: Path):
    """It is an empty history."""
    with open_history(str(tmp_path / "deep" / "demeanor.db"), reading=True) as history:
        assert history.runs() == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("runs", ["shared", "own"])
def test_two_processes_lose_nothing(address: str, runs: str):
    """Each attempt in its own transaction, both at the same time, into one run and into two."""
    open_database(address).close()
    command = [sys.executable, "-c", _WRITER, address]
    many = 150
    writers = [subprocess.Popen([*command, str(number), str(many), runs]) for number in (1, 2)]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    history = open_history(address)
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
def test_history_address(given: str, found: str):
    """The environment variable overrides the configuration."""
    config = Config(root=Path("/p"), store=given)
    assert history_address(config, {}) == found
    assert history_address(config, {"DEMEANOR_STORE": "postgres://x/y"}) == "postgres://x/y"


@pytest.mark.parametrize("given", ["mysql://x", "mysql:x", "sqlite:x", "sqlite://x", "SQLITE:/x", "postgresql:x"])
def test_an_unsupported_database_is_refused(given: str):
    """The message says what is supported; no folder gets the name of a scheme."""
    with pytest.raises(
        BadInput, match=r"store: addresses that begin with '\w+:(//)?' are not supported\n  → write post"
    ):
        history_address(Config(root=Path("/p"), store=given), {})


def test_passwords_are_not_shown():
    """Neither in the user part nor in the options of a URL."""
    shown = without_password("postgresql://me:hush@host:5/db?password=hush&sslmode=require")
    assert "hush" not in shown
    assert shown.startswith("postgresql://me@host:5/db?")


def test_an_unreachable_server_is_an_error_without_the_password():
    """With a hint."""
    remedy = "check that the server is running, and the address in DEMEANOR_STORE or `store`; a password .* PGPASSWORD"
    with pytest.raises(StoreUnavailable, match=remedy) as caught:
        open_history("postgresql://me:hush@127.0.0.1:1/db")
    assert "hush" not in str(caught.value)
