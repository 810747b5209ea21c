"""`demeanor store import` and `demeanor store export`."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.helpers.import_samples import a_night, inspect_log
from tests.helpers.project import Project

EVAL = """
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Write out.txt.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""
CONFIG = """
subjects = ["writer"]
captures = "captures"
[agents.writer]
adapter = "command"
command = ["sh", "-c", "printf hi > out.txt; echo done", "{prompt}"]
"""


@pytest.fixture
def ran(project: Project) -> Project:
    """A project with one finished run."""
    project.write(evals__eval_a_py=EVAL, demeanor_toml=CONFIG)
    done = project.demeanor("run", "--policy", "all", "--trials", "2")
    assert done.returncode == 0, done.stderr
    return project


def only_run(project: Project) -> Path:
    """The folder of the run."""
    return (project.folder / "results" / "latest").resolve()


def test_a_run_can_be_imported_on_another_machine(ran: Project):
    """From its folder, its report and an export; it is always the same run."""
    exported = ran.folder.parent / "export.json"
    assert ran.demeanor("store", "export", "--output", str(exported)).stdout == f"{exported}: 2 attempts\n"
    folder = only_run(ran)
    for number, path in enumerate((folder, folder / "report.json", exported)):
        done = ran.demeanor("store", "import", str(path), "--results", "elsewhere")
        assert done.returncode == 0, done.stderr
        assert ("2 new" if number == 0 else "already there") in done.stdout
    there = ran.demeanor("store", "export", "--results", "elsewhere")
    assert json.loads(there.stdout)["cells"][0]["tally"]["passed"] == 2


def test_captures_are_published_by_the_hash_of_their_content(ran: Project):
    """To the folder in the configuration."""
    ledger = [json.loads(line) for line in (only_run(ran) / "ledger.jsonl").read_text().splitlines()]
    for record in ledger:
        name = record["capture_hash"]
        assert (ran.folder / "captures" / name[:2] / f"{name}.json.gz").is_file()


def test_a_run_is_exported_in_every_format(ran: Project):
    """To standard output or to a file."""
    assert ran.demeanor("store", "export", "--format", "csv").stdout.count("\n") == 3
    suite = ET.fromstring(ran.demeanor("store", "export", "--format", "junit").stdout)  # noqa: S314 - our own
    assert suite.get("tests") == "1"
    assert ran.demeanor("store", "export", "--format", "parquet", "--output", "a.parquet").returncode == 0
    assert (ran.folder / "a.parquet").read_bytes()[:4] == b"PAR1"
    assert ran.demeanor("store", "export", "--format", "atif", "--output", "atif").returncode == 0
    (first, _) = sorted((ran.folder / "atif").rglob("trial-*.json"))
    assert json.loads(first.read_text())["schema_version"] == "ATIF-v1.7"
    refused = ran.demeanor("store", "export", "--format", "parquet")
    assert (refused.returncode, refused.stderr.count("--output")) == (2, 2)
    unknown = ran.demeanor("store", "export", "2020")
    assert unknown.returncode == 2
    assert "unknown run '2020'" in unknown.stderr


def test_nights_of_another_tool_are_imported(project: Project):
    """From its artifacts and logs; an error changes nothing."""
    a_night(project.folder / "night")
    inspect_log(project.folder / "log.eval")
    done = project.demeanor("store", "import", "night", "log.eval")
    assert done.returncode == 0, done.stderr
    assert re.sub("-[0-9a-f]{5}  ", "  ", done.stdout).splitlines() == [
        "vitest-2026-01-01T00-00-00  vitest, nightly: 12 attempts, 12 new",
        "inspect-2026-01-02T03-04-05  inspect, ci: 4 attempts, 4 new",
    ]
    assert "already there" in project.demeanor("store", "import", "night").stdout
    (project.folder / "broken.json").write_text("{")
    broken = project.demeanor("store", "import", "night", "broken.json", "--results", "fresh")
    assert (broken.returncode, (project.folder / "fresh").exists()) == (2, False)
    assert "broken.json: is not valid JSON" in broken.stderr


def test_a_killed_run_is_imported_from_its_folder(ran: Project):
    """The ledger is authoritative."""
    (ran.folder / "results" / "demeanor.db").unlink()
    for left in (ran.folder / "results").glob("demeanor.db-*"):
        left.unlink()
    shutil.rmtree(ran.folder / "captures")
    assert "2 new" in ran.demeanor("store", "import", "results").stdout
    assert ran.demeanor("trace").returncode == 0


def test_a_history_of_a_newer_version_is_refused_before_the_run(ran: Project):
    """Exit code 70, and no new run."""
    import sqlite3

    with sqlite3.connect(ran.folder / "results" / "demeanor.db") as connection:
        connection.execute("INSERT INTO migrations VALUES ('9999_later', '2030-01-01', '9.9')")
    connection.close()
    before = sorted(path.name for path in (ran.folder / "results").iterdir())
    done = ran.demeanor("run", "--policy", "all")
    assert done.returncode == 70
    assert "a newer Demeanor (9.9) migrated the schema" in done.stderr
    assert sorted(path.name for path in (ran.folder / "results").iterdir()) == before
