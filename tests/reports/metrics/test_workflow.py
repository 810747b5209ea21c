"""Imported trials are classified as the pattern file of Cline's analysis says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.import_samples import CLINE, harbor_trial, put
from tests.helpers.project import Project

PATTERNS = """\
version: "1.0"
patterns:
  - name: gemini_signature
    pattern: 'missing.?signature|thoughtSignature'
    category: provider_bug
    issue: https://issues.example/7974
    description: Gemini needs its signature back
  - name: rate_limit
    pattern: '429|rate.?limit|too.?many.?requests|quota.?exceeded'
    category: transient
    description: The provider limits requests
  - name: environment_failure
    pattern: 'docker.*failed|container.*exit|OCI.*runtime|pod.*error'
    category: environment
    description: The container did not work
  - name: auth_error
    pattern: '401|unauthorized|invalid.?api.?key'
    category: auth
    description: The key is wrong
"""
FAILED: dict[str, dict[str, str]] = {
    "provider_bug": {"error": "Exit code: 1", "stderr": "400: thoughtSignature is required"},
    "transient": {"error": "Exit code: 1 - Too Many Requests"},
    "environment": {"error": "Exit code: 1", "stdout": "OCI runtime error\n" + 50 * "more\n"},
    "auth": {"error": "Exit code: 1", "stderr": "Invalid API key"},
    "behaviour": {"error": "File not found: hello.txt", "stdout": "done"},
}


@pytest.fixture
def patterns(project: Project) -> str:
    """The path of the pattern file."""
    return str(put(project.folder / "cline-failures.yaml", PATTERNS))


def categories(project: Project, *words: str) -> dict[str, int]:
    """What `demeanor report --metrics` counts."""
    done = project.demeanor("report", "--metrics", *words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return {name: number for name, number in found["categories"].items() if number}


def test_trials_of_clines_report(project: Project, patterns: str):
    """Read from the file, and after it was imported."""
    (result,) = CLINE["results"]  # type: ignore[misc]
    trials = [{"passed": False, "durationMs": 5, "stdout": "", "stderr": "", **one} for one in FAILED.values()]
    path = put(project.folder / "report.json", {**CLINE, "results": [{**result, "trials": trials}]})  # type: ignore[dict-item]
    wanted = dict.fromkeys(FAILED, 1)
    assert categories(project, str(path), "--patterns", patterns) == wanted
    assert project.demeanor("store", "import", str(path)).returncode == 0
    assert categories(project, "--patterns", patterns) == wanted


def test_trials_of_a_harbor_job(project: Project, patterns: str):
    """What the agent printed is in a text file beside the result."""
    job = project.folder / "job"
    for name, log in (("one", "HTTP 429\n"), ("two", "wrote hello.txt\n")):
        put(job / name / "result.json", harbor_trial(name, reward=0.0))
        put(job / name / "agent" / "cline.txt", log)
    assert categories(project, str(job), "--patterns", patterns) == {"transient": 1, "behaviour": 1}
