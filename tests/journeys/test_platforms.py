"""What other systems than Linux are told. The name of the system is replaced; everything else is real."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.helpers.project import Project

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.", trials=1)
def saves_the_note(rig, result):
    assert rig.workspace["notes.txt"].text == "buy milk\\n"
"""


def on(project: Project, system: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a Python that believes to be on another system."""
    code = (
        "import sys, sysconfig, urllib.request, asyncio, aiohttp; sysconfig.get_config_vars();"  # as Python is on Linux
        f"sys.platform = {system!r}; sys.argv[1:] = {list(words)!r};"
        "from demeanor.__main__ import main; main()"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=project.folder, env=project.env, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", [["run"], ["--help"], ["doctor"]])
def test_windows_is_refused_with_a_way_out(project: Project, words: list[str]) -> None:
    """Whatever the command: exit code 2, and the name of what works instead."""
    done = on(project, "win32", *words)
    assert done.returncode == 2
    assert "Windows is not supported" in done.stderr
    assert "WSL 2" in done.stderr


@pytest.mark.parametrize("level", ["bubblewrap", "landlock", "docker"])
def test_a_level_of_linux_is_refused_on_a_mac(project: Project, level: str) -> None:
    """The message names levels that exist there, and nothing to install."""
    project.write(evals__eval_notes_py=EVAL)
    done = on(project, "darwin", "run", "--policy", "all", "--sandbox", level, "--subject", "native:scripted")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Linux" in done.stderr
    assert "→ only --sandbox none works here, without isolation" in done.stderr
    assert "install" not in done.stderr
    assert "--sandbox landlock" not in done.stderr


def test_the_level_none_does_not_need_linux(project: Project) -> None:
    """No subreaper, no landlock: the process group is ended, and the trial is judged."""
    project.write(evals__eval_notes_py=EVAL)
    words = ("run", "--policy", "all", "--sandbox", "none", "--subject", "native:scripted")
    done = on(project, "darwin", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
