"""The real Harbor with tasks that are built on an image in the cache."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from demeanor.images.cache import ImageCache
from demeanor.images.pull import import_layout
from tests.harbor_env.helpers import HarborProject
from tests.helpers.harbor_engine import PROGRAM, needs_harbor
from tests.helpers.image_registry import image_registry, manifest, write_layout
from tests.helpers.small_rootfs import small_rootfs

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not here")

DOCKERFILE = """\
FROM lab/base:1
ARG WHO=world
ENV GREETING="hello $WHO"
WORKDIR /app
ADD files.tar.gz /srv/
COPY --chown=app:app --chmod=640 notes.txt /home/app/
COPY <<EOF /etc/greeting
$GREETING from "$FROM_IMAGE"
EOF
SHELL ["/bin/bash", "-c"]
RUN date +%s%N > /built && [[ -e /etc/os ]] && rm /etc/os && chown app /app
ENV PIP_CERT="from the image"
RUN <<EOF
cat /srv/packed > /srv/copied
echo "$SSL_CERT_FILE $PIP_CERT $https_proxy" > /srv/variables
EOF
ENTRYPOINT ["/bin/sh", "-c", "echo started > /tmp/started; exec sleep 1000"]
USER app
WORKDIR /srv/own/folder
"""
TEST = """\
cd /app
until [ -f /tmp/started ]; do sleep 0.05; done
ok=1
want() { [ "$1" = "$2" ] || { echo "wanted $2, found $1"; ok=0; }; }
want "$(cat /etc/greeting)" 'hello world from "image"'
want "$(cat /srv/copied)" packed
want "$(stat -c '%U %a' /home/app/notes.txt)" 'app 640'
want "$(cat done)" 1000
want "$(stat -c '%U %G' /srv/own)" 'app app'
want "$(stat -c '%U' /srv)" root
want "$SSL_CERT_FILE" ""
want "$(cat /srv/variables)" "/etc/demeanor-ca.crt from the image http://proxy.example"
if [ -e /etc/os ] || [ -e /usr/bin/env ]; then echo "a file that the image does not have"; ok=0; fi
cat /built
echo $ok > /logs/verifier/reward.txt
"""


def archive_of(folder: Path, target: Path) -> Path:
    """The archive of a folder."""
    with tarfile.open(target, "w:gz") as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, arcname=str(path.relative_to(folder)), recursive=False)
    return target


def test_a_task_runs_on_its_image(harbor_project: HarborProject) -> None:
    """Its Dockerfile is built once: the second run starts from the result. Nothing of this machine is seen."""
    project = harbor_project
    root = small_rootfs(project.folder / "root")
    (root / "etc/os").write_text("base\n")
    cache = ImageCache(project.folder / "home/.cache/demeanor/images")
    others = {one.key for one in cache.roots()}  # of other tests
    archive = archive_of(root, project.folder / "root.tar.gz")
    config = {"Env": ["PATH=/bin", "FROM_IMAGE=image"]}
    import_layout(
        write_layout(project.folder / "layout", *manifest([archive.read_bytes()], config)), "lab/base:1", cache
    )
    task = project.task(
        "built",
        dockerfile=DOCKERFILE,
        solve="id -u > /app/done",
        test=TEST,
        files={"environment/notes.txt": "note\n"},
    )
    packed = project.folder / "packed"
    packed.mkdir()
    (packed / "packed").write_text("packed\n")
    archive_of(packed, task / "environment/files.tar.gz")
    built = []
    for proxy in ("http://proxy.example", ""):  # a result in the cache does not depend on it
        (trial,) = project.run(path=task, variables={"https_proxy": proxy})
        assert (trial.exception, trial.message) == (None, "")
        output = trial.text("verifier/test-stdout.txt")
        assert trial.reward == 1, output
        built.append(output.splitlines()[-1])
    assert built[0].isdigit()
    assert built[0] == built[1]
    assert len({one.key for one in cache.roots()} - others) == 2


PLAIN = """\
FROM lab/plain:1
WORKDIR /app
RUN id -u > /who && echo built > note && chown 7:7 note && rm /etc/os
COPY --chown=app notes.txt /app/
"""


def test_an_ordinary_user_builds_and_runs_on_an_image(harbor_project: HarborProject, tmp_path: Path) -> None:
    """With one user, who is root inside: steps may change owners without effect, which apt insists on. The solution
    gets 1, doing nothing gets 0, and a task with another user is refused with its line.
    """
    project = harbor_project
    alone = (str(shutil.which("unshare")), "--user", "--map-user=1000", "--map-group=1000")
    if subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("a user can't be mapped to another one here")
    root = small_rootfs(tmp_path / "root")
    (root / "etc/os").write_text("base\n")
    cache = ImageCache(project.folder / "home/.cache/demeanor/images")
    archive = archive_of(root, tmp_path / "root.tar.gz")
    layout = write_layout(tmp_path / "layout", *manifest([archive.read_bytes()], {"Env": ["PATH=/bin"]}))
    import_layout(layout, "lab/plain:1", cache)
    test = '[ "$(cat /who /app/note /app/done)" = "$(printf "0\\nbuilt\\n0")" ] && [ ! -e /etc/os ]'
    task = project.task(
        "plain",
        dockerfile=PLAIN,
        solve="id -u > /app/done",
        test=f"if {test}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt",
        files={"environment/notes.txt": "note\n"},
    )
    other = project.task("other", dockerfile="FROM lab/plain:1\nUSER app\nRUN id\n")
    project.prefix = alone
    try:
        (solved,), (idle,) = project.run(path=task), project.run(path=task, agent="nop")
        (refused,) = project.run(path=other)
        named = project.run(path=project.task("named", dockerfile="FROM lab/plain:1\n", toml='[agent]\nuser = "app"\n'))
    finally:
        project.prefix = ()
    assert (solved.exception, solved.message, solved.reward) == (None, "", 1)
    assert (idle.exception, idle.message, idle.reward) == (None, "", 0)
    assert refused.exception == "SandboxUnsupportedError"
    assert "Dockerfile:3: RUN: runs as 'app', but root is the only user" in refused.message
    assert [one.exception for one in named] == ["SandboxUnsupportedError"]
    assert "user app: root is the only user" in named[0].message


def test_a_prebuilt_image_is_pulled_if_that_is_asked_for(harbor_project: HarborProject, tmp_path: Path) -> None:
    """From its registry; without that, a task without a Dockerfile is refused with what to do."""
    project = harbor_project
    archive = archive_of(small_rootfs(tmp_path / "root"), tmp_path / "root.tar.gz")
    with image_registry(tmp_path) as registry:
        registry.push("lab/ready", "1", *manifest([archive.read_bytes()], {"Env": ["PATH=/bin"], "WorkingDir": "/tmp"}))
        task = project.task(
            "ready",
            solve="echo done > done",
            test="if [ -f /tmp/done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt",
            toml=f'[environment]\ndocker_image = "{registry.host}/lab/ready:1"\n',
        )
        (task / "environment/Dockerfile").unlink()
        (refused,) = project.run(path=task)
        (pulled,) = project.run("--ek", "images=pull", path=task)
    assert f"demeanor harbor images pull {registry.host}/lab/ready:1" in refused.message
    assert (pulled.exception, pulled.message, pulled.reward) == (None, "", 1)
    (again,) = project.run(path=task)
    assert again.reward == 1, "it is in the cache now"


def test_a_step_that_fails_is_reported_with_its_line(harbor_project: HarborProject, tmp_path: Path) -> None:
    """And nothing of it is kept."""
    project = harbor_project
    cache = ImageCache(project.folder / "home/.cache/demeanor/images")
    archive = archive_of(small_rootfs(tmp_path / "root"), tmp_path / "root.tar.gz")
    import_layout(write_layout(tmp_path / "layout", *manifest([archive.read_bytes()])), "lab/failing:1", cache)
    before = {root.key for root in cache.roots()}
    task = project.task("failing", dockerfile="FROM lab/failing:1\nRUN echo wrong >&2; exit 3\n")
    (trial,) = project.run(path=task)
    assert trial.exception == "SandboxStepFailedError"
    assert "Dockerfile:2: RUN: exit code 3\nwrong" in trial.message
    assert {root.key for root in cache.roots()} == before


BUILD = """\
import asyncio, sys
from pathlib import Path
from demeanor.dockerfile.planner import read
from demeanor.harbor_env import image_build
from demeanor.harbor_env.dockerfile_replay import Build
from demeanor.images.cache import ImageCache
from demeanor.sandboxes.persistent.factory import PersistentOptions, PersistentSandboxes

