"""The command line: help, completion, and the commands that run nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.cli.registry import all_commands
from tests.helpers.project import Project

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test


@eval_test(USUALLY_PASSES, prompt="x")
def says_something(rig, result):
    assert result
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_completion_knows_every_command(project: Project, shell: str):
    """For each shell, from the real parser."""
    script = project.demeanor("help", "completion", shell)
    if shell == "fish" and script.returncode != 0:
        pytest.fail(script.stderr)
    for command in all_commands():
        assert command.rpartition(" ")[2] in script.stdout


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run."""
    project = Project(tmp_path_factory.mktemp("ran") / "project")
    project.write(evals__eval_a_py=EVAL, demeanor_toml='subjects = ["native:scripted"]\nsandbox = "none"\n')
    assert project.demeanor("run", "--policy", "all", "--trials", "1").returncode == 0
    return project


def test_without_a_command_the_first_ones_are_listed(project: Project):
    """And where to find the others."""
    shown = project.demeanor()
    assert shown.returncode == 2
    for words in (
        "demeanor init ",
        "demeanor validate ",
        "demeanor run ",
        "demeanor --help",
        "help tutorial",
    ):
        assert words in shown.stderr
    assert max(map(len, shown.stderr.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vaildate"], "demeanor: unknown command 'vaildate'\n  → did you mean 'validate'?\n"),
        (["hlep"], "demeanor: unknown command 'hlep'\n  → did you mean 'help'?\n"),
        (["import", "x"], "demeanor: unknown command 'import'\n  → did you mean 'store import'?\n"),
        (["explain", "x"], "demeanor: unknown command 'explain'\n  → see demeanor --help\n"),
        (
            ["--scenario", "a b", "--trials=1"],
            "demeanor: no command is named before '--scenario'\n  → demeanor run --scenario 'a b' --trials=1\n",
        ),
        (["--hlep"], "demeanor: unknown option '--hlep'\n  → did you mean '--help'?\n"),
        (
            ["store", "export", "latest", "--endpont=URL"],
            "demeanor: store export: unknown option '--endpont'\n  → did you mean '--endpoint'?\n",
        ),
        (
            ["run", "--quickly"],
            "demeanor: run: unknown option '--quickly'\n  → see its options: demeanor run --help\n",
        ),
        (
            ["help", "schema", "one", "two"],
            "demeanor: help schema: unexpected argument 'two'\n  → see its options: demeanor help schema --help\n",
        ),
        (
            ["run", "--trials", "0"],
            "demeanor: run: argument --trials: expected a whole number of at least 1, found 0\n"
            "  → see its options: demeanor run --help\n",
        ),
        (
            ["store"],
            "demeanor: store: no sub-command is named\n  → demeanor store import | demeanor store export\n",
        ),
        (["gateway", "srve"], "demeanor: gateway: unknown sub-command 'srve'\n  → did you mean 'gateway serve'?\n"),
    ],
)
def test_a_wrong_word_gets_the_nearest_right_one(project: Project, words: list[str], message: str):
    """Commands and options, without the usage of all of them; nothing if no word is near."""
    shown = project.demeanor(*words)
    assert shown.returncode == 2
    assert shown.stderr.startswith(message)


