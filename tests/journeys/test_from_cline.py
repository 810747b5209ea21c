"""Cline's description of its evals (`evals/ARCHITECTURE.md`), sentence by sentence: what its reader does here and sees.

docs/from-cline.md is the short form. The scenarios are in Cline's format, and a program plays its command line.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.helpers.harbor_tasks import greet
from tests.helpers.project import Project
from tests.helpers.reader import Reader, missing

MODELS = ("claude-sonnet-4-20250514", "gpt-4o", "gemini-2.5-pro-preview-06-05")
SCENARIOS = {
    "01-create-file": ("Create hello.txt with 'Hello, World!'", {"hello.txt": "Hello"}, {}),
    "02-edit-file": (
        "In greeting.txt change Hello to Goodbye.",
        {"greeting.txt": "Goodbye"},
        {"greeting.txt": "Hello World, this is a greeting file.\n"},
    ),
    "03-read-summarize": (
        "Summarize data.txt in summary.txt, in one sentence.",
        {"summary.txt": "user"},
        {"data.txt": "Analytics: 10 users.\n"},
    ),
    "04-multi-file": ("Create index.html and style.css with Arial.", {"index.html": "html", "style.css": "Arial"}, {}),
    "05-typescript-function": ("Create utils.ts that exports capitalize.", {"utils.ts": "capitalize"}, {}),
}
"""Scenario → its prompt, what files must contain, and its template: as in Cline's repository."""
CLINE = """\
#!/bin/sh
# cline -y -o PROMPT --model MODEL: does everything but scenario 04, and 03 with gpt-4o only two times of three.
case $3 in
*hello.txt*) echo 'Hello, World!' > hello.txt ;;
*greeting.txt*) sed -i s/Hello/Goodbye/ greeting.txt ;;
*summary.txt*) [ "$5" = gpt-4o ] && mkdir "$(dirname "$0")/forgot" 2>/dev/null || echo '10 users' > summary.txt ;;
*utils.ts*) echo 'export function capitalize(s: string) { return s }' > utils.ts ;;
esac
echo "asked $5 to: $3"
"""
CONFIG = """\
paths = ["evals/smoke-tests/scenarios"]
results = "evals/smoke-tests/results"
subjects = ["mycline:claude-sonnet-4-20250514", "mycline:gpt-4o", "mycline:gemini-2.5-pro-preview-06-05"]
sandbox = "none"
build = ["sh", "-c", "mkdir -p cli && cp cmd/cline.sh cli/cline"]

[agents.mycline]
adapter = "command"
command = ["./cli/cline", "-y", "-o", "{prompt}", "--model", "{model}"]
"""
LATEST = "evals/smoke-tests/results/latest"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """The repository of Cline with five scenarios, and all of them run: three models, three trials each."""
    made = Reader(Project(tmp_path_factory.mktemp("cline") / "project"))
    for name, (prompt, contains, template) in SCENARIOS.items():
        folder = f"evals/smoke-tests/scenarios/{name}"
        content = [{"file": file, "contains": text} for file, text in contains.items()]
        config = {"name": name, "description": "", "prompt": prompt, "expectedFiles": [*contains]}
        made.writes(f"{folder}/config.json", json.dumps(config | {"expectedContent": content, "timeout": 120}))
        for file, text in template.items():
            made.writes(f"{folder}/template/{file}", text)
    made.writes("cmd/cline.sh", CLINE).chmod(0o755)
    made.writes("demeanor.toml", CONFIG)
    made.reads("npm run eval:smoke: Run all smoke tests (all models, 3 trials each)")
    made.types("demeanor run", "45 of 45 judged", "building the working tree", exit_code=1)
    return made


def test_the_layers(reader: Reader) -> None:
    """The section *Overview*, and *Contract Tests (Layer 1)*."""
    reader.reads("Layer 3: Real coding tasks, Harbor execution, Nightly runs")
    greet(reader.folder / "evals/cline-bench/tasks/greet")
    reader.types("demeanor validate evals/cline-bench/tasks --static", "greet")
    reader.types("demeanor nightly evals/cline-bench/tasks --subject oracle --dry-run", "1 cell, 3 trials")

    reader.reads("Layer 2: 5 curated scenarios, 3 models, pass@k metrics")
    reader.types("demeanor run --dry-run", "15 cells, 45 trials")

    reader.reads("Layer 1: No LLM calls, Fast, deterministic, API format validation")
    reader.types('demeanor gateway contract -k "Thinking Trace"', ", 0 failed")
    reader.types('demeanor gateway contract -k "Tool Call"', ", 0 failed")


