"""`demeanor run` and `pytest` execute the same run and give the same verdicts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.helpers.harbor_tasks import greet, rewarding
from tests.helpers.project import Project

CONFIG = """\
subjects = ["good"]
trials = 2
attempts = 1
[agents.good]
adapter = "command"
command = ["sh", "./good.sh", "{prompt}"]
output = "jsonl"
events = { tool = "tool", arguments = "arguments", text = "text" }
[agents.liar]
adapter = "command"
command = ["printf", '{{"tool": "look"}}\\n{{"text": "done"}}\\n', "{prompt}"]
output = "jsonl"
events = { tool = "tool", text = "text" }
[agents.idle]
adapter = "python"
function = "agents.py:idle"
[agents.gone]
adapter = "command"
command = ["no-such-agent", "{prompt}"]
"""
GOOD = """\
printf hi > out.txt
echo '{"tool": "write_file", "arguments": {"path": "out.txt"}}'
echo '{"text": "done"}'
"""
EVALS = """\
from demeanor import ALWAYS_PASSES, USUALLY_FAILS, USUALLY_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.", tags=["quick"])
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
    assert result == "done"

@eval_test(USUALLY_PASSES, prompt="Write.")
async def writes_async(rig, result):
    assert rig.calls.named("write_file").count() == 1

@eval_test(USUALLY_FAILS, prompt="Write more.")
def writes_more(rig, result):
    assert rig.workspace.exists("more.txt")
"""


@pytest.fixture
def evals(project: Project) -> Project:
    """A project with three evals and some agents."""
    project.write(good_sh=GOOD, demeanor_toml=CONFIG, evals__eval_writes_py=EVALS)
    return project


def test_without_run_evals_only_the_always_passing_run(evals: Project):
    """In pytest, and on the command line in CI; a person who runs Demeanor gets everything."""
    assert "1 passed, 2 skipped" in evals.pytest("evals").stdout
    for ci, total in (("1", 1), ("", 3)):
        assert json.loads(evals.demeanor("run", "--json", CI=ci).stdout)["summary"]["total"] == total


def test_a_known_bad_behaviour_is_expected_to_fail_and_news_when_it_passes(evals: Project):
    """xfailed and xpassed; accepted in both cases."""
    assert "2 passed, 1 xfailed" in evals.pytest("evals", RUN_EVALS="1").stdout
    evals.write(good_sh=f"touch more.txt\n{GOOD}")
    assert "2 passed, 1 xpassed" in evals.pytest("evals", RUN_EVALS="1").stdout
    ran = evals.demeanor("run", "--policy", "all")
    assert ran.returncode == 0
    assert "NEWS" in ran.stdout


def test_a_failure_shows_the_compared_values_and_the_chain(evals: Project):
    """Plain assert, pytest's explanation, the agent's calls, and the command that runs it again."""
    evals.write(agents_py='def idle(session):\n    session.say("done")\n')
    ran = evals.demeanor("run", "--subject", "idle", "--trials", "1")
    for shown in (ran, evals.pytest("evals", "--eval-subject", "idle", "--eval-trials", "1")):
        assert shown.returncode == 1
        assert "there is no 'out.txt'" in shown.stdout
        assert "(no tool calls)" in shown.stdout
        assert "demeanor run evals/eval_writes.py::writes" in shown.stdout


def test_a_void_cell_is_an_error_and_not_a_failure(evals: Project):
    """Exit code 3 on the command line; an error in pytest."""
    ran = evals.demeanor("run", "--subject", "gone")
    assert (ran.returncode, "'no-such-agent' is not on PATH\n  → install it" in ran.stderr) == (2, True), ran.stderr
    assert not (evals.folder / "results").exists()
    shown = evals.pytest("evals", "--eval-subject", "gone", "-k", "writes and not more").stdout
    assert "1 error" in shown
    error = shown.partition("ERROR at setup of writes")[2].partition("= evals =")[0]
    assert "'no-such-agent' is not on PATH" in error
    assert "pytest" not in error  # neither a traceback nor code of pytest


def test_a_run_that_can_not_be_stored_is_an_error_without_a_traceback(evals: Project):
    """The same message as on the command line."""
    (evals.folder / "results").write_text("not a folder")
    message = evals.demeanor("run").stderr.splitlines()[0].removeprefix("demeanor: ")
    shown = evals.pytest("evals", COLUMNS="200").stdout
    assert message in shown
    assert "_pytest" not in shown


def test_what_could_not_be_written_is_noted(evals: Project):
    """On the command line and in pytest: the captures can't be published."""
    evals.write(demeanor_toml=f'captures = "good.sh/captures"\n{CONFIG}')
    for shown in (evals.demeanor("run", COLUMNS="200"), evals.pytest("evals", COLUMNS="200")):
        assert (shown.returncode, "captures were not published" in shown.stdout) == (0, True), shown.stdout


