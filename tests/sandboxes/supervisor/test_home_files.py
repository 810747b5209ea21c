"""Files for HOME that are written after the agent's first program has ended, where the agent left obstacles."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.values.process import Launch, Limits
from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox
from demeanor.sandboxes.levels.landlock import LandlockSandbox
from demeanor.sandboxes.levels.none import NoneSandbox
from demeanor.sandboxes.supervisor import landlock_abi
from tests.sandboxes.conftest import SOON, SandboxHarness

needs_landlock = pytest.mark.skipif(landlock_abi.version() < landlock_abi.MIN_VERSION, reason="landlock is not here")
LEVELS = (NoneSandbox, BubblewrapSandbox, pytest.param(LandlockSandbox, marks=needs_landlock))
OBSTACLES = (
    "ln -s $VICTIM/file ~/link; ln -s $VICTIM ~/folder; mkfifo ~/pipe; mkdir -p ~/taken/full; echo old > ~/text;"
    " ln -s $VICTIM/new ~/dangling; ln -s nowhere ~/link.replaced1; mkdir ~/below; ln -s $VICTIM ~/below/folder"
)
FILES = ("link", "folder/file", "pipe", "taken", "text", "text2", "dangling", "below/folder/file", "new/folder/file")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can enter."""
    with tempfile.TemporaryDirectory(prefix="home-files-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("level", LEVELS)
def test_what_an_agent_left_in_the_way_is_not_followed(level: Callable[..., Any], folder: Path) -> None:
    """Links lead nowhere, a pipe does not block, and every file has its content."""
    victim = folder / "victim"
    victim.mkdir()
    victim.chmod(0o777)
    (victim / "file").write_text("untouched")
    (victim / "file").chmod(0o666)
    (folder / "harness").mkdir()
    harness = SandboxHarness(folder / "harness")

    async def body(session: Any) -> str:
        async def shell(script: str) -> str:
            launch = Launch(argv=("sh", "-c", script), env={"MARK": harness.mark, "VICTIM": str(victim)})
            end = await session.run(launch, limits=Limits(wall=SOON), last_activity=lambda: 0.0)
            assert (end.exit_code, end.stderr.text) == (0, "")
            return str(end.stdout.text)

        session.write_home_files({"first": b"first"})
        await shell(OBSTACLES)
        session.write_home_files({path: f"{path};".encode() for path in FILES})
        return await shell(f"cd ~; cat first {' '.join(FILES)}")

    assert harness.in_sandbox(level(root=harness.folders), body) == "first" + "".join(f"{path};" for path in FILES)
    assert {path.name: path.read_text() for path in victim.iterdir()} == {"file": "untouched"}