def test_without_a_temp_folder_the_remedy_is_named(project: Project):
    """As in a container whose file system is read-only; it is not a bug of Demeanor."""
    within = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    shown = subprocess.run(
        [*within, *project.command("doctor")], cwd=project.folder, env={**project.env, "TMPDIR": ""},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert shown.returncode == 70
    assert "No usable temporary directory found in ['/tmp'" in shown.stderr
    assert "set TMPDIR to a folder that is" in shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize("command", ["run", "gate", "nightly"])
@pytest.mark.parametrize(
    ("file", "reason"), [("evals", "evals is a folder"), ("demeanor.toml/x.xml", "x.xml can't be written")]
)
def test_a_report_that_can_not_be_written_is_refused_before_anything_runs(
    project: Project, command: str, file: str, reason: str
):
    """Not after all trials, when the money is spent."""
    project.write(evals__eval_a_py="raise SystemExit('loaded')\n", demeanor_toml="trials = 1\n")
    refused = project.demeanor(command, "--junit", file)
    assert (refused.returncode, "loaded" in refused.stderr) == (2, False)
    assert reason in refused.stderr


@pytest.mark.parametrize("form", ["json", "csv", "junit", "atif", "otlp", "parquet"])
def test_an_export_that_can_not_be_written_names_its_file_and_leaves_nothing(ran: Project, form: str):
    """The folder above it is a file."""
    done = ran.demeanor("store", "export", "latest", "--format", form, "--output", "demeanor.toml/out")
    assert done.returncode == 2, done.stderr
    assert "demeanor.toml/out can't be written; name a " in done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in ran.folder.iterdir() if path.name.startswith(".out")]


def test_an_address_is_not_a_file_to_export_to(project: Project):
    """It would become a folder named `http:`."""
    refused = project.demeanor("store", "export", "latest", "--format", "otlp", "--output", "http://localhost:4318")
    assert refused.returncode == 2
    assert "--output: is an address, not a file\n  → --endpoint http://localhost:4318" in refused.stderr
    assert list(project.folder.iterdir()) == []


@pytest.mark.parametrize("command", all_commands())
def test_every_command_explains_itself(project: Project, command: str):
    """`--help` works and says what it does."""
    shown = project.demeanor(*command.split(), "--help")
    assert shown.returncode == 0
    assert all_commands()[command].split()[0].strip(",") in shown.stdout.lower()


def test_list_trace_validate_and_doctor_print_json(project: Project):
    """For programs."""
    project.demeanor("init", "--ci", "none")
    project.demeanor("run", "--policy", "all", "--trials", "1")
    listed = json.loads(project.demeanor("validate", "--list", "--json").stdout)
    assert [one["name"] for one in listed] == ["create-file", "saves_the_note"]
    events = project.demeanor("trace", "saves_the_note", "--json").stdout.splitlines()
    assert json.loads(events[0])["type"] in {"asked", "called"}
    assert json.loads(project.demeanor("validate", "--json").stdout)["ok"] is True
    assert {item["state"] for item in json.loads(project.demeanor("doctor", "--json").stdout)} == {"ok"}


def test_doctor_shows_what_is_broken_and_what_to_do(project: Project):
    """Exit code 1, and a remedy for each problem."""
    project.write(
        demeanor_toml='[agents.a]\nadapter = "command"\ncommand = ["no-such-program", "{prompt}"]\n'
        '[agents.b]\nadapter = "comand"\n'
    )
    shown = project.demeanor("doctor")
    assert shown.returncode == 1
    assert "'no-such-program' is not on PATH" in shown.stdout
    assert "did you mean 'command'" in shown.stdout


def test_validate_names_the_vacuous_and_the_impossible(project: Project):
    """An eval that can't fail, one that can't pass, and one that nothing proves."""
    project.write(
        evals__eval_bad_py="""\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="x", passes_on=lambda stage: None)
def vacuous(rig, result):
    assert True

@eval_test(USUALLY_PASSES, prompt="x", passes_on=lambda stage: stage.say("no"))
def impossible(rig, result):
    assert result == "yes"

@eval_test(USUALLY_PASSES, prompt="x")
def unproven(rig, result):
    assert result == "yes"
"""
    )
    shown = project.demeanor("validate")
    assert shown.returncode == 1
    assert "2 faulty" in shown.stdout
    assert "vacuous: an agent that does nothing passes" in shown.stdout
    assert "impossible: passes_on" in shown.stdout
    assert "unproven: there is no passes_on" in shown.stdout
    assert project.demeanor("validate", "--strict", "-k", "unproven").returncode == 1


