"""Eval files behave like test files: their helpers, packages, prints and working directory."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project

CONFIG = """\
subjects = ["writer"]
sandbox = "none"
[agents.writer]
adapter = "command"
command = ["sh", "-c", "printf hi > out.txt", "{prompt}"]
"""
HEAD = "import os\nfrom demeanor import USUALLY_PASSES, eval_test\n"
HELPED = """
@eval_test(USUALLY_PASSES, prompt="Write.")
def of_{name}(rig, result):
    import helpers
    from helpers import NAME
    assert (helpers.NAME, NAME) == ("{name}", "{name}")
"""
PACKAGED = """
from .shared import VALUE
from . import shared
from evals.suite.deep import DEEP

@eval_test(USUALLY_PASSES, prompt="Write.")
def packaged(rig, result):
    from .shared import VALUE as later
    from .. import suite
    assert (VALUE, shared.VALUE, later, DEEP, suite.__name__) == (7, 7, 7, "deep", "evals.suite")
"""
PRINTING = """
print("printed by the file")

def setup(workspace):
    print("printed by setup")
    os.chdir("/")
    os.system("echo echoed by setup")

@eval_test(USUALLY_PASSES, prompt="Write.", setup=setup)
def prints(rig, result):
    print("printed by the check")
    os.system("echo echoed by the check")
    os.chdir("/")

@eval_test(USUALLY_PASSES, prompt="Write.")
def prints_and_fails(rig, result):
    assert os.getcwd() == {folder!r}
    print("printed before it failed")
    assert result == "never"
"""
FAILING_SETUP = """
def setup(workspace):
    {}

@eval_test(USUALLY_PASSES, prompt="Write.", setup=setup)
def check(rig, result): return True
"""


def run(project: Project, *words: str, **files: str):
    project.write(demeanor_toml=CONFIG, **files)
    return project.demeanor("run", "--policy", "all", "--trials", "1", *words)


def test_same_named_helpers_stay_apart_inside_checks(project: Project) -> None:
    """Two folders have a `helpers.py`, which their checks import when they run."""
    files = {}
    for name in ("one", "two"):
        files[f"evals__{name}__helpers_py"] = f"NAME = {name!r}\n"
        files[f"evals__{name}__eval_{name}_py"] = HEAD + HELPED.format(name=name)
    ran = run(project, **files)
    assert ran.returncode == 0, ran.stdout


def test_relative_imports_work_in_packages(project: Project) -> None:
    """At the top of the file and inside a check, up to the outermost folder with an `__init__.py`."""
    suite = project.folder / "evals/suite"
    suite.mkdir(parents=True)
    for folder in (suite, suite.parent):
        (folder / "__init__.py").touch()
    ran = run(
        project,
        evals__suite__shared_py="VALUE = 7\n",
        evals__suite__deep_py="from .shared import VALUE\nDEEP = 'deep'\n",
        evals__suite__eval_packaged_py=HEAD + PACKAGED,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_prints_are_kept_with_their_trial_and_out_of_reports(project: Project) -> None:
    """Whatever a file, its setup and its checks print, `--json` prints one document; `trace` shows it."""
    ran = run(project, "--json", evals__eval_prints_py=HEAD + PRINTING.format(folder=str(project.folder)))
    assert ran.returncode == 1, ran.stderr
    assert json.loads(ran.stdout)["schema"] == "demeanor-report/1"
    ledger = (project.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    outcomes = {record["eval"]: record["verdict"]["outcome"] for record in map(json.loads, ledger)}
    assert outcomes == {"prints": "pass", "prints_and_fails": "fail"}
    assert "printed by setup" in ran.stderr
    assert "printed by the file" in ran.stderr
    failing = project.demeanor("trace", "prints_and_fails/writer/1").stdout
    assert "printed before it failed" in failing
    assert "printed by the check" not in failing
    assert "printed by the check" in project.demeanor("trace", "prints/writer/1").stdout
    for words in (("trace", "prints_and_fails/writer/1"), ("trace", "prints/writer/1", "prints_and_fails/writer/1")):
        narrow = project.demeanor(*words, COLUMNS="60").stdout.splitlines()
        too_wide = [line for line in narrow if len(line) > 60 and not line.startswith("files: ")]  # a path to copy
        assert not too_wide


def test_a_setup_that_fails_or_ends_its_process_is_an_error(project: Project) -> None:
    """The run says which file; nothing else is disturbed."""
    ran = run(project, evals__eval_a_py=HEAD + FAILING_SETUP.format("raise ValueError('no such thing')"))
    assert ran.returncode != 0
    assert "raised ValueError: no such thing" in ran.stdout + ran.stderr
    ran = run(project, evals__eval_a_py=HEAD + FAILING_SETUP.format("os._exit(0)"))
    assert ran.returncode != 0
    assert "ended the process in which it ran" in ran.stdout + ran.stderr


GOOD = """
from demeanor import USUALLY_PASSES, eval_test


