"""Where a task runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.plugins.harbor.environments.choice import EnvironmentChoice, engine_problem, task_environment
from demeanor.plugins.harbor.rules import HarborRules


@pytest.fixture(autouse=True)
def only_what_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """PATH holds nothing but what a test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    engine_problem.cache_clear()
    yield
    engine_problem.cache_clear()


def engine(folder: Path, name: str, code: int) -> None:
    """A container engine that answers, or not."""
    program = folder / name
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)


def test_without_an_engine_it_is_bubblewrap_and_says_so():
    """Never silently."""
    place = task_environment(None, HarborRules())
    assert (place.name, place.ours) == ("bubblewrap", True)
    assert "No container engine works with Harbor here" in place.notes[0]
    assert task_environment("bubblewrap", HarborRules()).notes == ()


def test_an_engine_that_answers_is_used(tmp_path: Path):
    """Docker before podman."""
    engine(tmp_path, "podman", 0)
    (tmp_path / "podman").write_text("#!/bin/sh\necho --detach\n")
    assert task_environment(None, HarborRules()).name == "podman"
    engine_problem.cache_clear()
    engine(tmp_path, "docker", 0)
    place = task_environment(None, HarborRules(pass_env=("MY_REGISTRY",)))
    assert (place.name, place.notes) == ("docker", ())
    assert {"DOCKER_HOST", "MY_REGISTRY"} <= set(place.pass_env)


def test_an_engine_without_compose_is_no_use_to_harbor(tmp_path: Path):
    """It answers, and yet every trial would end with an error."""
    engine(tmp_path, "podman", 0)
    (tmp_path / "podman").write_text('#!/bin/sh\ntest "$1" = info || { echo no such command >&2; exit 125; }\n')
    assert task_environment(None, HarborRules()).name == "bubblewrap"
    with pytest.raises(UsageError, match="neither `podman compose` nor podman-compose works"):
        task_environment("podman", HarborRules())
    for text, problem in {
        "--detach": "`podman compose ls` failed",
        "nothing": "too old: it has no option --in-pod",
    }.items():
        engine_problem.cache_clear()
        engine(tmp_path, "podman-compose", 0)
        (tmp_path / "podman").write_text(f'#!/bin/sh\necho {text}; test "$1" = info || test "$4" = --help\n')
        with pytest.raises(UsageError, match=problem):
            task_environment("podman", HarborRules())


def test_podman_compose_will_do_for_podman(tmp_path: Path):
    """As for Harbor: podman 4.3 has no `compose` of its own."""
    (tmp_path / "podman").write_text('#!/bin/sh\ntest "$1" = info\n')
    (tmp_path / "podman-compose").write_text("#!/bin/sh\necho usage: podman-compose [--in-pod in_pod]\n")
    for name in ("podman", "podman-compose"):
        (tmp_path / name).chmod(0o755)
    assert task_environment("podman", HarborRules()).name == "podman"


def test_what_is_asked_for_by_name_is_had_or_refused(tmp_path: Path):
    """There is no falling back."""
    with pytest.raises(UsageError, match="docker is not on PATH"):
        task_environment("docker", HarborRules())
    engine_problem.cache_clear()
    engine(tmp_path, "docker", 1)
    with pytest.raises(UsageError, match="`docker info` failed: no error message"):
        task_environment(None, HarborRules(env="docker"))
    with pytest.raises(UnknownName, match="did you mean 'daytona'"):
        task_environment("datona", HarborRules())
    assert task_environment("daytona", HarborRules()).pass_env[0] == "DAYTONA_API_KEY"
    assert task_environment("mine:Environment", HarborRules()).name == "mine:Environment"


def test_harbor_sees_what_its_engine_needs_of_this_machine_and_nothing_else(tmp_path: Path):
    """Its HOME is its own, so what an engine keeps in the user's is named; what the user has named goes first."""
    (tmp_path / ".docker").mkdir()
    environ = {"HOME": str(tmp_path), "DOCKER_HOST": "tcp://far", "AWS_SECRET_ACCESS_KEY": "x", "MINE": "1"}
    docker = EnvironmentChoice(name="docker", pass_env=("DOCKER_HOST", "MINE"))
    assert docker.variables(environ) == {
        "DOCKER_HOST": "tcp://far",
        "MINE": "1",
        "DOCKER_CONFIG": f"{tmp_path}/.docker",
    }
    assert docker.variables({**environ, "DOCKER_CONFIG": "/else"})["DOCKER_CONFIG"] == "/else"
    assert EnvironmentChoice(name="bubblewrap").variables(environ) == {}
    assert EnvironmentChoice(name="modal").variables(environ) == {}
    assert EnvironmentChoice(name="podman").variables(environ)["HOME"] == str(tmp_path)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ('Error: default OCI runtime "crun" not found: invalid argument', "install a container runtime"),
        ("Error: could not find a working conmon binary", "start podman"),
        ("Error: cannot set up newuidmap", "give your user a range of ids"),
    ],
)
def test_the_remedy_for_podman_fits_its_error(tmp_path: Path, error: str, remedy: str):
    """Starting it does not help if a setting is missing."""
    (tmp_path / "podman").write_text(f"#!/bin/sh\necho '{error}' >&2; exit 125\n")
    (tmp_path / "podman").chmod(0o755)
    with pytest.raises(UsageError) as found:
        task_environment("podman", HarborRules())
    assert [line.strip() for line in str(found.value).splitlines()][1].startswith(f"→ {remedy}")
    assert "→ or use --env bubblewrap" in str(found.value)


RUN_ERRORS = {
    "runc: error setting rlimit type 7: operation not permitted": "set default_ulimits",
    "crun: unknown cgroup path": "crun does not support this machine's control groups",
    "exec: no such file: OCI runtime attempted to invoke a command that was not found": None,
    "unknown flag: --rootfs": None,
}


@pytest.mark.parametrize(("error", "remedy"), RUN_ERRORS.items())
def test_podman_that_cant_start_containers_is_refused_once(tmp_path: Path, error: str, remedy: str | None):
    """Before any task runs, if the error has a known remedy; that a container has no such program is expected."""
    code = 127 if "not found" in error else 126
    run = f'echo "$@" > {tmp_path}/run; echo "{error}" >&2; exit {code}'
    (tmp_path / "podman").write_text(f'#!/bin/sh\necho --detach; test "$1" != run || {{ {run}; }}\n')
    (tmp_path / "podman").chmod(0o755)
    if remedy is None:
        assert task_environment("podman", HarborRules()).name == "podman"
    else:
        with pytest.raises(UsageError, match=f"podman can't start containers: .*\n  → {remedy}"):
            task_environment("podman", HarborRules())
        assert task_environment(None, HarborRules()).name == "bubblewrap"
    words = (tmp_path / "run").read_text().split()
    assert words[:5] == ["run", "--rm", "--network", "none", "--rootfs"]
    assert not Path(words[5]).exists(), "its empty root file system is removed"


def test_the_remedy_for_a_missing_engine_is_to_install_it(tmp_path: Path):
    """As for a missing `compose`."""
    with pytest.raises(UsageError, match="→ install docker\n  → or use --env bubblewrap"):
        task_environment("docker", HarborRules())
    (tmp_path / "podman").write_text('#!/bin/sh\ntest "$1" = info\n')
    (tmp_path / "podman").chmod(0o755)
    with pytest.raises(UsageError, match="→ pip install podman-compose\n  → or use --env bubblewrap"):
        task_environment("podman", HarborRules())
