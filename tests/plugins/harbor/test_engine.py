"""Finding Harbor, and planning tasks for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from demeanor.config.config import Config, read_config
from demeanor.core.values.errors import UsageError
from demeanor.core.values.fault import parse_faults
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Plan
from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
from demeanor.plugins.harbor.environments.task_images import prepare_images, with_image_cache
from demeanor.plugins.harbor.format.task import harbor_task
from demeanor.plugins.harbor.program import find_harbor, harbor_problem
from demeanor.runner.catalog import Catalog
from demeanor.runner.engines import only_tasks, task_environment
from demeanor.runner.plan import plan_run
from tests.helpers.harbor_tasks import greet

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="hi")
def hi(rig, result):
    assert True
"""


def project(folder: Path, text: str = "") -> Config:
    """A project with one task and one eval of another kind."""
    greet(folder / "tasks" / "greet")
    (folder / "evals").mkdir(parents=True)
    (folder / "evals/eval_hi.py").write_text(EVAL)
    (folder / "demeanor.toml").write_text(text)
    return read_config(folder)


def planned(config: Config, *subjects: str, **options: object) -> Plan:
    """The plan of a run of all evals and tasks."""
    paths = (str(config.root / "tasks"), str(config.root / "evals"))
    request = RunRequest(paths=paths, subjects=subjects, policy="all", **options)  # type: ignore[arg-type]
    return plan_run(Catalog(config=config, environ={}), request, {})


def skipped(plan: Plan) -> dict[str, str]:
    """Why cells are skipped, by their ids."""
    return {cell.id: cell.skipped for cell in plan.cells if cell.skipped}


def test_tasks_are_planned_beside_other_evals(tmp_path: Path):
    """The agents oracle and nop run tasks only."""
    plan = planned(project(tmp_path), "native:scripted", "oracle", "nop", env="bubblewrap")
    assert skipped(plan) == {
        "hi/oracle": "oracle runs whole tasks only",
        "hi/nop": "nop runs whole tasks only",
    }
    assert not only_tasks(plan)


def test_tasks_are_selected_by_a_part_of_their_name(tmp_path: Path):
    """Evals that are not tasks are left out then."""
    config = project(tmp_path)
    plan = planned(config, "oracle", keyword="gre", env="bubblewrap")
    assert [cell.id for cell in plan.cells] == ["greet/oracle"]
    assert only_tasks(plan)
    assert task_environment(Catalog(config=config, environ={}), RunRequest(env="bubblewrap"), plan) == "bubblewrap"


def test_what_would_be_refused_is_skipped_with_the_reason(tmp_path: Path):
    """Before anything runs: what bubblewrap does not support, and `oracle` without a solution."""
    config = project(tmp_path)
    environment = tmp_path / "tasks/greet/environment"
    (environment / "Dockerfile").write_text("FROM a\nFROM b\n")
    reason = skipped(planned(config, "nop", env="bubblewrap"))["greet/nop"]
    assert reason.endswith("Dockerfile:2: FROM: multi-stage builds are not supported; use one FROM only")
    assert skipped(planned(config, "nop", keyword="greet", env="daytona")) == {}
    (tmp_path / "tasks/greet/solution/solve.sh").unlink()
    reasons = skipped(planned(config, "oracle", keyword="greet", env="daytona"))
    assert reasons == {"greet/oracle": "the task has no solution, which oracle would run"}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"environment/docker-compose.yaml": "services: {}\n"}, "does not support this file"),
        ({"environment/Dockerfile": "FROM a\nCOPY x /\n"}, "Dockerfile:2: COPY: there is no 'x' in "),
        (
            {"environment/Dockerfile": "", "task.toml": '[environment]\ndocker_image = "lab/none:1"\n'},
            "images pull lab/none",
        ),
        ({"task.toml": "[environment]\ngpus = 1\n"}, "environment.gpus: the bubblewrap environment has no GPUs"),
        (
            {"tests/Dockerfile": "FROM a\nVOLUME /x\n", "task.toml": '[verifier]\nenvironment_mode = "separate"\n'},
            "tests/Dockerfile:2: VOLUME: is not supported by the bubblewrap environment",
        ),
    ],
)
def test_every_refusal_is_foreseen(tmp_path: Path, files: dict[str, str], reason: str):
    """Also that of a separate verifier's environment."""
    config = project(tmp_path)
    for name, text in files.items():
        (tmp_path / "tasks/greet" / name).write_text(text)
        if not text:
            (tmp_path / "tasks/greet" / name).unlink()
    assert reason in skipped(planned(config, "nop", keyword="greet", env="bubblewrap"))["greet/nop"]


