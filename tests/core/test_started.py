"""Exit code 2: nothing was run, and nothing was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.commands.registry import COMMANDS
from tests.helpers.project import Project

TWO = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.", name="a b")
def one(rig, result):
    assert True

@eval_test(ALWAYS_PASSES, prompt="Write.", name="a-b")
def two(rig, result):
    assert True
"""
ONE = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.")
def one(rig, result):
    assert False
"""
CONFIG = """\
subjects = ["quick"]
sandbox = "none"
[agents.quick]
adapter = "command"
command = ["true", "{prompt}"]
"""


@pytest.mark.parametrize("command", [("run",), ("gate",), ("run", "--dry-run"), ("nightly",)])
def test_colliding_names_are_found_before_anything_is_written(project: Project, command: tuple[str, ...]) -> None:
    """No run folder, no history, no `latest`."""
    project.write(demeanor_toml=CONFIG, evals__eval_two_py=TWO)
    ran = project.demeanor(*command)
    assert ran.returncode == 2
    assert "would have the same folder" in ran.stderr
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize(
    "setting",
    ['captures = "nosuchprotocol://x"', 'store = "nosuchserver://x"', 'subjects = ["native:nosuch"]'],
)
def test_settings_that_fail_late_leave_nothing_behind(project: Project, setting: str) -> None:
    """What only the assembled run finds out is exit code 2 too, without a folder."""
    config = CONFIG if "subjects" not in setting else ""
    project.write(demeanor_toml=f"{setting}\n{config}", evals__eval_one_py=ONE)
    ran = project.demeanor("run")
    assert ran.returncode == 2, ran.stderr
    assert not (project.folder / "results").exists()


INVALID = """\
run nosuch
run --jobs 0
nightly nosuch
gate --rule nosuch
compare a b
compare --base nowhere
bisect one --good x --bad y
promote nosuch
demote nosuch
report nosuch
serve --export site
history nosuch
analyze nosuch
list nosuch
validate nosuch
trace nosuch
prompt nosuch
note nosuch --label real
judge calibrate nosuch
rejudge nosuch
fork nosuch
cover --subject nosuch
adopt nosuch
watch nosuch
triage nosuch
fix nosuch
import nosuch.xml
export --out out.csv
power --suite 0
simulate
contract --url nosuch
agents install nosuch
cluster check --scheduler nosuch
harbor images pull ::
models fetch nosuch
gateway nosuch:nosuch
task new ../x
init --nosuch
skills --for nosuch
doctor --nosuch
help nosuch
explain nosuch
schema nosuch
completion nosuch
"""


def test_invalid_input_leaves_nothing_behind_for_every_command(project: Project) -> None:
    """No command of the registry is left out."""
    project.write(demeanor_toml=CONFIG, evals__eval_one_py=ONE)
    lines = INVALID.splitlines()
    assert {line.split()[0] for line in lines} == set(COMMANDS)

    def everything() -> dict[Path, bytes | None]:
        paths = (path for path in project.folder.parent.rglob("*") if ".cache" not in path.parts)
        return {path: path.read_bytes() if path.is_file() else None for path in paths}

    before = everything()
    for line in lines:
        ran = project.demeanor(*line.split())
        assert (line, ran.returncode) == (line, 2), ran.stdout + ran.stderr
        assert everything() == before, line


def test_an_export_that_stops_half_way_is_not_a_usage_error(project: Project) -> None:
    """The first task is written, the second can't be: exit code 70, and standard error says so."""
    good = 'policy = "ALWAYS_PASSES"\nprompt = "Do."\n[[checks]]\ncheck = "file_exists"\npath = "a"\n'
    project.write(
        demeanor_toml=CONFIG,
        evals__good__scenario_toml=good,
        evals__eval_one_py=ONE,
    )
    ran = project.demeanor("export", "--harbor", "good", "--harbor", "one", "--out", "tasks")
    assert (project.folder / "tasks/good").is_dir(), ran.stderr
    assert ran.returncode == 70, ran.stderr
    assert "exit code is 70" in ran.stderr