def test_a_sandbox_that_does_not_work_here_leaves_no_run(evals: Project):
    """On the command line and in pytest."""
    evals.write(demeanor_toml=f'sandbox = "docker"\n{CONFIG}')
    (evals.folder / "tools").mkdir()
    (evals.folder / "tools/git").symlink_to(shutil.which("git") or "git")
    path = str(evals.folder / "tools")
    for shown in (evals.demeanor("run", PATH=path), evals.pytest("evals", PATH=path)):
        assert "the sandbox 'docker'" in shown.stdout + shown.stderr
    assert not (evals.folder / "results").exists()
    assert "Traceback" not in shown.stdout
    assert "runner/sandbox.py" not in shown.stdout
    assert "During handling" not in shown.stdout
    assert "which works here: --eval-sandbox " in shown.stdout
    assert evals.pytest("evals", "--eval-sandbox", "none").returncode == 0


def test_pytests_own_options_work(evals: Project):
    """-k, -m, -x and --junitxml."""
    assert "1 passed, 2 deselected" in evals.pytest("evals", "-m", "always_passes").stdout
    assert "1 passed, 2 deselected" in evals.pytest("evals", "-k", "quick").stdout
    stopped = evals.pytest("evals", "-x", "--eval-subject", "liar", "--junitxml", "j.xml", RUN_EVALS="1")
    assert "stopping after 1 failures" in stopped.stdout
    suite = ElementTree.parse(evals.folder / "j.xml").getroot()[0]  # noqa: S314 - our own file
    assert suite.get("failures") == "1"


def test_evals_beside_ordinary_tests(evals: Project):
    """In a test_*.py both are collected; one named file works too."""
    evals.write(tests__test_mixed_py=EVALS.replace("writes", "mixed") + "\ndef test_plain():\n    assert True\n")
    assert "2 passed, 2 skipped" in evals.pytest("tests/test_mixed.py").stdout
    assert "1 passed, 2 skipped" in evals.pytest("evals/eval_writes.py").stdout
    assert evals.demeanor("run", "tests").returncode == 0


def test_an_eval_that_is_lost_fails_the_collection(evals: Project):
    """In a file of evals and in a test file, on the command line and in pytest: nothing is run."""
    lost = EVALS.replace("writes", "lost").replace("@eval_test(ALWAYS", "@str\n@eval_test(ALWAYS")
    evals.write(evals__eval_lost_py=lost)
    for shown in (
        evals.demeanor("run"),
        evals.demeanor("validate", "--list"),
        evals.demeanor("validate"),
        evals.pytest("evals"),
    ):
        assert shown.returncode == 2
        assert "the eval 'lost' can't be collected: the name `lost` is now" in shown.stdout + shown.stderr
    (evals.folder / "evals/eval_lost.py").unlink()
    evals.write(tests__test_lost_py=lost)
    assert "the eval 'lost' can't be collected" in evals.pytest("tests").stdout
    evals.write(tests__test_lost_py=EVALS)
    shown = evals.pytest("evals", "tests").stdout
    assert "two evals are named 'writes'" in shown
    assert "pytest_plugin" not in shown  # no traceback
    assert not (evals.folder / "results").exists()


