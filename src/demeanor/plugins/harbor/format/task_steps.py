"""The steps of a task with all defaults resolved as Harbor does: from the step, the task, then the environment."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.format.task import VERIFIER_TIMEOUT, TaskEnvironment, TaskNetwork, TaskStep
from demeanor.plugins.harbor.format.task_environment import EnvironmentTable
from demeanor.plugins.harbor.format.task_tables import StepTable, VerifierTable

INSTRUCTION = "instruction.md"
_CANARY = re.compile(r"(<!--.*canary.*-->|#.*canary.*)", re.IGNORECASE)


def agent_machine(folder: Path, table: EnvironmentTable) -> TaskEnvironment:
    """The environment of the agent of the task in `folder`."""
    machine = _machine(folder / "environment", table)
    if not machine.folder.is_dir():
        raise BadInput("the folder environment/ is missing", where=folder, remedy="put a Dockerfile into environment/")
    if not (machine.image or machine.dockerfile or machine.compose):
        remedy = "put a Dockerfile there, or set docker_image under [environment]"
        raise BadInput("the environment has neither a Dockerfile nor an image", where=machine.folder, remedy=remedy)
    return machine


def resolve_step(
    table: StepTable, folder: Path, *, machine: TaskEnvironment, agent_timeout: float | None, verifier: VerifierTable
) -> TaskStep:
    """A step of the task in `folder`; `agent_timeout` and `verifier` apply to all of its steps."""
    home = folder / "steps" / table.name if table.name else folder
    own = table.verifier
    mode = own.mode or verifier.mode or "shared"
    verifier_machine = _verifier_machine(table, folder, machine, verifier) if mode == "separate" else None
    _require_verifier(table, folder, verifier_machine, machine)
    return TaskStep(
        name=table.name,
        instruction=_instruction(home / INSTRUCTION),
        agent_timeout=table.agent_timeout or agent_timeout,
        # As in Harbor, a named step does not inherit its task's limit; there is a warning for this.
        verifier_timeout=own.timeout or (None if table.name else verifier.timeout) or VERIFIER_TIMEOUT,
        verifier_mode=mode,
        verifier_network=own.network or verifier.network or (verifier_machine or machine).network,
        verifier_environment=verifier_machine,
        min_reward=table.min_reward,
        solution=_solution(home, folder, machine),
    )


def _machine(folder: Path, table: EnvironmentTable) -> TaskEnvironment:
    return TaskEnvironment(
        folder=folder,
        image=table.image,
        dockerfile=(folder / "Dockerfile").is_file(),
        compose=(folder / "docker-compose.yaml").is_file(),
        os=table.os or "linux",
        network=table.network or TaskNetwork(declared=False),
        build_timeout=table.build_timeout,
        gpus=table.gpus,
    )


def _verifier_machine(
    own_step: StepTable, folder: Path, machine: TaskEnvironment, task: VerifierTable
) -> TaskEnvironment:
    """The environment of a separate verifier: settings of the nearest table, image of the nearest definition."""
    table = own_step.verifier.environment or task.environment
    settings = _machine(machine.folder, table) if table else machine
    for inner, tests in (
        (own_step.verifier.environment, _tests_of(own_step, folder)),
        (task.environment, folder / "tests"),
    ):
        step = replace(
            settings,
            folder=tests,
            image=inner.image if inner else None,
            dockerfile=(tests / "Dockerfile").is_file(),
            compose=(tests / "docker-compose.yaml").is_file(),
        )
        if step.image or step.dockerfile or step.compose:
            return step
    os = table.os if table and table.os else machine.os
    return replace(settings, image=machine.image, dockerfile=machine.dockerfile, compose=machine.compose, os=os)


def _tests_of(table: StepTable, folder: Path) -> Path:
    return folder / "steps" / table.name / "tests" if table.name else folder / "tests"


def _require_verifier(table: StepTable, folder: Path, own: TaskEnvironment | None, machine: TaskEnvironment) -> None:
    """Reject a step without a verifier; tests that are part of the verifier's own image need no script."""
    if own is not None and own.folder != machine.folder:
        return
    folders = dict.fromkeys((_tests_of(table, folder), folder / "tests"))
    if not any(_script(tests, "test", own or machine) for tests in folders):
        script = "test.bat" if (own or machine).os == "windows" else "test.sh"
        expected = " or ".join((tests / script).relative_to(folder).as_posix() for tests in folders)
        remedy = "write a script that creates /logs/verifier/reward.json"
        raise BadInput(f"the task has no verifier: {expected} is missing", where=folder, remedy=remedy)


def _solution(home: Path, folder: Path, machine: TaskEnvironment) -> Path | None:
    """The script of the reference solution: the step's own, or the task's if the step has no `solution/`."""
    own = home / "solution"
    return _script(own if own.is_dir() else folder / "solution", "solve", machine)


def _script(folder: Path, stem: str, machine: TaskEnvironment) -> Path | None:
    path = folder / f"{stem}{'.bat' if machine.os == 'windows' else '.sh'}"
    return path if path.is_file() else None


def _instruction(path: Path) -> str:
    """The instruction without the canary lines at its beginning, as Harbor passes it to the agent."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except FileNotFoundError:
        remedy = "write what the agent is asked into it"
        raise BadInput(f"{INSTRUCTION} is missing", where=path.parent, remedy=remedy) from None
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=path) from None
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=path) from None
    while lines and _CANARY.fullmatch(lines[0].strip()):
        lines.pop(0)
    text = "\n".join(lines).lstrip("\n")
    if not text.strip():
        raise BadInput("is empty", where=path, remedy="write what the agent is asked")
    return text
