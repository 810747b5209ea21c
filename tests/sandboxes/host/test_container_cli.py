"""The arguments of container engines, and errors when one does not work. No engine is needed here."""

from __future__ import annotations

import io
import itertools
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.core.values.errors import WorldError
from demeanor.core.values.sandbox_spec import Ceilings
from demeanor.sandboxes.host.container_cli import (
    ContainerEngine,
    ContainerSpec,
    EngineName,
    container_user,
    ensure_image,
    find_engine,
    run_arguments,
)

SPEC = ContainerSpec(
    name="demeanor-1",
    image="empty:1",
    user="4711:4712",
    network="gateway",
    ceilings=Ceilings(processes=9, disk=1000, memory=2000),
    mounts={"/usr": "/usr", "/etc": "/tmp/x/etc"},
)


def engine(name: EngineName, *, rootless: bool = False) -> ContainerEngine:
    """An engine that is never run."""
    return ContainerEngine(name=name, path=f"/usr/bin/{name}", version="1", rootless=rootless)


def pairs(words: list[str]) -> set[tuple[str, str]]:
    """Options with their values."""
    return set(itertools.pairwise(words))


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_a_container_has_nothing_that_it_does_not_need(name: EngineName) -> None:
    """No network, no capability, nothing to write on but a disk of limited size, and hard limits."""
    words = run_arguments(engine(name), SPEC, ("program", "--network"))
    assert words[-3:] == ["empty:1", "program", "--network"]
    options = words[: words.index("empty:1")]
    assert {
        ("--network", "none"),
        ("--cap-drop", "ALL"),
        ("--security-opt", "no-new-privileges"),
        ("--user", "4711:4712"),
        ("--pids-limit", "9"),
        ("--memory", "3000b"),
        ("--memory-swap", "3000b"),
        ("--ipc", "private"),
        ("--pull", "never"),
        ("--mount", "type=bind,source=/usr,target=/usr,readonly"),
        ("--mount", "type=bind,source=/tmp/x/etc,target=/etc,readonly"),
        ("--tmpfs", "/sandbox:rw,exec,nosuid,nodev,size=1000"),
        ("--tmpfs", "/tmp:rw,exec,nosuid,nodev,size=1000"),
    } <= pairs(options)
    assert {"--read-only", "--rm", "--detach"} <= set(options)
    assert not {"--privileged", "--cap-add", "--pid", "--device", "--volume", "-v"} & set(options)
    assert sum(word == "--network" for word in options) == 1
    assert all(value.endswith(",readonly") for option, value in pairs(options) if option == "--mount")
    host = run_arguments(engine(name), replace(SPEC, network="host"), ("program",))
    assert ("--network", "host") in pairs(host)


def test_the_engines_differ_in_few_words() -> None:
    """Options that only podman knows are passed to podman alone: docker would refuse them."""
    docker = set(run_arguments(engine("docker"), SPEC, ("x",)))
    podman = set(run_arguments(engine("podman"), SPEC, ("x",)))
    assert docker - podman == set()
    assert podman - docker == {"--read-only-tmpfs=false", "--passwd=false", "--no-hosts"}
    rootless = set(run_arguments(engine("podman", rootless=True), SPEC, ("x",)))
    assert rootless - podman == {"--userns", "keep-id"}


def test_no_container_runs_as_root_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """If we are root, agents run as an unused uid; else as our user, which rootless docker calls 0."""
    monkeypatch.setattr("os.getuid", lambda: 1234)
    monkeypatch.setattr("os.getgid", lambda: 56)
    assert container_user(engine("docker"), 4711) == container_user(engine("podman"), 4711) == (4711, 4711)
    assert container_user(engine("docker"), None) == container_user(engine("podman", rootless=True), None) == (1234, 56)
    assert container_user(engine("docker", rootless=True), None) == (0, 0)


@pytest.mark.parametrize("path", ["/a,b", '/a"b', "/a\nb"])
def test_a_path_that_would_be_read_as_more_is_refused(path: str) -> None:
    """An engine splits option values at commas."""
    with pytest.raises(WorldError, match="container engines can't mount a path"):
        run_arguments(engine("docker"), replace(SPEC, mounts={path: "/x"}), ("x",))


def program(folder: Path, name: str, script: str) -> None:
    """A program that plays an engine."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", ["docker", "podman"])
def test_an_engine_that_does_not_answer_is_an_error(
    name: EngineName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not there; it fails; it says nothing."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path, name, "echo 'Error: is the daemon running?' >&2; exit 1")
    with pytest.raises(WorldError, match="is installed, but does not work: is the daemon running"):
        find_engine(name)
    program(tmp_path, name, "true")
    with pytest.raises(WorldError, match="is installed, but does not work: exit code 0 without a message"):
        find_engine(name)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(WorldError, match=f"{name} is not on PATH"):
        find_engine(name)


def test_who_answers_says_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version, and whether it is an ordinary user's."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path, "docker", "echo '28.1 [name=seccomp,profile=builtin name=rootless]'")
    program(tmp_path, "podman", "echo '5.2 rootless=false'")
    docker, podman = find_engine("docker"), find_engine("podman")
    assert (docker.version, docker.rootless, podman.version, podman.rootless) == ("28.1", True, "5.2", False)


def test_the_image_is_made_once_and_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty folders and links, from no registry."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    kept = tmp_path / "image.tar"
    script = (
        f'case "$1" in info) echo 1 x;; image) test -e {kept};; import) echo x >> {tmp_path}/log; cat > {kept};; esac'
    )
    program(tmp_path, "podman", script)
    found = find_engine("podman")
    assert ensure_image(found) == ensure_image(found)
    assert (tmp_path / "log").read_text() == "x\n"
    with tarfile.open(fileobj=io.BytesIO(kept.read_bytes())) as archive:
        items = {item.name: item for item in archive.getmembers()}
    assert all(item.isdir() or item.issym() for item in items.values())
    assert items["sandbox"].mode == 0o1777
    assert items["tmp"].mode == 0o1777
