"""The forecast of a project, from its history."""

from __future__ import annotations

import json
from datetime import datetime
from xml.etree import ElementTree

import pytest

from demeanor.store.runs.run_folder import RunFolder
from tests.helpers.project import Project

CONFIG = """\
subjects = ["sleeper"]
sandbox = "none"
[agents.sleeper]
adapter = "command"
command = ["sh", "-c", "sleep 1; echo hi > a.txt", "{prompt}"]
"""
EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save it.")
def saves(rig, result):
    assert "a.txt" in rig.workspace
"""


def test_the_forecast_follows_from_the_durations_of_a_real_run(project: Project) -> None:
    """Six trials on three slots, first run, then simulated; with the timeline. test_rules.py tests how near a forecast
    is to a schedule of known durations: here the machine may be busy between two trials.
    """
    project.write(demeanor_toml=CONFIG, evals__eval_a_py=EVAL)
    ran = project.demeanor("simulate", "--workers", "2")
    assert ran.returncode == 2
    assert "none of these evals was run before" in ran.stderr
    ran = project.demeanor("nightly", "--jobs", "3", "--trials", "6")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    records = RunFolder((project.folder / "results/latest").resolve()).records()
    ended = [datetime.fromisoformat(record.ended).timestamp() for record in records]
    real = max(ended) - min(end - record.spent.seconds for end, record in zip(ended, records, strict=True))
    options = ("--workers", "3", "--workers", "1", "--trials", "6", "--plot", "night.svg")
    ran = project.demeanor("simulate", *options, "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["schema"] == "demeanor-simulate/1"
    assert found["trials"] == 6
    many, one = found["fleets"]
    assert many["seconds"] / real < 1.2, (many["seconds"], real)
    durations = [record.spent.seconds for record in records]
    assert many["bottleneck"] == one["bottleneck"] == "slots"
    assert one["seconds"] == pytest.approx(sum(durations), rel=0.05)
    even = sum(durations) / 3
    assert even * 0.95 <= many["seconds"] <= (even + max(durations)) * 1.05
    assert ElementTree.parse(project.folder / "night.svg").getroot().attrib["role"] == "img"  # noqa: S314 - our own


def test_limits_are_given_per_provider(project: Project) -> None:
    """Those of the configuration count, unless an option changes them."""
    provider = '[providers.acme]\nbase_url = "http://127.0.0.1:1/v1"\ndialect = "openai-chat"\nconcurrency = 1\n'
    project.write(demeanor_toml=f'subjects = ["native:acme/large"]\n{provider}', evals__eval_a_py=EVAL)
    options = ("simulate", "--seconds", "60", "--trials", "10", "--workers", "10")
    ran = project.demeanor(*options)
    assert ran.returncode == 0, ran.stderr
    assert "10 min 0 s" in ran.stdout, ran.stdout
    assert "acme: 10 requests, limit 1 at once" in ran.stdout
    ran = project.demeanor(*options, "--concurrency", "acme=5")
    assert "2 min 0 s" in ran.stdout, ran.stdout
    ran = project.demeanor(*options, "--concurrency", "acme")
    assert ran.returncode == 2
    assert "expected PROVIDER=N" in ran.stderr
    for option in ("--concurrency", "--requests-per-minute"):
        ran = project.demeanor(*options, option, "acm=5")
        assert ran.returncode == 2, ran.stdout
        assert f"{option}: unknown provider 'acm'\n  → did you mean 'acme'?" in ran.stderr
    assert project.demeanor(*options, "--concurrency", "anthropic=5").returncode == 0  # known, though no trial uses it
