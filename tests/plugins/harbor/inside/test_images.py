"""The real Harbor with tasks that are built on an image in the cache."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from demeanor.plugins.harbor.environments.base_image import BaseImages
from demeanor.plugins.harbor.images.cache import ImageCache
from demeanor.plugins.harbor.images.pull import import_layout
from tests.helpers.harbor_engine import PROGRAM, needs_harbor
from tests.helpers.image_registry import image_registry, manifest, write_layout
from tests.helpers.small_rootfs import small_rootfs
from tests.plugins.harbor.inside.helpers import HarborProject, HarborTrial, by_task

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
    with tarfile.open(target, "w:gz", compresslevel=1) as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, arcname=str(path.relative_to(folder)), recursive=False)
    return target


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The only layer of the images: a few programs, and the file /etc/os."""
    folder = tmp_path_factory.mktemp("layer")
    root = small_rootfs(folder / "root")
    (root / "etc/os").write_text("base\n")
    return archive_of(root, folder / "root.tar.gz").read_bytes()


def import_image(name: str, layer: bytes, cache: ImageCache, **config: object) -> None:
    """Put an image into a cache."""
    with tempfile.TemporaryDirectory() as folder:
        import_layout(write_layout(Path(folder) / "layout", *manifest([layer], config)), name, cache)


def test_a_task_runs_on_its_image(harbor_project: HarborProject, layer: bytes) -> None:
    """Its Dockerfile is built once: the second run starts from the result. Nothing of this machine is seen.

    Beside it, a step that fails is reported with its line, and nothing of it is kept; and a task without a Dockerfile
    whose image is not here is refused with what to do.
    """
    project = harbor_project
    cache = ImageCache(project.folder / "home/.cache/demeanor/images")
    import_image("lab/base:1", layer, cache, Env=["PATH=/bin", "FROM_IMAGE=image"])
    before = {root.key for root in cache.roots()}
    tasks = project.folder / "built"
    task = project.task(
        "built",
        dockerfile=DOCKERFILE,
        solve="id -u > /app/done",
        test=TEST,
        files={"environment/notes.txt": "note\n"},
        under=tasks,
    )
    packed = project.folder / "packed"
    packed.mkdir()
    (packed / "packed").write_text("packed\n")
    archive_of(packed, task / "environment/files.tar.gz")
    project.task("failing", dockerfile="FROM lab/base:1\nRUN echo wrong >&2; exit 3\n", under=tasks)
    absent = project.task("absent", toml='[environment]\ndocker_image = "lab/absent:1"\n', under=tasks)
    (absent / "environment/Dockerfile").unlink()
    trials = by_task(project.run(path=tasks, variables={"https_proxy": "http://proxy.example"}))
    (again,) = project.run(path=task, variables={"https_proxy": ""})  # a result in the cache does not depend on it
    moments = [moment_built(trial) for trial in (trials["built"], again)]
    assert moments[0].isdigit()
    assert moments[0] == moments[1]
    assert trials["failing"].exception == "SandboxStepFailedError"
    assert "Dockerfile:2: RUN: exit code 3\nwrong" in trials["failing"].message
    assert "demeanor harbor images pull lab/absent:1" in trials["absent"].message
    assert len({root.key for root in cache.roots()} - before) == 1


def moment_built(trial: HarborTrial) -> str:
    """When the image of a trial was built, as its verifier printed it last."""
    output = trial.text("verifier/test-stdout.txt")
    assert (trial.exception, trial.message, trial.reward) == (None, "", 1), output
    return output.splitlines()[-1]


PLAIN = """\
FROM lab/plain:1
WORKDIR /app
RUN id -u > /who && echo built > note && chown 7:7 note && rm /etc/os
COPY --chown=app notes.txt /app/
"""


def test_an_ordinary_user_builds_and_runs_on_an_image(harbor_project: HarborProject, layer: bytes) -> None:
    """With one user, who is root inside: steps may change owners without effect, which apt insists on. The solution
    gets 1, doing nothing gets 0, and a task with another user is refused with its line.
    """
    project = harbor_project
    alone = (str(shutil.which("unshare")), "--user", "--map-user=1000", "--map-group=1000")
    if subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("a user can't be mapped to another one here")
    cache = ImageCache(project.folder / "home/.cache/demeanor/images")
    import_image("lab/plain:1", layer, cache, Env=["PATH=/bin"])
    test = '[ "$(cat /who /app/note /app/done)" = "$(printf "0\\nbuilt\\n0")" ] && [ ! -e /etc/os ]'
    tasks = project.folder / "plain"
    project.task(
        "plain",
        dockerfile=PLAIN,
        solve="id -u > /app/done",
        test=f"if {test}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt",
        files={"environment/notes.txt": "note\n"},
        under=tasks,
    )
    project.task("other", dockerfile="FROM lab/plain:1\nUSER app\nRUN id\n", under=tasks)
    project.task("named", dockerfile="FROM lab/plain:1\n", toml='[agent]\nuser = "app"\n', under=tasks)
    project.prefix = alone
    try:
        trials = project.run("-n", "1", path=tasks, agents=("oracle", "nop"))
    finally:
        project.prefix = ()
    solved, idle = (by_task([trial for trial in trials if trial.agent == agent]) for agent in ("oracle", "nop"))
    assert (solved["plain"].exception, solved["plain"].message, solved["plain"].reward) == (None, "", 1)
    assert (idle["plain"].exception, idle["plain"].message, idle["plain"].reward) == (None, "", 0)
    assert solved["other"].exception == "SandboxUnsupportedError"
    assert "Dockerfile:3: RUN: runs as 'app', but root is the only user" in solved["other"].message
    assert solved["named"].exception == "SandboxUnsupportedError"
    assert "user app: root is the only user" in solved["named"].message


def test_a_prebuilt_image_is_pulled_if_that_is_asked_for(
    harbor_project: HarborProject, layer: bytes, tmp_path: Path
) -> None:
    """From its registry; afterwards it is in the cache."""
    project = harbor_project
    with image_registry(tmp_path) as registry:
        name = f"{registry.host}/lab/ready:1"
        registry.push("lab/ready", "1", *manifest([layer], {"Env": ["PATH=/bin"], "WorkingDir": "/tmp"}))
        task = project.task(
            "ready",
            solve="echo done > done",
            test="if [ -f /tmp/done ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt",
            toml=f'[environment]\ndocker_image = "{name}"\n',
        )
        (task / "environment/Dockerfile").unlink()
        (pulled,) = project.run("--ek", "images=pull", path=task)
    assert (pulled.exception, pulled.message, pulled.reward) == (None, "", 1)
    assert BaseImages("cached", str(project.folder / "home/.cache/demeanor/images"), {}).find(name, needed=True)


BUILD = """\
import asyncio, sys
from pathlib import Path
from demeanor.plugins.harbor.dockerfile.planner import read
from demeanor.plugins.harbor.inside import image_build
from demeanor.plugins.harbor.inside.dockerfile_replay import Build
from demeanor.plugins.harbor.environments.base_image import BaseImages
from demeanor.plugins.harbor.images.cache import ImageCache
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
def test_a_step_that_is_kept_is_the_base_of_the_next_one(tmp_path: Path, layer: bytes) -> None:
    """So that roots share their files; what a later step removes is not in its root."""
    cache = ImageCache(tmp_path / "cache")
    import_image("lab/steps:1", layer, cache)
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
