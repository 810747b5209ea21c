"""`demeanor run --resume`: the same run goes on, with the evals as they are now and the options that may change."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.helpers.project import Project

AGENT = """\
def good(session):
    (session.workspace / "out.txt").write_text("hi")
    session.say("done")

also = good
"""
CONFIG = """\
subjects = ["good"]
trials = 2
sandbox = "none"
[agents.good]
adapter = "python"
function = "agents.py:good"
"""
EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.")
def first(rig, result):
    assert rig.workspace["out.txt"]

@eval_test(ALWAYS_PASSES, prompt="Write.")
def second(rig, result):
    assert rig.workspace["out.txt"]
"""


@pytest.fixture
def ran(project: Project) -> Project:
    """A project with a finished run of two evals, two trials each."""
    project.write(agents_py=AGENT, demeanor_toml=CONFIG, evals__eval_a_py=EVALS)
    assert project.demeanor("run", "evals").returncode == 0
    return project


def trials(project: Project, *words: str, **more: str) -> dict[str, list[tuple[int, str]]]:
    """Resume the latest run: eval → attempt and outcome of each trial that counts."""
    shown = project.demeanor("run", "--resume", "latest", "--json", *words, **more)
    assert shown.stdout, shown.stderr
    return {
        cell["tally"]["eval"]: sorted((one["attempt"], one["verdict"]["outcome"]) for one in cell["records"])
        for cell in json.loads(shown.stdout)["cells"]
    }


def test_edited_eval_is_tried_again(ran: Project):
    """Verdicts of the old and the new eval are never mixed; what did not change is kept."""
    ran.write(evals__eval_a_py=EVALS.replace('assert rig.workspace["out.txt"]', "assert 0", 1))
    shown = ran.demeanor("run", "--resume", "latest", COLUMNS="200")
    assert shown.returncode == 1
    assert "edited since the run began, so their trials ran again: first" in shown.stdout
    assert trials(ran) == {"first": [(2, "fail"), (2, "fail")], "second": [(1, "pass"), (1, "pass")]}


def test_changed_subject_is_tried_again(ran: Project):
    """Its configuration is part of what was tested."""
    ran.write(demeanor_toml=CONFIG.replace(":good", ":also"))
    assert trials(ran) == {"first": [(2, "pass")] * 2, "second": [(2, "pass")] * 2}


def test_deleted_eval_is_reported(ran: Project):
    """Its trials are left out, and a note says so."""
    ran.write(evals__eval_a_py=EVALS.partition('@eval_test(ALWAYS_PASSES, prompt="Write.")\ndef second')[0])
    shown = ran.demeanor("run", "--resume", "latest", COLUMNS="200")
    assert "not defined any more, so their trials are left out: second/good" in shown.stdout


def test_options_that_may_change_take_effect(ran: Project):
    """More trials are added, also to what a later `--resume` does; fewer than there are can't be had."""
    assert trials(ran, "--trials", "3")["first"] == [(1, "pass")] * 3
    assert trials(ran)["second"] == [(1, "pass")] * 3
    fewer = ran.demeanor("run", "--resume", "latest", "--trials", "1")
    assert (fewer.returncode, "already has 3 trials" in fewer.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--subject", "other"], "--subject"),
        (["-k", "first"], "-k"),
        (["--sandbox", "bubblewrap"], "--sandbox"),
        (["--fault", "429@1"], "--fault"),
        (["--seed", "7"], "--seed"),
        (["other"], "PATH"),
    ],
)
def test_options_that_determine_the_trials_are_refused_by_name(ran: Project, words: list[str], option: str):
    """Silently ignoring them would report something else than what was asked for."""
    shown = ran.demeanor("run", *words, "--resume", "latest")
    assert shown.returncode == 2
    assert f"{option} can't change when a run is resumed" in shown.stderr
    assert (
        "ran with evals" in shown.stderr
        if option == "PATH"
        else f"ran with {option} " in shown.stderr or f"ran without {option}\n" in shown.stderr
    )


def test_resume_works_from_another_folder(ran: Project, tmp_path: Path):
    """The project of the run is found from its folder."""
    folder = (ran.folder / "results" / "latest").resolve()
    (folder / "ledger.jsonl").write_text((folder / "ledger.jsonl").read_text().splitlines(keepends=True)[0])
    shown = subprocess.run(
        ran.command("run", "--resume", str(folder)),
        cwd=tmp_path,
        env=ran.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert "4 passed" in shown.stdout


def test_the_run_of_a_gate_is_not_judged_by_the_rules_of_a_run(ran: Project):
    """`gate` decides with its history and asks for more trials; resuming it as an ordinary run would not."""
    assert ran.demeanor("gate").returncode == 0
    refused = ran.demeanor("run", "--resume", "latest")
    assert refused.returncode == 2, refused.stdout
    assert "is a run of `demeanor gate`, which decides by other rules than `demeanor run`" in refused.stderr
    assert "→ start the command again: demeanor gate" in refused.stderr
