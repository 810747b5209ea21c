"""A run whose processes were all killed at once is cleaned up by the next one, and nothing else is touched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.core.trees.temp_names import temp_prefix
from demeanor.sandboxes.host.runtime import remove_stale_runs
from tests.helpers.processes import command_line
from tests.sandboxes.conftest import wait_until

NOBODY = re.sub(r"-\d+-\d+-$", "-4194304-1-0123456789ab", temp_prefix())
"""The folder of a process that can't exist."""


@pytest.fixture
def leftovers(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that an earlier run left: one works in its folder, one has it in its environment, one is a stranger."""
    folder = tmp_path / NOBODY / "1"
    folder.mkdir(parents=True)
    (folder / "file").write_text("x")
    started = [
        subprocess.Popen(["sleep", "600"], cwd=folder),
        subprocess.Popen(["sleep", "600"], env={**os.environ, "HOME": str(folder / "home")}),
        subprocess.Popen(["sleep", "600"], env={**os.environ, "HOME": f"{tmp_path / NOBODY}-other"}),
    ]
    wait_until(lambda: all("sleep" in command_line(process.pid) for process in started))  # only then /proc shows it
    yield started
    for process in started:
        process.kill()
        process.wait()


def test_what_a_dead_run_left_is_removed(tmp_path: Path, leftovers: list[subprocess.Popen[bytes]]) -> None:
    """Its processes are killed and its folder is removed; a process without its marks goes on."""
    remove_stale_runs(tmp_path)
    assert not (tmp_path / NOBODY).exists()
    assert [process.wait(300) for process in leftovers[:2]] == [-9, -9]
    assert leftovers[2].poll() is None


def test_a_living_run_is_left_alone(tmp_path: Path) -> None:
    """The folder of this process, and folders that are not Demeanor's."""
    names = [f"{temp_prefix()}0123456789ab", "demeanor-0123456789ab", "demeanor-notes", "other"]
    for name in names:
        (tmp_path / name).mkdir()
    remove_stale_runs(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_a_run_whose_fork_server_lives_is_left_to_it(tmp_path: Path, leftovers: list[subprocess.Popen[bytes]]) -> None:
    """The fork server has the folder as an argument, and removes it itself."""
    argv = ["sh", "-c", "read -r never", str(tmp_path / NOBODY)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as server:
        wait_until(lambda: command_line(server.pid))
        remove_stale_runs(tmp_path)
        assert (tmp_path / NOBODY).exists()
    assert [process.poll() for process in leftovers] == [None, None, None]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Anyone may create a name in a shared temp folder."""
    target = tmp_path / "precious"
    target.mkdir()
    (tmp_path / NOBODY).symlink_to(target)
    remove_stale_runs(tmp_path)
    assert target.is_dir()


IN_ANOTHER_CONTAINER = """\
import sys, tempfile
from pathlib import Path
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.sandboxes.host.runtime import remove_stale_runs
print(tempfile.mkdtemp(prefix=temp_prefix(), dir=sys.argv[1]), flush=True)
remove_stale_runs(Path(sys.argv[1]))
print("done", flush=True)
sys.stdin.read()
"""


def test_containers_that_share_a_temp_folder_leave_each_others_runs_alone(tmp_path: Path) -> None:
    """Neither can see the other's processes, so neither can know that a folder is stale."""
    ours = tmp_path / f"{temp_prefix()}0123456789ab"
    ours.mkdir()
    argv = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--die-with-parent"]
    argv += [sys.executable, "-c", IN_ANOTHER_CONTAINER, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs, done = Path(other.stdout.readline().strip()), other.stdout.readline()
        assert done == "done\n"
        remove_stale_runs(tmp_path)
        assert set(tmp_path.iterdir()) == {ours, theirs}
        other.communicate("")
    remove_stale_runs(tmp_path)
    assert theirs.exists()  # it is dead, which can't be seen from here