@eval_test(USUALLY_PASSES, prompt="Save 'x' in a.txt.")
def good(rig, result):
    assert rig.workspace["a.txt"].exists
"""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("import not_a_package_xyz", "No module named 'not_a_package_xyz'"),
        ("import os; os.environ['NOT_A_VARIABLE']", "KeyError: 'NOT_A_VARIABLE'"),
        (
            GOOD.replace("import ", "import jsonl, ").replace("prompt=", "cases=jsonl('absent.jsonl'), prompt="),
            "absent.jsonl",
        ),
    ],
)
def test_evals_that_lack_something_here_do_not_stop_the_others(project: Project, line: str, why: str) -> None:
    """They are skipped with the reason, and nothing is accepted; a mistake in a file still stops everything."""
    project.write(evals__eval_good_py=GOOD, evals__eval_lacking_py=f"{line}\n", demeanor_toml="trials = 1\n")
    ran = project.demeanor("run", "--subject", "native:scripted", COLUMNS="400")
    assert (ran.returncode, "some evals could not be read" in ran.stdout) == (3, True), ran.stdout + ran.stderr
    assert why in ran.stdout.partition("skipped ")[2].splitlines()[0]
    assert "1 of 1 judged: 1 passed" in ran.stdout
    assert "Undecided: some evals could not be read · " in project.demeanor("report").stdout
    gate = project.demeanor("gate", "--policy", "all", "--subject", "native:scripted", COLUMNS="400")
    assert gate.returncode == 3, gate.stdout + gate.stderr
    assert gate.stdout.startswith("Undecided: the only cell is accepted, but some evals can't be read")
    assert why in gate.stdout.partition("Unknown: ")[2].splitlines()[0]
    validated = project.demeanor("validate", COLUMNS="400")
    assert (validated.returncode, "ok     good" in validated.stdout) == (1, True), validated.stdout + validated.stderr
    assert why in validated.stdout.partition("FAULT: ")[2].splitlines()[0]
    assert json.loads(project.demeanor("validate", "--json").stdout)["ok"] is False
    assert "good" in project.demeanor("validate", "--list").stdout
    tested = project.pytest("evals", "--eval-subject", "native:scripted", RUN_EVALS="1")
    assert (tested.returncode, "1 passed, 1 error" in tested.stdout) == (1, True), tested.stdout
    assert why in tested.stdout
    assert project.demeanor("run", "evals/eval_lacking.py").returncode == 2
    project.write(evals__eval_wrong_py="1 / 0\n")
    assert project.demeanor("run", "--subject", "native:scripted").returncode == 2


def test_an_eval_that_is_named_is_the_only_one_beside_a_file_that_lacks_something(project: Project) -> None:
    """The path of a file that can't be read does not let all evals of the next path run."""
    more = GOOD.replace("def good", "def other").split("\n", 1)[1]
    project.write(evals__eval_good_py=GOOD + more, evals__eval_lacking_py="import not_a_package_xyz\n")
    planned = project.demeanor("run", "evals/eval_lacking.py", "evals/eval_good.py::good", "--dry-run", "--json")
    assert {cell["eval"] for cell in json.loads(planned.stdout)["cells"]} == {"good"}, planned.stdout + planned.stderr