def test_xdist_workers_share_one_run_with_one_report(evals: Project):
    """Each worker reports its items; the trials are stored in one run, each of them once."""
    subjects = ("--eval-subject", "good", "--eval-subject", "liar")
    ran = evals.pytest("evals", "-n", "2", *subjects, RUN_EVALS="1", COLUMNS="200")
    assert "2 failed, 2 passed, 2 xfailed" in ran.stdout, ran.stdout
    assert "there is no 'out.txt'" in ran.stdout
    assert len(list((evals.folder / "results").glob("20*"))) == 1
    ledger = (evals.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    trials = [(record["eval"], record["subject"], record["number"]) for record in map(json.loads, ledger)]
    assert len(trials) == len(set(trials)) == 12
    assert ran.stdout.count("kept in ") == 1
    assert not [name for name in evals.temporary() if "demeanor" in name]


def test_exit_first_with_xdist_starts_nothing_after_a_failure(evals: Project):
    """Evals that no worker has begun are not run."""
    one = "@eval_test(ALWAYS_PASSES, prompt='Write.')\ndef more_{n}(rig, result):\n    assert result == 'hi'\n"
    evals.write(evals__eval_writes_py=EVALS + "\n".join(one.format(n=n) for n in range(8)))
    ran = evals.pytest("evals", "-n", "1", "-x", "--eval-subject", "liar")
    assert ran.returncode != 0, ran.stdout
    report = json.loads((evals.folder / "results/latest/report.json").read_text())
    assert 0 < len(report["scenarios"]) < 9, "cells that were only cancelled at the end had been started"


MARKED = """\
import pytest
from demeanor import ALWAYS_PASSES, eval_test

@pytest.mark.skipif("1 + 1 == 2", reason="above")
@pytest.mark.slow
@eval_test(ALWAYS_PASSES, prompt="Write.")
def above(rig, result):
    assert False

@pytest.mark.slow
@eval_test(ALWAYS_PASSES, prompt="Write {word}.", cases=[{"word": "hi"}, {"word": "ho"}])
def cases(rig, result, word):
    assert rig.workspace.exists("out.txt")

@pytest.mark.slow
class Behaviours:
    @eval_test(ALWAYS_PASSES, prompt="Write.")
    def in_class(rig, result):
        assert rig.workspace.exists("out.txt")

class TestMore:
    def __init__(self):
        raise RuntimeError("pytest does not collect this class")

    @eval_test(ALWAYS_PASSES, prompt="Write.")
    def in_test_class(rig, result):
        assert rig.workspace.exists("out.txt")
"""


@pytest.mark.parametrize("file", ["evals/eval_marked.py", "tests/test_marked.py"])
def test_marks_above_and_evals_in_classes_are_the_same_for_both_commands(evals: Project, file: str):
    """Also in a class that pytest does not collect itself; what a mark skips costs nothing."""
    evals.write(**{file.replace("/", "__").replace(".", "_"): MARKED})
    listed = {one["name"] for one in json.loads(evals.demeanor("validate", "--list", file, "--json").stdout)}
    assert listed == {"above", "cases[hi]", "cases[ho]", "in_class", "in_test_class"}
    ran = evals.pytest(file, "-m", "slow", "-W", "ignore")
    assert "3 passed, 1 skipped, 1 deselected" in ran.stdout, ran.stdout
    ledger = (evals.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    assert {json.loads(line)["eval"] for line in ledger} == {"cases[hi]", "cases[ho]", "in_class"}


def test_what_can_not_be_collected_is_refused_with_file_and_line(evals: Project):
    """By both commands: parametrize anywhere but below `@eval_test`, and a check that takes `self`."""
    above = "@pytest.mark.parametrize('n', [1, 2])\n"
    above += "@eval_test(ALWAYS_PASSES, prompt='{n}')\ndef NAME(rig, result): return 1\n"
    method = (
        "class Some:\n    @eval_test(ALWAYS_PASSES, prompt='Write.')\n    def NAME(self, rig, result): return True\n"
    )
    marked = method.replace("self, ", "")
    refused = (
        (above, "parametrize is above @eval_test"),
        (f"@pytest.mark.parametrize('n', [1, 2])\n{marked}", "parametrize is on the class"),
        (f"pytestmark = pytest.mark.parametrize('n', [1, 2])\n{marked}", "parametrize is on the module"),
        (method, "a check in a class takes no `self`"),
    )
    problems = {}
    for number, (text, problem) in enumerate(refused):
        for folder, kind in (("evals", "eval"), ("tests", "test")):
            path = f"{folder}/{kind}_bad_{number}.py"
            code = text.replace("NAME", f"{kind}_{number}")
            (evals.folder / path).parent.mkdir(exist_ok=True)
            (evals.folder / path).write_text(f"import pytest\nfrom demeanor import ALWAYS_PASSES, eval_test\n{code}")
            problems[path] = problem
    shown = evals.pytest("evals", "tests")
    assert shown.returncode == 2
    sections = dict(part.split(" ", 1) for part in shown.stdout.split("ERROR collecting ")[1:])
    assert sections.keys() == problems.keys()
    for path, problem in problems.items():
        listed = evals.demeanor("validate", "--list", path)
        assert listed.returncode == 2, listed.stdout
        for text in (listed.stderr, sections[path]):
            assert problem in text.replace("\n", " "), text
            assert f"{path}:" in text


def test_a_test_run_without_evals_imports_only_the_plugin(project: Project):
    """No other module of Demeanor."""
    code = "import sys\ndef test_it():\n    assert not [m for m in sys.modules if m.startswith('demeanor.core')]\n"
    project.write(test_theirs_py=code)
    assert "1 passed" in project.fresh_pytest().stdout


def test_evals_in_lists_dicts_and_cases_of_a_test_file_are_collected_once(evals: Project):
    """As by `demeanor run`; marks below the decorator apply."""
    evals.write(
        tests__test_more_py="""\
import pytest
from demeanor import ALWAYS_PASSES, eval_test

def made(word):
    return eval_test(ALWAYS_PASSES, name=word, prompt="Write.")(lambda rig, result: rig.workspace.exists("out.txt"))

@eval_test(ALWAYS_PASSES, prompt="Write {word}.", cases=[{"word": "hi"}, {"word": "ho"}])
@pytest.mark.skipif(True, reason="not now")
def writes_word(rig, result, word):
    assert rig.workspace["out.txt"].text == word

listed = [made("one"), made("two")]
again = listed[0]
by_name = {"three": made("three")}
"""
    )
    wanted = ["one", "three", "two", "writes_word[hi]", "writes_word[ho]"]
    shown = evals.pytest("--collect-only", "-q", "tests/test_more.py")
    found = sorted(line.rpartition("::")[2].removesuffix("[good]") for line in shown.stdout.split() if "::" in line)
    assert found == wanted, shown.stdout
    listed = json.loads(evals.demeanor("validate", "--list", "tests", "--json").stdout)
    assert sorted(one["name"] for one in listed) == wanted
    ran = evals.pytest("tests/test_more.py", "-q")
    assert "3 passed, 2 skipped" in ran.stdout, ran.stdout


def test_last_failed_runs_only_what_failed(project: Project) -> None:
    """`--lf` finds evals again, whose names have the subject in brackets."""
    project.write(good_sh=GOOD, demeanor_toml=CONFIG, evals__eval_a_py=EVALS)
    options = ("-p", "cacheprovider", "evals", "--eval-subject", "good", "--eval-subject", "liar")
    first = project.pytest(*options, "-k", "writes")
    assert "writes[liar]" in first.stdout
    again = project.pytest(*options, "--lf", "--collect-only", "-q")
    assert "writes[liar]" in again.stdout
    assert "writes[good]" not in again.stdout


def test_the_configuration_is_that_of_the_evals_below_the_rootdir(project: Project) -> None:
    """pytest's rootdir may be the whole repository; evals of two projects in one run are refused."""
    project.write(good_sh=GOOD, demeanor_toml=CONFIG, evals__eval_a_py=EVALS)
    above = project.folder.parent
    ran = project.pytest("evals", "--rootdir", str(above), "--collect-only", "-q")
    assert "writes[good]" in ran.stdout
    other = above / "other"
    other.mkdir()
    for name in ("good.sh", "demeanor.toml"):
        (other / name).write_text((project.folder / name).read_text())
    (other / "eval_b.py").write_text(EVALS.replace("def writes", "def other_writes"))
    both = project.pytest("evals", str(other), "--rootdir", str(above), "--collect-only", "-q")
    assert "evals of several projects in one run" in both.stdout
    assert both.returncode != 0


def test_exit_first_starts_nothing_after_a_failure(project: Project) -> None:
    """With `-x`, evals run one after the other in one run, and none is started once one has failed."""
    project.write(good_sh=GOOD, demeanor_toml=CONFIG, evals__eval_a_py=EVALS)
    ran = project.pytest("evals", "-x", "--eval-subject", "good", "--eval-subject", "liar", RUN_EVALS="1")
    assert ran.returncode == 1, ran.stdout
    ledger = (project.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    tried = {(record["eval"], record["subject"]) for record in map(json.loads, ledger)}
    assert tried == {("writes", "good"), ("writes", "liar")}
    assert len(list((project.folder / "results").glob("20*"))) == 1


def test_whole_tasks_are_collected_and_their_own_tests_are_not(project: Project, tmp_path: Path):
    """With a program in place of Harbor that gives a reward. Another tool's task.toml is left alone."""
    task = greet(project.folder / "tasks/greet")
    (task / "tests/test_outputs.py").write_text("assert False, 'runs in the task only'\n")
    engine = rewarding(tmp_path / "engine")
    project.write(
        demeanor_toml=f'subjects = ["oracle"]\n[harbor]\nprogram = "{engine}"\nenv = "bubblewrap"\n',
        other__task_toml="[tasks.build]\n",
        other__tests__test_other_py="def test_it():\n    pass\n",
    )
    shown = project.pytest("tasks", "other", RUN_EVALS="1").stdout
    assert "2 passed" in shown, shown
    assert "layer 3, whole tasks: 1 of 1 held" in shown
    assert "1 passed, 1 skipped" in project.pytest("tasks", "other").stdout
