"""Writing tasks: `validate`, `run`; and exporting an eval as a Harbor task.

Harbor takes seconds of CPU time for each trial, so it is started for what only Harbor can show, and once where it can
run several tasks.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from demeanor.define.discovery import discover
from tests.helpers.harbor_engine import PROGRAM, needs_harbor
from tests.helpers.harbor_task_files import MINIMAL, task
from tests.helpers.harbor_tasks import engine
from tests.helpers.project import LONGEST, Project

ROOT = Path(__file__).parents[2]
TASKS = ROOT / "examples" / "tasks"
GREETS = """
policy = "USUALLY_PASSES"
prompt = "Make app.py greet whom settings.json names, and delete old.txt."
files = { "app.py" = "", "old.txt" = "", "settings.json" = '{"name": "Ann"}', "src/keep.py" = "x = 1" }
checks = [
  { check = "command_succeeds", argv = ["python3", "app.py"], stdout_contains = "Hello, Ann" },
  { check = "json_path", path = "settings.json", json_path = "name", value = "Ann" },
  { check = "file_matches", path = "app.py", pattern = "^import json" },
  { check = "file_absent", path = "old.txt" },
  { check = "unchanged_except", patterns = ["*.py", "old.txt"] },
]

[passes_on]
files = { "app.py" = "import json\\nprint('Hello,', json.load(open('settings.json'))['name'])\\n" }
delete = ["old.txt"]
"""
PACKAGER = """
import pathlib, sys
from harbor.publisher.packager import Packager
for folder in sys.argv[1:]:
    print(Packager.compute_content_hash(pathlib.Path(folder))[0])
