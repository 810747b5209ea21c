"""Every level is tried by the same hostile programs, as root and as a plain user, beside a control."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.values.sandbox_spec import Network
from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox
from demeanor.sandboxes.levels.container import ContainerSandbox
from demeanor.sandboxes.levels.landlock import LandlockSandbox
from demeanor.sandboxes.levels.none import NoneSandbox
from demeanor.sandboxes.probes import program
from demeanor.sandboxes.probes.result import Probe
from demeanor.sandboxes.probes.runner import REQUIRED, SURVIVAL, is_left_open, matrix, probe
from demeanor.sandboxes.supervisor import landlock_abi
from tests.helpers.processes import with_command
from tests.sandboxes.conftest import wait_until
from tests.sandboxes.levels.test_container import engines

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the levels need Linux")

REPOSITORY = Path(__file__).parents[3]
PROBES = 31
AS_PLAIN_USER = """
import asyncio, json
from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox
from demeanor.sandboxes.probes.runner import matrix
from demeanor.sandboxes.levels.landlock import LandlockSandbox
from demeanor.sandboxes.levels.none import NoneSandbox
async def main():
    levels = {one.name: one for one in (BubblewrapSandbox(), LandlockSandbox(), NoneSandbox())}
    found = await matrix(levels)
    for one in levels.values(): await one.stop()
    print(json.dumps({level: [(p.name, p.state, p.expected, p.found) for p in all] for level, all in found.items()}))
asyncio.run(main())
"""


def here() -> dict[str, Any]:
    """The levels that can be had on this machine."""
    levels: dict[str, Any] = {"none": NoneSandbox()}
    if shutil.which("bwrap"):
        levels["bubblewrap"] = BubblewrapSandbox()
    if landlock_abi.version() >= landlock_abi.MIN_VERSION:
        levels["landlock"] = LandlockSandbox()
    levels |= {name: ContainerSandbox(name) for name, why in engines().items() if not why}
    return levels


def tried(levels: Mapping[str, Any]) -> dict[str, tuple[Probe, ...]]:
    """What came of all probes at these levels."""

    async def main() -> dict[str, tuple[Probe, ...]]:
        try:
            return await matrix(levels)
        finally:
            for level in levels.values():
                await level.stop()

    return asyncio.run(main())


def landlock_processes() -> str:
    """What ends the processes of the level landlock on this machine."""
    sandbox = LandlockSandbox()
    try:
        sandbox.verify()
        return sandbox.facts["ends"]
    finally:
        asyncio.run(sandbox.stop())


def test_every_level_keeps_what_it_promises() -> None:
    """The level none blocks nothing but survival, and the results show that."""
    found = tried(here())
    assert {level: len(probes) for level, probes in found.items()} == dict.fromkeys(found, PROBES)
    assert [one for probes in found.values() for one in probes if not one.expected] == []
    assert {one.name for one in found["none"] if one.state == "blocked"} <= set(SURVIVAL)
    assert {one.control for probes in found.values() for one in probes if one.name in SURVIVAL} == {"reached"}
    for level in found.keys() - {"none"}:
        assert {one.name for one in found[level] if one.state == "works"} == set(REQUIRED)
    if os.getuid() == 0:
        doubtful = {one.name for probes in found.values() for one in probes if one.state == "inconclusive"}
        assert doubtful <= {"reach another port by multipath TCP", "make a vsock", "set up io_uring"}
    if "landlock" in found:
        opened = {one.name for one in found["landlock"] if one.state == "open"}
        assert ("see a process of the host" in opened) == (landlock_processes() == "process tree")
        assert "reach another address at the gateway's port" in opened


def test_daemons_of_the_control_end_with_demeanor() -> None:
    """They run without any sandbox, so nothing else would end them if Demeanor were killed while it probes."""
    mark = f"dm-{uuid.uuid4().hex[:10]}"
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from demeanor.sandboxes.probes import program; program._DAEMON_SECONDS = 100_000.0\n"
        "program.stay([sys.argv[2], sys.argv[2]], sys.argv[3])\n"
    )
    lifeline, ours = os.pipe()
    argv = [sys.executable, "-c", code, str(Path(program.__file__).parents[3]), mark, str(lifeline)]
    subprocess.run(argv, pass_fds=[lifeline], stdout=subprocess.DEVNULL, check=True)
    os.close(lifeline)
    assert with_command(mark) != []
    os.close(ours)
    wait_until(lambda: with_command(mark) == [])


def test_the_same_holds_for_a_plain_user() -> None:
    """What this user can't do anyway proves nothing and is said so."""
    python = shutil.which("python3", path="/usr/bin")
    drop = shutil.which("setpriv")
    if os.getuid() != 0 or python is None or drop is None or len(here()) < 3:
        pytest.skip("needs root, setpriv, every level, and a Python that everybody may run")
    who = [drop, "--reuid=12345", "--regid=12345", "--clear-groups"]
    if subprocess.run([*who, python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False).returncode:
        pytest.skip("the system's Python is too old")
    with tempfile.TemporaryDirectory() as top:
        Path(top).chmod(0o755)
        folder, package = Path(top, "plain"), Path(top, "package")
        folder.mkdir()
        os.chown(folder, 12345, 12345)
        shutil.copytree(REPOSITORY / "src/demeanor", package / "demeanor")
        env = {"PYTHONPATH": str(package), "PATH": os.defpath, "TMPDIR": str(folder)}
        done = subprocess.run(
            [*who, python, "-c", AS_PLAIN_USER], env=env, cwd="/", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert list(folder.iterdir()) == []
    found = json.loads(done.stdout)
    assert {level: len(probes) for level, probes in found.items()} == dict.fromkeys(found, PROBES)
    for level, probes in found.items():
        assert [one for one in probes if not one[2]] == [], level
        assert sum(one[1] == "inconclusive" for one in probes) <= 4, level
    opened = {name for name, state, _, _ in found["landlock"] if state == "open"}
    assert "change permissions outside" in opened  # landlock does not rule over them, and the user is the same


class Pretender(NoneSandbox):
    """A sandbox that claims isolation and has none."""

    name = "bubblewrap"


class Prison(LandlockSandbox):
    """A sandbox in which nothing can be reached at all."""

    name = "bubblewrap"

    def open_session(self, template: Any, *, network: Network | None = None) -> Any:
        """One without a network, whatever is asked for."""
        return super().open_session(template, network="none")


def test_a_level_without_isolation_is_detected() -> None:
    """The probes see what they are for: everything but survival is open, and none of that is expected."""
    sandbox = Pretender()

    async def main() -> tuple[Probe, ...]:
        try:
            return await probe(sandbox)
        finally:
            await sandbox.stop()

    found = asyncio.run(main())
    surprises = {one.name for one in found if not one.expected}
    assert {"read another user's file", "reach another port", "signal a process of the host"} <= surprises
    assert surprises.isdisjoint({*SURVIVAL, *REQUIRED})
    assert not is_left_open("bubblewrap", "read another user's file")


@pytest.mark.skipif(landlock_abi.version() < landlock_abi.MIN_VERSION, reason="landlock is not here")
def test_a_level_in_which_nothing_works_is_not_taken_for_a_safe_one() -> None:
    """What must be possible is tried as well."""
    (found,) = tried({"bubblewrap": Prison()}).values()
    assert [one.name for one in found if one.state == "broken"] == ["reach its gateway"]
    assert not any(one.expected for one in found if one.state == "broken")
