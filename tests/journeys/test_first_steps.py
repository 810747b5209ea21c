"""First steps without an API key. test_docs.py pastes the tutorial."""

from __future__ import annotations

import json
import os

from tests.helpers.project import Project


def test_a_run_writes_its_files(project: Project):
    """report.json, summary.md, a folder per trial, and `latest`; the summary is also added to the CI summary."""
    project.demeanor("init")
    summary = project.folder / "step-summary.md"
    project.demeanor("run", "--policy", "all", "--junit", "out/junit.xml", GITHUB_STEP_SUMMARY=str(summary))
    latest = project.folder / "results" / "latest"
    report = json.loads((latest / "report.json").read_text())
    assert {result["scenarioId"] for result in report["results"]} == {"saves_the_note", "create-file"}
    assert (latest / "summary.md").read_text() == summary.read_text()
    assert (project.folder / "out/junit.xml").read_text().startswith("<?xml")
    for trial in (1, 2, 3):
        folder = latest / "saves_the_note" / "native-scripted" / f"trial-{trial}"
        assert {path.name for path in folder.iterdir()} >= {"trajectory.jsonl", "workspace.diff"}
        assert folder.with_name(f"trial-{trial}.log").is_file()
    assert project.temporary() == []


def test_init_changes_no_existing_file(project: Project):
    """It can be run twice, and in a folder with a configuration."""
    project.write(demeanor_toml="trials = 1\n")
    assert "kept     demeanor.toml" in project.demeanor("init").stdout
    assert (project.folder / "demeanor.toml").read_text() == "trials = 1\n"
    assert "created" not in project.demeanor("init").stdout


def test_the_stored_runs_are_listed_by_name(project: Project):
    """Newest first; without one, the list says so."""
    assert "there is no run yet" in project.demeanor("report", "--list").stdout
    project.demeanor("init")
    for _ in range(2):
        project.demeanor("run", "-k", "saves", "--subject", "native:scripted", "--trials", "1")
    listed = [line.split() for line in project.demeanor("report", "--list").stdout.splitlines()]
    names = [words[0] for words in listed[1:]]
    assert names == sorted((path.name for path in project.folder.glob("results/2*")), reverse=True)
    assert {words[1] for words in listed[1:]} == {"local"}


def test_a_person_runs_everything_and_ci_what_always_passes(project: Project):
    """Unless evals are named. That nothing was run is never green."""
    project.demeanor("init")
    assert "2 cells, 6 trials" in project.demeanor("run", "--dry-run").stdout
    for words, env in (((), {"CI": "1"}), (("--policy", "always"), {})):
        ran = project.demeanor("run", *words, **env)
        assert (ran.returncode, ran.stdout) == (3, "")
        assert "no eval is ALWAYS_PASSES (2 evals collected), so nothing was run" in ran.stderr
    assert "1 cell, 3 trials" in project.demeanor("run", "--scenario", "create-file", "--dry-run", CI="1").stdout


def test_a_folder_of_scenarios_is_run_as_it_is(project: Project):
    """Without a configuration, and without evals/; also the folder of one scenario."""
    scenario = '{"name": "n", "prompt": "Create a.txt.", "expectedFiles": ["a.txt"]}'
    project.write(**{"01-create__config_json": scenario, "02-more__config_json": scenario})
    assert "2 cells, 2 trials" in project.demeanor("run", "--trials", "1", "--dry-run").stdout
    project.write(config_json=scenario)
    assert "1 cell, 1 trial;" in project.demeanor("run", "--trials", "1", "--dry-run").stdout


def test_a_dry_run_costs_nothing(project: Project):
    """It prints the plan and writes nothing."""
    project.demeanor("init")
    planned = project.demeanor("run", "--policy", "all", "--trials", "5", "--dry-run")
    assert "2 cells, 10 trials; nothing was run" in planned.stdout
    assert not (project.folder / "results").exists()


def test_reports_go_into_a_pipe_that_stays_one(project: Project):
    """`--junit` and `store export --output` write to a device, which a pipe stands for here."""
    project.demeanor("init")
    pipe = project.folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for words in (
        ["run", "-k", "saves", "--policy", "all", "--trials", "1", "--junit"],
        ["store", "export", "--format", "junit", "--output"],
    ):
        done = project.demeanor(*words, str(pipe))
        assert done.returncode == 0, done.stderr
        assert pipe.is_fifo()
        assert os.read(reader, 100_000).startswith(b"<?xml")
    os.close(reader)


def test_the_commands_that_a_report_suggests_work(project: Project):
    """Also for a run that is not a night."""
    project.demeanor("init")
    ran = project.demeanor("run", "-k", "saves", "--policy", "all", "--trials", "1", "--subject", "native:scripted")
    assert ran.returncode == 0, ran.stderr
    spent = ["run", "-k", "saves", "--policy", "all", "--budget", "1tokens", "--subject", "native:scripted"]
    assert "--budget 5usd (or 200000tokens)" in " ".join(project.demeanor(*spent).stdout.split())
    shown = project.demeanor("report", COLUMNS="200").stdout
    suggested = [line.split()[2:] for line in shown.splitlines() if line.strip().startswith("$ demeanor")]
    assert {words[0] for words in suggested} == {"trace", "report"}
    for words in suggested:
        done = project.demeanor(*words)
        assert done.returncode == 0, done.stderr