async def main():
    image_build._KEPT_AFTER = -1.0  # every step took long
    cache, sandboxes = ImageCache(Path(sys.argv[1])), PersistentSandboxes()
    steps = "RUN echo large > /large; echo gone > /gone\\nRUN rm /gone\\nRUN echo last > /last\\n"
    build = Build(image=read(f"FROM lab/steps:1\\n{steps}"), context=Path(), log=lambda line: None)
    opener = lambda root: sandboxes.open(PersistentOptions(rootfs=root))
    try:
        await image_build.build_root(build, cache.image("lab/steps:1"), cache, open_sandbox=opener)
    finally:
        sandboxes.close()

asyncio.run(main())
"""


@needs_harbor
def test_a_step_that_is_kept_is_the_base_of_the_next_one(tmp_path: Path) -> None:
    """So that roots share their files; what a later step removes is not in its root."""
    cache = ImageCache(tmp_path / "cache")
    archive = archive_of(small_rootfs(tmp_path / "root"), tmp_path / "root.tar.gz")
    import_layout(write_layout(tmp_path / "layout", *manifest([archive.read_bytes()])), "lab/steps:1", cache)
    subprocess.run([PROGRAM.with_name("python"), "-c", BUILD, str(cache.folder)], check=True)
    by_parent = {root.parent: root for root in cache.roots()}
    base = by_parent[None]
    first = by_parent[base.key]
    second = by_parent[first.key]
    third = by_parent[second.key]
    roots = [cache.folder / "roots" / one.key / "rootfs" for one in (first, second, third)]
    assert [(root / "gone").exists() for root in roots] == [True, False, False]
    assert [(root / "last").exists() for root in roots] == [False, False, True]
    assert len({(root / "large").stat().st_ino for root in roots}) == 1
