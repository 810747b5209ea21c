"""Every kind of fault with the native agent: from the command line to the trajectory and the verdict."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.values.fault import FaultKind
from tests.helpers.project import Project

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=1)
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
    assert rig.calls.of_kind("edit").count() == 1
    assert rig.turns == 2
"""
COPED = ("pass", None, "")
VERDICTS: dict[str, tuple[str, str | None, str]] = {
    "429@1:retry_after=0": COPED,
    "429@1-3:retry_after=0": ("void", "rate_limit", "HTTP 429: injected fault 429@1-3:retry_after=0"),
    "500@1": COPED,
    "500@2-4": ("void", "provider", "HTTP 500: injected fault 500@2-4"),
    "503@1": COPED,
    "503@1-3": ("void", "provider", "HTTP 503: injected fault 503@1-3"),
    "529@2": COPED,
    "529": ("void", "provider", "HTTP 529: injected fault 529"),
    "refused@1": COPED,
    "refused": ("void", "provider", "injected fault refused: the connection was closed without an answer"),
    "hang@1": ("void", "stalled", "injected fault hang@1: no answer was sent"),
    "drip@1:delay=0.01": COPED,
    "drip@1:delay=3": ("void", "stalled", "injected fault drip@1:delay=3: the answer was sent slowly"),
    "cut@1": COPED,
    "cut@2-4": ("void", "provider", "injected fault cut@2-4: the connection was closed in the middle"),
    "malformed-sse@1": COPED,
    "malformed-sse": ("void", "provider", "stopped at a corrupt answer (injected: malformed-sse)"),
    "truncated-json@2": COPED,
    "truncated-json@1-3": ("void", "provider", "injected fault truncated-json@1-3: the answer ended in the middle"),
    "empty@1": ("fail", None, "there is no 'notes.txt'"),
    "empty@2": COPED,
    "content-type@1": COPED,
    "content-type": ("void", "provider", "stopped at a corrupt answer (injected: content-type)"),
    "tool-id@1": COPED,
    "cut@1:else=fail": COPED,
    "500@2-4:else=fail": ("fail", None, "gave up on a fault that it should survive: HTTP 500: injected fault 500@2-4"),
    "hang@1:else=fail": ("fail", None, "gave up on a fault that it should survive: injected fault hang@1:else=fail"),
    "malformed-sse:else=fail": ("fail", None, "gave up on a fault that it should survive: the agent stopped at a"),
}
"""What the native agent, which tries three times, makes of it."""


def faults(project: Project) -> dict[str, list[dict[str, Any]]]:
    """The faults in the trajectories of the latest run, by eval and trial."""
    return {
        f"{path.parts[-4]} {path.parts[-2]}": [event for event in events(path) if event["type"] == "faulted"]
        for path in sorted(latest(project).rglob("trajectory.jsonl"))
    }


def events(path: Path) -> list[dict[str, Any]]:
    """The events of a trajectory, without their times, which differ from run to run."""
    found = (json.loads(line) for line in path.read_text().splitlines())
    return [{key: value for key, value in event.items() if key != "at"} for event in found]


def latest(project: Project) -> Path:
    """The folder of the latest run."""
    return (project.folder / "results/latest").resolve()


def test_every_kind_has_a_verdict() -> None:
    """Every kind is in the table."""
    assert {rule.partition("@")[0].partition(":")[0] for rule in VERDICTS} == set(FaultKind)


RULES = f"""\
from demeanor import ALWAYS_PASSES, eval_test

def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
    assert rig.calls.of_kind("edit").count() == 1
    assert rig.turns == 2

def with_fault(number, rule):
    timeout = 3 if rule.startswith("hang") or rule.endswith("=3") else 300
    prompt = "Save the note 'buy milk' in notes.txt."
    options = dict(name=f"rule_{{number}}", prompt=prompt, faults=[rule], timeout=timeout, trials=1)
    return eval_test(ALWAYS_PASSES, **options)(saves_the_note)

evals = [with_fault(number, rule) for number, rule in enumerate({list(VERDICTS)})]
"""
"""An eval for each rule, `rule_0` and so on."""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run of these evals."""
    project = Project(tmp_path_factory.mktemp("broken") / "project")
    project.write(evals__eval_rules_py=RULES)
    ran = project.demeanor("run", "--seed", "1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    return project


@pytest.mark.parametrize(("number", "rule"), list(enumerate(VERDICTS)), ids=list(VERDICTS))
def test_a_fault_is_in_the_trajectory_and_the_verdict_is_right(broken: Project, number: int, rule: str) -> None:
    """Void if the provider failed to the end, pass or fail if the agent recovered; never a second attempt."""
    name = f"rule_{number}"
    lines = map(json.loads, latest(broken).joinpath("ledger.jsonl").read_text().splitlines())
    (record,) = (record for record in lines if record["eval"] == name)
    outcome, cause, expected = VERDICTS[rule]
    verdict = record["verdict"]
    assert (verdict["outcome"], verdict.get("cause"), record["attempt"]) == (outcome, cause, 1)
    assert expected in json.dumps(verdict, ensure_ascii=False)
    found = faults(broken)[f"{name} trial-1"]
    assert {event["kind"] for event in found} == {rule.partition("@")[0].partition(":")[0]}
    assert all(event["detail"].startswith(f"{rule}: ") for event in found)
    traced = broken.demeanor("trace", f"{name}/native:scripted/1")
    assert f"fault injected: {found[0]['kind']}" in traced.stdout


EVALS = """\
from demeanor import ALWAYS_PASSES, Stage, eval_test