def test_files_and_metrics(reader: Reader) -> None:
    """The sections *Directory Structure*, *Smoke Test Workflow*, *Models Tested* and *Metrics Explained*."""
    latest = reader.folder / LATEST

    reader.reads("results/latest -> 2026-01-27T.../ # Symlink to most recent")
    assert latest.is_symlink()

    reader.reads("`cline -y -o 'prompt' --model <model>`, Verify expected files exist, Verify expected content")
    reader.types(f"cat {LATEST}/01-create-file/mycline-gpt-4o/trial-1.log", "asked gpt-4o to: Create hello.txt")

    reader.reads("If failed, copy workspace to results/ (kept for failures only)")
    assert not (latest / "02-edit-file/mycline-gpt-4o/workspace-trial-1").exists()
    reader.types(f"cat {LATEST}/03-read-summarize/mycline-gpt-4o/workspace-trial-1/data.txt", "Analytics: 10 users.")
    reader.types(f"cat {LATEST}/04-multi-file/mycline-gpt-4o/trial-1.log", "there is no 'index.html'")
    reader.types(f"cat {LATEST}/04-multi-file/mycline-gpt-4o/workspace-trial-1/EMPTY", "The trial left no file")

    reader.reads("report.json: Full results")
    report = json.loads((latest / "report.json").read_text())
    assert (report["models"], report["trialsPerTest"]) == ([f"mycline:{model}" for model in MODELS], 3)
    results = {(one["scenarioId"], one["model"].partition(":")[2]): one for one in report["results"]}
    assert len(results) == 15

    reader.reads("PASS = All trials passed, FLAKY = Some passed, some failed, FAIL = All trials failed")
    status = {model: results["03-read-summarize", model]["status"] for model in MODELS}
    assert status == {MODELS[0]: "pass", "gpt-4o": "flaky", MODELS[2]: "pass"}
    assert results["04-multi-file", "gpt-4o"]["status"] == "fail"

    reader.reads("2/3 trials pass: pass@3 ≈ 96%, pass^3 ≈ 30%")
    metrics = results["03-read-summarize", "gpt-4o"]["metrics"]
    assert (round(metrics["passAt3"], 2), round(metrics["passCaret3"], 2)) == (0.96, 0.3)
    reader.types("demeanor report --metrics", "~96 %", "~30 %")

    reader.reads("summary.md: CI-friendly markdown")
    reader.types(f"cat {LATEST}/summary.md", "`03-read-summarize`", "FLAKY")


def test_quick_commands(reader: Reader) -> None:
    """The section *Quick Commands*: the same options. Each run is one of the results folder."""
    reader.reads("Run single model (use exact model ID for reproducibility)")
    reader.types("demeanor run --model claude-sonnet-4-20250514 --dry-run", "5 cells, 15 trials")

    reader.reads("Run single scenario")
    reader.types("demeanor run --scenario 01-create-file", "9 of 9 judged: 9 passed")

    reader.reads("Quick check (1 trial)")
    reader.types("demeanor run --scenario 01-create-file --trials 1", "3 of 3 judged: 3 passed")

    reader.reads("CI-like run (builds CLI from source, single trial)")
    reader.types("demeanor run --trials 1 --dry-run", "15 cells, 15 trials", CI="true", RUN_EVALS="1")

    reader.reads("Posts summary to GitHub Actions job summary")
    summary = str(reader.folder / "step.md")
    reader.types("demeanor run --scenario 01-create-file --trials 1", GITHUB_STEP_SUMMARY=summary)
    reader.types("cat step.md", "Accepted", "`01-create-file`", "mycline:gpt-4o")

    reader.reads("Debug a failure")
    reader.types("demeanor run --scenario 04-multi-file --trials 1", exit_code=1)
    reader.types("demeanor trace", "there is no 'index.html' in the workspace")


def test_ci(project: Project) -> None:
    """The section *CI Integration*: the workflow that `demeanor init` writes."""
    reader = Reader(project)
    reader.reads("Smoke tests run automatically on merge to `main` via `.github/workflows/cline-evals-regression.yml`")
    reader.types("demeanor init --agent cline --smoke", ".github/workflows/evals-smoke.yml")
    workflow = yaml.safe_load((project.folder / ".github/workflows/evals-smoke.yml").read_text())

    reader.reads("Push to `main` branch (paths: `src/core/**`, `src/shared/**`, `proto/**`)")
    triggers = workflow[True]  # YAML reads the key `on` as True
    assert triggers["push"]["branches"] == ["main"]
    assert {"src/core/**", "src/shared/**", "proto/**"} <= {*triggers["push"]["paths"]}

    reader.reads("Manual dispatch via `workflow_dispatch`")
    assert "workflow_dispatch" in triggers

    reader.reads("Runs all 5 scenarios × 3 models × 1 trial")
    steps = workflow["jobs"]["evals"]["steps"]
    assert [step["run"].split(" --junit")[0] for step in steps if "--trials" in step.get("run", "")] == [
        "demeanor run --trials 1"
    ]
    configuration = (project.folder / "demeanor.toml").read_text()
    assert all(f'"cline:{model}"' in configuration for model in MODELS)

    reader.reads("Full results downloadable as `smoke-test-results-<run_id>`")
    names = [step["with"]["name"] for step in steps if "upload-artifact" in step.get("uses", "")]
    assert names == ["smoke-test-results-${{ github.run_id }}"]


def test_the_page_names_what_is_typed_here() -> None:
    """Each command of ours on docs/from-cline.md is one that this journey types."""
    assert missing("from-cline", Path(__file__)) == []