def test_images_that_are_missing_are_named(tmp_path: Path):
    """Unless this machine's programs are asked for."""
    config = project(tmp_path)
    tasks = [harbor_task(cell.eval) for cell in planned(config, "nop", keyword="greet", env="bubblewrap").cells]
    environ = {"DEMEANOR_CACHE": str(tmp_path / "cache")}
    for choice, notes in {"cached": 1, "host": 0}.items():
        environment = EnvironmentChoice(name="bubblewrap", kwargs={"images": choice})
        found = prepare_images(tasks, with_image_cache(environment, environ), environ)
        assert len(found) == notes
        assert not notes or found[0].startswith("Not in the cache of images: debian:12. ")


def test_an_agent_without_a_harbor_adapter_is_skipped(tmp_path: Path):
    """The reason says how to configure one."""
    config = project(tmp_path, '[agents.mine]\nadapter = "command"\ncommand = ["true", "{prompt}"]\n')
    reason = skipped(planned(config, "mine", env="bubblewrap"))["greet/mine"]
    assert reason.startswith("mine can't run tasks")
    assert "[harbor.agents.mine]" in reason


def test_a_task_whose_agent_cannot_reach_the_gateway_is_skipped(tmp_path: Path):
    """Unless `direct` allows it; with faults it is always skipped."""
    config = project(tmp_path)
    assert "harbor.gateway_host" in skipped(planned(config, "native:scripted", env="daytona"))["greet/native:scripted"]
    assert (
        "has no setting for a base URL"
        in skipped(planned(config, "cline:scripted", env="daytona"))["greet/cline:scripted"]
    )
    config.file.write_text("[harbor]\ndirect = true\n")  # type: ignore[union-attr]
    config = read_config(tmp_path)
    assert skipped(planned(config, "cline:scripted", env="daytona")) == {}
    faults = parse_faults(("429@1",), where="--fault")
    assert "greet/cline:scripted" in skipped(planned(config, "cline:scripted", env="daytona", faults=faults))
    config.file.write_text('[harbor]\ngateway_host = "here.example"\n')  # type: ignore[union-attr]
    assert skipped(planned(read_config(tmp_path), "native:scripted", env="daytona")) == {}


def test_an_agent_that_harbor_downloads_needs_a_network(tmp_path: Path):
    """An agent that is installed on this machine does not."""
    config = project(tmp_path)
    reason = skipped(planned(config, "opencode:scripted", "codex:scripted", "native:scripted", env="bubblewrap"))
    assert list(reason) == ["greet/opencode:scripted"]
    assert "--env docker" in reason["greet/opencode:scripted"]
    config = project(tmp_path / "open", '[harbor]\nenv_kwargs = { network = "host" }\n')
    assert skipped(planned(config, "opencode:scripted", env="bubblewrap")) == {}


def test_harbor_is_found_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The configured one, the one beside the running Python, the installed one, the one on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    config = project(tmp_path)
    environ = {"DEMEANOR_AGENTS": str(tmp_path / "agents")}
    assert find_harbor(config, environ) == ()
    assert "demeanor harbor install" in (harbor_problem(config, environ) or "")
    for place in ("path", "agents/harbor/0.24.0/bin", "bin"):
        program = tmp_path / place / "harbor"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        assert find_harbor(config, environ) == (str(program),)
    (tmp_path / "demeanor.toml").write_text('[harbor]\nprogram = ["./my", "harbor"]\n')
    assert find_harbor(read_config(tmp_path), environ) == (str(tmp_path / "my"), "harbor")


@pytest.mark.parametrize(
    ("version", "reason"),
    [("0.24.0", None), ("0.25.1", None), ("1.0.0", None), ("0.23.9", "Harbor 0.23.9 is too old")],
)
def test_an_old_harbor_is_refused(tmp_path: Path, version: str, reason: str | None):
    """By the version of its package."""
    program = tmp_path / "venv/bin/harbor"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / f"venv/lib/python3.12/site-packages/harbor-{version}.dist-info").mkdir(parents=True)
    config = project(tmp_path, f'[harbor]\nprogram = "{program}"\n')
    problem = harbor_problem(config, {})
    assert problem is None if reason is None else problem is not None and problem.startswith(reason)


def test_a_run_of_tasks_without_harbor_is_refused_before_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is written."""
    from demeanor.runner.assemble import open_sandbox

    config = project(tmp_path, '[harbor]\nprogram = "/nowhere/harbor"\n')
    plan = planned(config, "oracle", keyword="greet", env="bubblewrap")
    with pytest.raises(UsageError, match="does not report its version"):
        open_sandbox(config, RunRequest(), plan)