def copes(stage: Stage) -> None:
    stage.fault("cut")
    (stage.workspace / "notes.txt").write_text("buy milk")
    stage.call("write_file", path="notes.txt", content="buy milk")

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=1, faults=["cut@1"], passes_on=copes)
def copes_with_a_cut(rig, result):
    assert "cut" in [fault.kind for fault in rig.faults]
    assert rig.calls.of_kind("edit").count() == 1
"""
SCENARIO = """\
policy = "ALWAYS_PASSES"
prompt = "Save the note 'buy milk' in notes.txt."
trials = 1
faults = ["{rule}"]
[[checks]]
check = "file_contains"
path = "notes.txt"
text = "buy milk"
"""


def test_an_eval_can_have_faults(project: Project) -> None:
    """In Python and in a folder; the run's faults come after them, or else the configuration's."""
    project.write(
        evals__eval_cut_py=EVALS,
        evals__limited__scenario_toml=SCENARIO.format(rule="429@1:retry_after=0"),
        demeanor_toml='faults = ["500@2"]\n',
    )
    assert project.demeanor("validate", "evals/eval_cut.py").returncode == 0
    for options, after in (((), "500@2"), (("--fault", "503@2"), "503@2")):
        ran = project.demeanor("run", *options)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "cut@1" in ran.stdout
        found = {
            name: [event["detail"].partition(": ")[0] for event in found] for name, found in faults(project).items()
        }
        assert found == {
            "copes_with_a_cut trial-1": ["cut@1", after],
            "limited trial-1": ["429@1:retry_after=0", after],
        }


def test_probabilities_are_the_same_for_the_same_seed(project: Project) -> None:
    """Two runs with the same seed have the same faults, trial by trial."""
    project.write(evals__eval_note_py=EVAL)

    def broken() -> dict[str, list[dict[str, Any]]]:
        project.demeanor("run", "--fault", "429@40%:retry_after=0", "--seed", "7", "--trials", "4")
        return faults(project)

    first = broken()
    assert len(first) == 4
    assert len({len(found) for found in first.values()}) > 1
    assert first == broken()


@pytest.mark.parametrize(
    ("files", "options", "expected"),
    [
        ({}, ("--fault", "cutt@1"), "--fault: 'cutt@1': unknown kind of fault 'cutt'\n  → did you mean 'cut'?"),
        (
            {"demeanor_toml": 'faults = ["cut@0"]\n'},
            (),
            "demeanor.toml: faults[0]: 'cut@0': '0' does not select an exchange",
        ),
        (
            {"evals__x__scenario_toml": SCENARIO.format(rule="hang:a=1")},
            (),
            "scenario.toml: faults[0]: 'hang:a=1': hang has no options",
        ),
        (
            {"evals__eval_cut_py": EVALS.replace("cut@1", "cut@one")},
            (),
            "eval_cut.py:8: faults[0]: 'cut@one': 'one' does not select an exchange",
        ),
    ],
    ids=["command line", "configuration", "scenario", "decorator"],
)
def test_a_mistake_is_reported_before_anything_runs(
    project: Project, files: dict[str, str], options: tuple[str, ...], expected: str
) -> None:
    """With its place and the remedy."""
    project.write(**{"evals__eval_note_py": EVAL, **files})
    ran = project.demeanor("run", *options)
    assert ran.returncode == 2
    assert expected in ran.stderr
    assert not (project.folder / "results").exists()


def test_an_agent_without_the_gateway_is_skipped(project: Project) -> None:
    """The report says why."""
    config = 'subjects = ["mine"]\n[agents.mine]\nadapter = "command"\ncommand = ["true", "{prompt}"]\n'
    project.write(evals__eval_note_py=EVAL, demeanor_toml=config)
    ran = project.demeanor("run", "--fault", "cut@1")
    assert "no fault can be injected: mine does not reach its model through the gateway" in " ".join(ran.stdout.split())
    assert ran.returncode == 3, ran.stdout


def test_a_resumed_run_keeps_its_faults(project: Project) -> None:
    """The faults are part of the run's request."""
    project.write(evals__eval_note_py=EVAL)
    assert project.demeanor("run", "--fault", "500").returncode == 3
    ran = project.demeanor("run", "--resume", "latest")
    assert ran.returncode == 3
    assert "injected fault 500" in ran.stdout


def test_the_gateway_by_itself_can_inject_faults(project: Project) -> None:
    """For an agent that is started by hand."""
    command = project.command("gateway", "serve", "--fault", "429@1:retry_after=4")
    with subprocess.Popen(command, cwd=project.folder, env=project.env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = "".join(process.stderr.readline() for _ in range(5))
        found = re.search(r"OPENAI_BASE_URL=http://(\S+?)(/\S+)  OPENAI_API_KEY=(\S+)", said)
        assert found, said
        connection = http.client.HTTPConnection(found[1], timeout=300)
        body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "Hi."}]})
        statuses = []
        for _ in range(2):
            connection.request("POST", f"{found[2]}/chat/completions", body, {"Authorization": f"Bearer {found[3]}"})
            answer = connection.getresponse()
            statuses.append((answer.status, answer.headers["Retry-After"]))
            answer.read()
        connection.close()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    assert statuses == [(429, "4"), (200, None)]


def test_the_example_in_the_docs_works(project: Project) -> None:
    """The eval in docs/gateway.md validates and passes."""
    page = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text()
    project.write(evals__eval_page_py=page.partition("```python\n")[2].partition("```")[0])
    for command in (("validate",), ("run", "--policy", "all", "--trials", "1")):
        done = project.demeanor(*command)
        assert done.returncode == 0, done.stdout + done.stderr
