"""The generated GitHub workflows, step by step: every night is kept whatever its verdict, and the gate uses them."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from tests.helpers.project import Project
from tests.helpers.workflow_runner import WorkflowRunner, write_programs

ACTION = Path(__file__).resolve().parents[2] / "action.yml"
NIGHTLY, PULL_REQUEST, FORK = "evals-nightly.yml", "evals-pull-request.yml", "evals-fork.yml"
EVALS = """\
from demeanor import USUALLY_PASSES, ALWAYS_PASSES, eval_test

def saves(stage):
    (stage.workspace / "a.txt").write_text("1")

@eval_test(ALWAYS_PASSES, prompt="write", passes_on=saves)
def writes(rig, result):
    assert rig.workspace["a.txt"].text == "1"
"""
PACKAGE = "demeanor @ git+https://git.example/acme/demeanor@0123456"
DOCTOR = "demeanor doctor --sandbox landlock"
GOOD, BAD = '["sh", "-c", "echo -n 1 > a.txt", "{prompt}"]', '["true", "{prompt}"]'
CONFIG = """\
subjects = ["mine"]
trials = 1
[agents.mine]
adapter = "command"
command = {command}
"""


class Repository:
    """A project with the generated workflows, on its default branch."""

    def __init__(self, project: Project) -> None:
        self.project = project
        project.demeanor("init", "--model", "openai/gpt-5-mini")
        self.fill_in_package(PACKAGE)
        self.remove_examples()
        project.write(evals__eval_writes_py=EVALS)
        self.git("init", "--quiet", "--initial-branch=main")
        self.runner = WorkflowRunner(
            repository=project.folder, home=project.folder.parent / "home", secrets={"OPENAI_API_KEY": "sk-0123456789"}
        )

    def remove_examples(self) -> None:
        """The evals that `demeanor init` writes."""
        for name in ("evals/eval_notes.py", "evals/create-file/scenario.toml"):
            (self.project.folder / name).unlink()

    def fill_in_package(self, package: str) -> None:
        """What pip installs in CI."""
        for path in (*self.project.folder.glob(".github/workflows/*"), *self.project.folder.glob(".gitlab/*")):
            text, count = re.subn('DEMEANOR_PACKAGE: ".*?"', f'DEMEANOR_PACKAGE: "{package}"', path.read_text())
            assert count == 1, path
            path.write_text(text)

    def git(self, *words: str) -> str:
        names = ("-c", "user.name=Ann", "-c", "user.email=ann@example.test")
        command = ["git", *names, *words]
        done = subprocess.run(command, cwd=self.project.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, config: str) -> None:
        (self.project.folder / "demeanor.toml").write_text(config)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "A change")

    def nights(self) -> int:
        """The number of runs in the newest history of the cache."""
        saved = sorted((self.runner.home / "cache").iterdir(), key=lambda one: one.stat().st_mtime_ns)
        with closing(sqlite3.connect(f"{saved[-1].as_uri()}?immutable=1", uri=True)) as database:
            (count,) = database.execute("SELECT count(*) FROM runs").fetchone()
        return int(count)


@pytest.fixture
def repository(project: Project) -> Repository:
    return Repository(project)


def test_a_push_that_changes_only_markdown_is_gated(repository: Repository):
    """Prompts are often Markdown files."""
    text = (repository.project.folder / ".github/workflows" / PULL_REQUEST).read_text()
    assert yaml.safe_load(text)[True]["push"] == {"branches": ["main"]}  # YAML reads the key `on` as True


def test_every_night_is_kept_whatever_its_verdict(repository: Repository) -> None:
    """Rejected nights too; a night that could not run adds nothing, and no older report is shown in its place."""
    for number, command in enumerate((BAD, GOOD), 1):
        repository.commit(CONFIG.format(command=command))
        night = repository.runner.run(NIGHTLY)
        assert night.success == (command == GOOD), night.log
        assert f"pip install {PACKAGE}\n" in night.log
        assert repository.nights() == number
        assert "writes" in night.summary
        assert night.steps["Save the history"] == "success"

    repository.commit("subjects = [1]\n")
    broken = repository.runner.run(NIGHTLY)
    assert not broken.success
    assert "did not take place" in broken.summary
    assert "writes" not in broken.summary
    assert broken.steps["Save the history"] == "skipped"
    assert repository.nights() == 2
    names = sorted(path.name for path in (repository.runner.home / "artifacts").iterdir())
    assert names == ["evals-nightly-1-1", "evals-nightly-2-1"]


def test_a_pull_request_is_gated_and_commented(repository: Repository) -> None:
    """The gate sees the nights, a bad change fails the job, and the comment job needs only the artifact."""
    repository.commit(CONFIG.format(command=GOOD))
    early = repository.runner.run(PULL_REQUEST)
    assert (early.success, "but the history has no night" in early.summary) == (False, True)
    assert repository.runner.run(NIGHTLY).success
    repository.git("checkout", "--quiet", "-b", "change")
    repository.commit(CONFIG.format(command=BAD))
    gated = repository.runner.run(PULL_REQUEST)
    assert not gated.success
    assert gated.steps["Validate the evals, without a model"] == "success"
    assert gated.steps["Decide"] == "failure"
    assert "writes" in gated.summary
    assert repository.nights() == 1  # a pull request does not write the history

    event = repository.runner.home / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    repository.runner.run_id -= 1  # another job of the same run
    unreachable = {"GITHUB_EVENT_PATH": str(event), "GITHUB_API_URL": "http://127.0.0.1:1"}
    commented = repository.runner.run(PULL_REQUEST, "comment", checkout=False, **unreachable)
    assert "GitHub can't be reached for the comment" in commented.log  # it found the summary without a checkout
    assert f"pip install {PACKAGE}\n" in commented.log


def test_a_night_and_a_gate_in_shards(repository: Repository) -> None:
    """The matrix of the repository's variable, and a last job that joins, reports and decides; a lost shard is red. One
    shard has no trial, as there are fewer trials than shards."""
    runner = repository.runner
    repository.commit(CONFIG.format(command=GOOD))
    for workflow in (NIGHTLY, PULL_REQUEST):
        job = yaml.safe_load((repository.project.folder / ".github/workflows" / workflow).read_text())["jobs"]["shards"]
        assert (job["if"], job["strategy"]["fail-fast"]) == ("${{ vars.EVALS_SHARDS }}", False)
    runner.variables["EVALS_SHARDS"] = '["1/2", "2/2"]'
    for workflow in (NIGHTLY, PULL_REQUEST):
        for runner.shard in ((0, "1/2"), (1, "2/2")):
            part = runner.run(workflow, "shards")
            assert part.success, part.log
            assert part.summary == ""
        whole = runner.run(workflow)
        assert whole.success, whole.log
        assert "writes" in whole.summary
        assert repository.nights() == 1
    shutil.rmtree(runner.home / "artifacts/evals-shard-1")
    lost = runner.run(PULL_REQUEST)
    assert lost.steps["Decide"] == "failure"
    assert "shard 2/2 is missing" in lost.summary


def test_without_a_key_the_evals_are_validated_and_a_notice_says_what_was_not_done(repository: Repository) -> None:
    """Forks, Dependabot and the first push have no keys; that is no reason to be red."""
    repository.commit(CONFIG.format(command=BAD))
    repository.runner.secrets.clear()
    ran = repository.runner.run(PULL_REQUEST)
    assert ran.success, ran.log
    assert ran.steps["Validate the evals, without a model"] == "success"
    assert "::notice title=Evals::nothing was gated, because this job has no OPENAI_API_KEY" in ran.log
    assert "writes" not in ran.summary


def test_a_fork_is_tested_with_the_evals_and_the_configuration_of_the_base(repository: Repository) -> None:
    """Its agent counts; the evals, configuration, workflows and links that it brings along do not."""
    script, config = repository.project.folder / "agent.sh", CONFIG.format(command='["sh", "./agent.sh", "{prompt}"]')
    script.write_text("echo -n 1 > a.txt\n")
    repository.commit(config)
    assert repository.runner.run(NIGHTLY).success
    repository.git("checkout", "--quiet", "-b", "fork")
    script.write_text("echo -n 2 > a.txt\n")
    repository.project.write(evals__eval_writes_py=EVALS.replace('== "1"', '== "2"'), results__demeanor_db="poisoned")
    repository.git("add", "--force", "results/demeanor.db")
    repository.commit(CONFIG.format(command=GOOD))
    repository.runner.head = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "--quiet", "main")
    assert repository.runner.run(FORK, "build").success
    judged = repository.runner.run(FORK)
    assert judged.steps["Decide"] == "failure", judged.log
    assert "'2' == '1'" in judged.summary


def test_a_job_fails_until_its_package_is_filled_in(repository: Repository) -> None:
    """With the names of the variable and the file, before anything is installed."""
    repository.fill_in_package("")
    repository.commit(CONFIG.format(command=GOOD))
    for workflow in (NIGHTLY, PULL_REQUEST):
        failed = repository.runner.run(workflow)
        assert failed.steps["Install Demeanor"] == "failure"
        assert f"DEMEANOR_PACKAGE: is empty; .github/workflows/{workflow} must say what pip installs" in failed.log
        assert "pip install " not in failed.log


def test_the_action_keeps_every_night_and_gates(repository: Repository) -> None:
    """The composite action of this repository, with the same rules."""
    for number, command in enumerate((GOOD, BAD), 1):
        repository.commit(CONFIG.format(command=command))
        night = repository.runner.run_action(ACTION, command="nightly", arguments="--trials 2 --subject mine")
        assert night.success == (command == GOOD), night.log
        assert repository.nights() == number
        assert f"pip install {ACTION.parent}\n" in night.log  # the commit of the action, which `uses` pins
    gated = repository.runner.run_action(ACTION, extras="local,s3")
    assert f"pip install {ACTION.parent}[local,s3]\n" in gated.log
    assert (gated.success, gated.steps["Save the history"]) == (False, "skipped")
    assert "writes" in gated.summary
    wrong = repository.runner.run_action(ACTION, command="rm -rf /")
    assert "is not gate, nightly or run" in wrong.log
    assert repository.nights() == 2


def test_arguments_of_the_action_are_split_as_in_a_shell(repository: Repository) -> None:
    """Quotes keep spaces, a new line separates as a space does, and an open quote runs nothing."""
    repository.commit(CONFIG.format(command=GOOD))
    ran = repository.runner.run_action(ACTION, command="run", arguments="--policy all\n-k 'writes and not reads'\n")
    assert ran.success, ran.log
    none = repository.runner.run_action(ACTION, command="run", arguments="--policy all -k 'reads and not writes'")
    assert "nothing-to-run" in none.log
    wrong = repository.runner.run_action(ACTION, command="run", arguments="-k 'writes")
    assert "No closing quotation" in wrong.log
    assert wrong.steps["Run"] == "failure"


def test_gitlab_jobs_run_where_bubblewrap_does_not_work(repository: Repository) -> None:
    """As in the containers of GitLab's runners: each line of the script in order, until one fails."""
    project = repository.project
    project.demeanor("init", "--ci", "gitlab")
    repository.fill_in_package(PACKAGE)
    repository.remove_examples()
    repository.commit(CONFIG.format(command=GOOD))
    jobs = yaml.safe_load((project.folder / ".gitlab/evals.yml").read_text())
    temporary = Path(tempfile.mkdtemp(prefix="gitlab-"))
    temporary.chmod(0o755)  # landlock runs agents as another user when root starts it, as in a container
    tools = temporary / "tools"
    tools.mkdir()
    for name in ("bash", "sh", "git", "env", "echo", "true", "grep"):
        (tools / name).symlink_to(shutil.which(name) or "")
    write_programs(tools, f"{tools}/sh")
    assert DOCTOR in jobs[".evals"]["before_script"]
    checked = project.demeanor(*DOCTOR.split()[1:], PATH=str(tools), TMPDIR=str(temporary))
    assert "ok       sandbox landlock " in checked.stdout, checked.stderr
    variables = {"DEMEANOR_PACKAGE": jobs[".evals"]["variables"]["DEMEANOR_PACKAGE"], "CI_DEFAULT_BRANCH": "main"}
    repository.git("remote", "add", "origin", str(project.folder))
    for command, ended in ((GOOD, 0), (BAD, 1)):
        repository.commit(CONFIG.format(command=command))
        for job in ("evals-nightly", "evals-gate"):
            lines = [*jobs[".evals"]["before_script"], *jobs[job]["script"]]
            lines = [line for line in lines if not line.startswith(("demeanor models", DOCTOR))]
            done = subprocess.run(
                [str(tools / "bash"), "-e", "-o", "pipefail", "-c", "\n".join(lines)], cwd=project.folder,
                env={**project.env, **variables, "PATH": str(tools), "TMPDIR": str(temporary)}, capture_output=True,
                text=True, timeout=600, check=False,
            )  # fmt: skip
            assert done.returncode == ended, f"{job}\n{done.stdout}\n{done.stderr}"
    shutil.rmtree(temporary)


def test_the_history_is_saved_and_restored_under_the_same_name(repository: Repository) -> None:
    workflows = Path(repository.project.folder, ".github/workflows")
    for name in (NIGHTLY, PULL_REQUEST):
        assert "restore-keys: evals-history-\n" in (workflows / name).read_text()
    assert "pull_request_target" not in (workflows / PULL_REQUEST).read_text()
