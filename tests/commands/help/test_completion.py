"""Shell completion in a real bash: commands, options, and names of the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.project import Project

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=2)
def saves_the_note(rig, result):
    assert rig.workspace["notes.txt"].text == "buy milk\\n"
"""
COMPLETE = """\
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(({number} - 1))
_shtab_demeanor
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with one run, and `demeanor` on its PATH."""
    project = Project(tmp_path_factory.mktemp("completion") / "project")
    project.write(evals__eval_notes_py=EVAL, demeanor_toml='subjects = ["native:scripted"]\nsandbox = "none"\n')
    done = project.demeanor("run", "--policy", "all")
    assert done.returncode in {0, 1}, done.stderr
    programs = project.folder.parent / "bin"
    programs.mkdir()
    (programs / "demeanor").write_text(f'#!/bin/sh\nexec {sys.executable} -m demeanor "$@"\n')
    (programs / "demeanor").chmod(0o755)
    project.env["PATH"] = f"{programs}:{project.env['PATH']}"
    (project.folder.parent / "completion.bash").write_text(project.demeanor("help", "completion", "bash").stdout)
    return project


def completed(project: Project, *words: str) -> list[str]:
    """What bash offers for the last word."""
    script = COMPLETE.format(
        script=project.folder.parent / "completion.bash", number=len(words),
        words=" ".join(f"'{word}'" for word in words),
    )  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", script], cwd=project.folder, env=project.env, capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["gat"], ["gate", "gateway"]),
        (["run", "--scenario", "saves"], ["saves_the_note"]),
        (["run", "--subject", "native:s"], ["native:scripted"]),
        (["report", "--eval", "sav"], ["saves_the_note"]),
        (["report", "--failures", "lat"], ["latest"]),
        (["trace", "saves"], ["saves_the_note/native:scripted/1", "saves_the_note/native:scripted/2"]),
        (["help", "tutor"], ["tutorial"]),
        (["help", "rate"], ["rate_limit"]),
        (["help", "sche"], ["schema"]),
        (["help", "schema", "scen"], ["scenario"]),
        (["help", "completion", "ba"], ["bash"]),
        (["store", ""], ["export", "import"]),
        (["store", "export", "lat"], ["latest"]),
        (["gateway", "contract", "--dialect", "openai-r"], ["openai-responses"]),
        (["init", "--agent", "claude"], ["claude-code"]),
        (["agents", "install", "goo"], ["goose"]),
        (["run", "-k", "saves"], ["saves_the_note"]),
        (["run", "evals/eval_n"], ["evals/eval_notes.py"]),
        (["run", "--config", "demean"], ["demeanor.toml"]),
        (["init", "ev"], ["evals"]),
        (["init", "gui"], ["guides"]),
        (["init", "guides", "--for", "cl"], ["claude"]),
        (["init", "demean"], []),
        (["gate", "--junit", "demean"], ["demeanor.toml"]),
    ],
)
def test_bash_completes_names(ran: Project, words: list[str], offered: list[str]) -> None:
    """Commands, evals, subjects with their colon, runs, trials, topics and the like; else files or folders."""
    assert sorted(completed(ran, "demeanor", *words)) == offered


def test_runs_are_offered_newest_first(ran: Project) -> None:
    """`latest` comes before the names of runs."""
    name = (ran.folder / "results/latest").resolve().name
    assert completed(ran, "demeanor", "report", "") == ["latest", name]


def test_a_folder_without_a_project_offers_nothing(project: Project) -> None:
    """No error in the middle of a command line."""
    done = project.demeanor("help", "completion", "--names", "evals")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")


def test_colons_in_metavars_do_not_split_the_specifications_of_zsh(project: Project) -> None:
    """`:AGENT:MODEL:` would be a message and a program to start."""
    script = project.demeanor("help", "completion", "zsh").stdout
    assert r":AGENT\:MODEL:_demeanor_subjects" in script
    assert ":AGENT:MODEL:" not in script
    assert r":MODULE\:FUNCTION" in script


def test_fish_asks_for_the_names_of_the_project(project: Project) -> None:
    """As bash and zsh do."""
    script = project.demeanor("help", "completion", "fish").stdout
    assert "(demeanor help completion --names subjects 2>/dev/null)" in script
    assert "(demeanor help completion --names trials 2>/dev/null)" in script


def test_every_shell_gets_a_script(project: Project) -> None:
    """And without a shell, the message names them."""
    for shell in ("bash", "zsh", "tcsh", "fish"):
        assert "demeanor" in project.demeanor("help", "completion", shell).stdout
    done = project.demeanor("help", "completion")
    assert done.returncode == 2
    assert "bash | zsh" in done.stderr
    assert not Path(project.folder / "results").exists()