def test_validate_refuses_a_new_eval_that_always_passes(project: Project):
    """Git tells which evals are new."""
    import subprocess

    def git(*words: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@x"]
        subprocess.run(["git", *identity, *words], cwd=project.folder, env=project.env, check=True, capture_output=True)

    code = "from demeanor import *\n@eval_test(USUALLY_PASSES, prompt='x', passes_on=lambda s: s.say('yes'))\n"
    code += "def old(rig, result):\n    assert result == 'yes'\n"
    project.write(evals__eval_a_py=code)
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "one")
    project.write(evals__eval_b_py=code.replace("USUALLY", "ALWAYS").replace("def old", "def new"))
    shown = project.demeanor("validate")
    assert shown.returncode == 1
    assert "ALWAYS_PASSES: is new, and a new eval starts as USUALLY_PASSES" in shown.stdout
    git("add", ".")
    git("commit", "-m", "two")
    assert project.demeanor("validate").returncode == 0


def test_harbor_is_shown_or_its_installation_suggested(project: Project, tmp_path: Path):
    """With what to do; doctor says the same."""
    nowhere = {"DEMEANOR_AGENTS": str(tmp_path), "PATH": "/usr/bin:/bin"}
    lacking = project.demeanor("harbor", **nowhere)
    assert lacking.returncode == 2
    assert "demeanor harbor install" in lacking.stderr
    program = tmp_path / "harbor/0.24.0/bin/harbor"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "harbor/0.24.0/lib/python3.12/site-packages/harbor-0.24.0.dist-info").mkdir(parents=True)
    shown = project.demeanor("harbor", **nowhere)
    assert (shown.returncode, shown.stdout) == (0, f"harbor 0.24.0  {program}\n")
    assert f"0.24.0 ({program})" in project.demeanor("doctor", **nowhere).stdout


IN_PROCESS = """\
import os, signal, sys
from demeanor.cli.program import main
os.environ["MAIN"] = str(os.getpid())
mine = lambda number, frame: None
signal.signal(signal.SIGTERM, mine)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
assert main(["run"]) == 130
assert signal.getsignal(signal.SIGTERM) is mine
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
"""
STOPS = """\
import os, signal, time
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Work.", trials=1)
def stops_the_run(rig, result):
    os.kill(int(os.environ["MAIN"]), signal.SIGTERM)
    time.sleep(600)
"""
AGENT = 'subjects = ["idle"]\n[agents.idle]\nadapter = "command"\ncommand = ["true", "{prompt}"]\n'


def test_a_cancelled_run_leaves_the_signal_handlers_of_its_caller(project: Project):
    """A program that calls the command line in its own process can be interrupted afterwards as before."""
    project.write(demeanor_toml=AGENT, evals__eval_stops_py=STOPS)
    done = subprocess.run(
        [sys.executable, "-c", IN_PROCESS], cwd=project.folder, env=project.env, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


AT_THE_END = """\
import atexit
atexit.register(print, "registered for the end")
"""
THREAD = """\
import threading
def work():
    threading.main_thread().join()
    print("the thread has finished")
threading.Thread(target=work, daemon={daemon}).start()
"""


@pytest.mark.parametrize(
    ("more", "printed"),
    [
        (AT_THE_END, "registered for the end\n"),
        (THREAD.format(daemon=False), "the thread has finished\n"),
        (AT_THE_END + THREAD.format(daemon=True), "registered for the end\n"),
        (AT_THE_END + THREAD.format(daemon=False), "the thread has finished\nregistered for the end\n"),
    ],
    ids=["at exit", "thread", "daemon", "both"],
)
def test_what_an_eval_file_left_for_the_end_of_the_process_is_done(project: Project, more: str, printed: str):
    """And its output is not lost, though Python is ended without freeing its memory."""
    project.write(demeanor_toml="", evals__eval_a_py=f"{more}\n{EVAL}")
    done = project.demeanor("validate", "--list")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(printed)