"""


@pytest.fixture
def with_harbor(project: Project) -> Project:
    """A project that uses the real Harbor."""
    project.write(demeanor_toml=f'[harbor]\nprogram = "{PROGRAM}"\nenv = "bubblewrap"\n')
    return project


def test_a_task_can_be_listed_and_planned(project: Project):
    """Without Harbor."""
    task(project.folder / "tasks/greet")
    (listed,) = json.loads(project.demeanor("validate", "--list", "tasks", "--json").stdout)
    assert listed["task"]["name"] == "lab/greet"
    planned = project.demeanor("run", "tasks", "--policy", "all", "--subject", "oracle", "--trials", "2", "--dry-run")
    assert "2 x 60 s" in planned.stdout


def test_a_dry_run_foresees_that_tasks_cant_run(project: Project):
    """Without Harbor, and on a cluster; not if all of them are skipped."""
    project.write(demeanor_toml='[harbor]\nprogram = "./no-harbor"\n')
    task(project.folder / "tasks/greet")
    words = ("run", "tasks", "--policy", "all", "--env", "bubblewrap", "--dry-run")
    for more, problem in {
        ("--subject", "nop"): "does not report its version",
        ("--subject", "nop", "--on", "2"): "tasks of harbor run on this machine only",
        ("--subject", "goose:scripted"): "",
    }.items():
        planned = project.demeanor(*words, *more)
        assert planned.returncode == 0, planned.stderr
        refused = "demeanor: the run itself would be refused: "
        assert (refused in planned.stderr, problem in planned.stderr) == (bool(problem), True), planned.stderr


def test_tasks_that_were_not_run_are_reported_as_such(project: Project):
    """Without Harbor there is a message, and --strict fails."""
    project.write(demeanor_toml='[harbor]\nprogram = "./no-harbor"\n')
    task(project.folder / "tasks/greet")
    for words in (("tasks",), ("tasks", "--static")):
        shown = project.demeanor("validate", *words)
        assert shown.returncode == 0
        assert "read   greet  not run" in shown.stdout
        assert "NOT RUN, so nothing is proven" in shown.stderr
    assert project.demeanor("validate", "tasks", "--strict").returncode == 1


def test_static_faults_of_a_task_are_reported(project: Project):
    """A visible answer, a warning, and a misspelt key."""
    folder = task(project.folder / "tasks" / "greet", "", **{"environment/hi.sh": "echo hello > hi.txt\n"})
    shown = project.demeanor("validate", "tasks", "--static")
    assert shown.returncode == 1
    assert "FAULT  greet" in shown.stdout
    assert "revealed: environment/hi.sh is solution/solve.sh" in shown.stdout
    assert "warning: greet: the verifier shares the agent's environment" in shown.stdout
    (folder / "task.toml").write_text(MINIMAL.replace("timeout_sec", "timeout_secs"))
    shown = project.demeanor("validate", "tasks", "--static")
    assert shown.returncode == 2
    assert "tasks/greet/task.toml: agent.timeout_secs: unknown key\n  → did you mean 'timeout_sec'?" in shown.stderr


def test_a_task_that_would_be_refused_is_not_run(project: Project):
    """`validate` says why, with and without --static; in an environment that can run it, it is not reported."""
    task(project.folder / "tasks" / "greet", **{"environment/docker-compose.yaml": "services: {}\n"})
    project.write(demeanor_toml=f'[harbor]\nprogram = "{PROGRAM}"\n')
    for words in (("--static",), ("--repeat", "1")) if PROGRAM.exists() else (("--static",),):
        shown = project.demeanor("validate", "tasks", "--env", "bubblewrap", *words)
        assert shown.returncode == 1
        assert "FAULT  greet  0 rehearsals" in shown.stdout
        assert "refused: it can't run in the environment bubblewrap (choose another one with --env): " in shown.stdout
    assert project.demeanor("validate", "tasks", "--env", "daytona", "--static").returncode == 0


def test_an_eval_that_harbor_cant_check_is_refused(project: Project):
    """With each reason; --partial leaves these checks out."""
    project.demeanor("init")
    scenario = project.folder / "evals/create-file/scenario.toml"
    scenario.write_text(scenario.read_text() + '\n[[checks]]\ncheck = "tool_used"\nkind = "edit"\n')
    shown = project.demeanor("harbor", "export", "create-file")
    assert shown.returncode == 2
    assert "- tool_used: needs the trajectory" in shown.stderr
    shown = project.demeanor("harbor", "export", "create-file", "--partial", "--output", "out")
    assert "left out: tool_used" in shown.stdout
    (one,) = discover([project.folder / "out"])
    assert one.task is not None
    assert (one.task.name, one.task.warnings) == ("local/create-file", ())
    shown = project.demeanor("harbor", "export", "evals/eval_notes.py::saves_the_note")
    assert "the function saves_the_note: is a Python function that needs the rig" in shown.stderr


@needs_harbor
def test_a_task_is_validated_and_run(with_harbor: Project):
    """`validate` runs its solution, which passes; then doing nothing fails."""
    shutil.copytree(TASKS / "fix-failing-test", with_harbor.folder / "tasks/fix-failing-test")
    shown = with_harbor.demeanor("validate", "tasks", "--repeat", "1", "--strict")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "ok     fix-failing-test  2 rehearsals" in shown.stdout
    assert "fix-failing-test: oracle 1 of 1" in shown.stderr
    words = ("--policy", "all", "--trials", "1", "--subject", "nop", "--json")
    (cell,) = json.loads(with_harbor.demeanor("run", "tasks", *words).stdout)["cells"]
    assert (cell["tally"]["subject"], cell["tally"]["failed"]) == ("nop", 1)


def test_faults_of_a_task_are_reported(project: Project):
    """A solution that fails, a task that passes by doing nothing, a random verifier, one without a reward, no solution,
    and a network that is not declared; with a program in place of Harbor."""
    rewards = {
        "reversed": "[ $1 = nop ]; echo $((! $?))",
        "dice": "echo $$",
        "silent": "true",
        "unsolved": "echo 0",
        "online": "grep -q no-network task.toml && echo 0 || echo 1",
    }
    program = engine(project.folder / "engine", 'cd "$task" && sh rewards.sh "$agent"')
    project.write(demeanor_toml=f'[harbor]\nprogram = "{program}"\nenv = "bubblewrap"\n')
    for name, script in rewards.items():
        toml = MINIMAL.replace("greet", name)
        task(project.folder / "tasks" / name, f'artifacts = ["/app"]\n{toml}', **{"rewards.sh": f"{script}\n"})
    (project.folder / "tasks/unsolved/solution/solve.sh").unlink()
    shown = project.demeanor("validate", "tasks", "--repeat", "2")
    assert shown.returncode == 1
    assert "impossible: the solution gets reward 0" in shown.stdout
    assert "vacuous: doing nothing gets reward 1, which passes" in shown.stdout
    assert "crashed: the solution: " in shown.stdout
    assert "ok     unsolved  2 rehearsals\n       unproven: there is no solution" in shown.stdout
    shown = project.demeanor("validate", "tasks/dice", "tasks/online", "--repeat", "2", "--json")
    dice, online = json.loads(shown.stdout)["evals"]
    assert "unstable" in [complaint["fault"] for complaint in dice["complaints"]]
    assert ([complaint["fault"] for complaint in online["complaints"]], online["rehearsed"]) == (["network"], 5)


@needs_harbor
def test_stock_harbor_runs_the_example_tasks_and_an_exported_task(with_harbor: Project):
    """Without our commands, in one job: the solution of each gets 1, and doing nothing 0. Every check that was exported
    has its key."""
    with_harbor.write(evals__greets__scenario_toml=GREETS)
    shutil.copytree(TASKS, with_harbor.folder / "out")
    done = with_harbor.demeanor("harbor", "export", "greets", "--output", "out")
    assert done.returncode == 0, done.stderr
    rewards = _stock(with_harbor)
    names = {name for _, name in rewards}
    assert len(names) == 4
    assert {name: rewards["oracle", name]["reward"] for name in names} == dict.fromkeys(names, 1.0)
    assert {name: rewards["nop", name]["reward"] for name in names} == dict.fromkeys(names, 0.0)
    solved, idle = rewards["oracle", "greets"], rewards["nop", "greets"]
    assert solved == dict.fromkeys(solved, 1.0)
    assert len(solved) == 6
    assert idle["unchanged_except"] == 1.0
    assert solved.keys() == idle.keys()


def _stock(project: Project) -> dict[tuple[str, str], dict[str, float]]:
    """The rewards of a job of stock Harbor, by agent and task."""
    project.write(job_json='{"agents": [{"name": "oracle"}, {"name": "nop"}]}')
    environment = "demeanor.plugins.harbor.inside:BubblewrapEnvironment"
    words = [PROGRAM, "run", "-p", "out", "-c", "job.json", "--env", environment, "-o", "jobs", "-n", "2", "-y", "-q"]
    quiet = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    subprocess.run(
        words, cwd=project.folder, env={**project.env, **quiet}, check=True, capture_output=True, timeout=LONGEST
    )
    results = [json.loads(path.read_text()) for path in (project.folder / "jobs").glob("*/*/result.json")]
    assert [result["exception_info"] for result in results if result["verifier_result"] is None] == []
    return {
        (result["agent_info"]["name"], result["task_name"].rpartition("/")[2]): result["verifier_result"]["rewards"]
        for result in results
    }


def test_the_example_tasks_have_no_faults_and_no_warnings(project: Project):
    """Their rewards are tested with Harbor, above."""
    shown = project.demeanor("validate", str(TASKS), "--static", "--env", "bubblewrap")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert len([line for line in shown.stdout.splitlines() if line.startswith("read ")]) == 3
    assert "warning" not in shown.stdout


@needs_harbor
def test_a_digest_is_the_one_that_harbor_calculates():
    """So that the pins of a dataset can be compared."""
    folders = sorted(TASKS.iterdir())
    done = subprocess.run(
        [PROGRAM.with_name("python"), "-c", PACKAGER, *folders], capture_output=True, text=True, check=True
    )
    evals = [eval_ for folder in folders for eval_ in discover([folder])]
    assert [f"sha256:{line}" for line in done.stdout.split()] == [eval_.task.digest for eval_ in evals if eval_.task]
    assert len(evals) == 3
