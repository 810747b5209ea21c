"""The steps of a task as Harbor really runs them: what a step does not say, its task says, and then its environment."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.core.harbor_task import VERIFIER_TIMEOUT, TaskEnvironment, TaskNetwork, TaskStep
from demeanor.define.harbor.task_environment import EnvironmentTable
from demeanor.define.harbor.task_tables import PhaseTable, StepTable, VerifierTable

INSTRUCTION = "instruction.md"
_CANARY = re.compile(r"(<!--.*canary.*-->|#.*canary.*)", re.IGNORECASE)


def agent_machine(folder: Path, table: EnvironmentTable) -> TaskEnvironment:
    """Where the agent of the task in `folder` works."""
    machine = _machine(folder / "environment", table)
    if not machine.folder.is_dir():
        raise BadInput("there is no folder environment/", where=folder, remedy="put a Dockerfile into environment/")
    if not (machine.image or machine.dockerfile or machine.compose):
        remedy = "put a Dockerfile there, or name a docker_image under [environment]"
        raise BadInput("nothing says how the environment is made", where=machine.folder, remedy=remedy)
    return machine


def resolve_step(
    one: StepTable, folder: Path, *, machine: TaskEnvironment, agent: PhaseTable, verifier: VerifierTable
) -> TaskStep:
    """A step of the task in `folder`, of which `agent` and `verifier` are said for all of its steps."""
    home = folder / "steps" / one.name if one.name else folder
    own = one.verifier
    mode = own.mode or verifier.mode or "shared"
    judging = _verifier_machine(one, folder, machine, verifier) if mode == "separate" else None
    _refuse_unverified(one, folder, judging, machine)
    return TaskStep(
        name=one.name,
        instruction=_instruction(home / INSTRUCTION),
        agent_timeout=one.agent.timeout or agent.timeout,
        # A named step never inherits its task's limit here: so it is with Harbor, and a warning tells.
        verifier_timeout=own.timeout or (None if one.name else verifier.timeout) or VERIFIER_TIMEOUT,
        verifier_mode=mode,
        agent_network=one.agent.network or agent.network or machine.network,
        verifier_network=own.network or verifier.network or (judging or machine).network,
        verifier_environment=judging,
        min_reward=one.min_reward,
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
        cpus=table.cpus,
        memory_mb=table.memory_mb,
        storage_mb=table.storage_mb,
        gpus=table.gpus,
        workdir=table.workdir,
    )


def _verifier_machine(one: StepTable, folder: Path, machine: TaskEnvironment, task: VerifierTable) -> TaskEnvironment:
    """Where a separate verifier runs: the settings of the nearest table, the image of the nearest definition."""
    table = one.verifier.environment or task.environment
    settings = _machine(machine.folder, table) if table else machine
    for inner, tests in ((one.verifier.environment, _tests_of(one, folder)), (task.environment, folder / "tests")):
        found = replace(
            settings,
            folder=tests,
            image=inner.image if inner else None,
            dockerfile=(tests / "Dockerfile").is_file(),
            compose=(tests / "docker-compose.yaml").is_file(),
        )
        if found.image or found.dockerfile or found.compose:
            return found
    os = table.os if table and table.os else machine.os
    return replace(settings, image=machine.image, dockerfile=machine.dockerfile, compose=machine.compose, os=os)


def _tests_of(one: StepTable, folder: Path) -> Path:
    return folder / "steps" / one.name / "tests" if one.name else folder / "tests"


def _refuse_unverified(one: StepTable, folder: Path, judging: TaskEnvironment | None, machine: TaskEnvironment) -> None:
    """Refuse a step that nothing verifies; tests that are part of the verifier's own image need no script here."""
    if judging is not None and judging.folder != machine.folder:
        return
    places = dict.fromkeys((_tests_of(one, folder), folder / "tests"))
    if not any(_script(place, "test", judging or machine) for place in places):
        script = "test.bat" if (judging or machine).os == "windows" else "test.sh"
        expected = " or ".join((place / script).relative_to(folder).as_posix() for place in places)
        remedy = "write it so that it leaves /logs/verifier/reward.json"
        raise BadInput(f"nothing verifies the task: there is no {expected}", where=folder, remedy=remedy)


def _solution(home: Path, folder: Path, machine: TaskEnvironment) -> Path | None:
    """The oracle's script: a step's own, or the task's where the step has no folder for one."""
    own = home / "solution"
    return _script(own if own.is_dir() else folder / "solution", "solve", machine)


def _script(folder: Path, stem: str, machine: TaskEnvironment) -> Path | None:
    path = folder / f"{stem}{'.bat' if machine.os == 'windows' else '.sh'}"
    return path if path.is_file() else None


def _instruction(path: Path) -> str:
    """What the agent is asked, without the canary lines at its beginning, as Harbor hands it over."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except FileNotFoundError:
        remedy = "write what the agent is asked into it"
        raise BadInput(f"there is no {INSTRUCTION}", where=path.parent, remedy=remedy) from None
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
