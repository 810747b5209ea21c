"""A project in a temporary folder, and the command line as a user starts it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.helpers import preloaded

LONGEST = 900.0
"""Seconds for one command. The slowest one takes half a minute; on a machine with a load of 20, ten times that."""


def default_signals() -> None:
    """A program inherits ignored signals, and another test in this process may have ignored these."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def share_probes(home: Path, session: Path) -> None:
    """Let all tests below the folder `session` share what was found about sandboxes, because probing takes seconds."""
    (home / ".cache/demeanor").mkdir(parents=True)
    (session / "probes").mkdir(exist_ok=True)
    (home / ".cache/demeanor/probes").symlink_to(session / "probes")


class Project:
    """The folder of a user's project, with its own HOME and temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent / "home"),
            "TMPDIR": str(folder.parent / "tmp"),
        }
        share_probes(folder.parent / "home", folder.parent.parent)
        (folder.parent / "tmp").mkdir()
        folder.mkdir()

    def write(self, **files: str) -> None:
        """Write files; `evals__eval_a_py` is `evals/eval_a.py`."""
        for name, text in files.items():
            folder, _, rest = name.rpartition("__")
            stem, _, ending = rest.rpartition("_")
            path = self.folder / folder.replace("__", "/") / f"{stem}.{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def copy_to(self, folder: Path) -> Project:
        """A copy of the project as it is now: for tests that change what a shared fixture made."""
        copy = Project(folder)
        shutil.copytree(self.folder, folder, symlinks=True, dirs_exist_ok=True)
        return copy

    def command(self, *words: str) -> list[str]:
        """The command line of a demeanor command."""
        return [sys.executable, "-m", "demeanor", *words]

    def demeanor(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a demeanor command in a process of its own."""
        self._require_seed(words)
        given = {**self.env, **env}
        if preloaded.fits(given):
            server = "cluster" if "--on" in words else "demeanor"
            return preloaded.run("demeanor", words, cwd=self.folder, env=given, timeout=LONGEST, server=server)
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=given,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    def start(self, *words: str) -> preloaded.Started:
        """Start a command without waiting for its end; `printed` tells what it prints."""
        files = [(self.folder.parent / name).open("wb") for name in ("stdout", "stderr")]
        try:
            out, err = (file.fileno() for file in files)
            return preloaded.start("demeanor", words, cwd=self.folder, env=self.env, out=out, err=err)
        finally:
            for file in files:
                file.close()

    def printed(self, name: str) -> str:
        """What the command that was started last has printed so far to `stdout` or `stderr`."""
        return (self.folder.parent / name).read_text()

    def _require_seed(self, words: Sequence[str]) -> None:
        """Fail a test whose result would depend on chance: a scripted model with a random answer, and no `--seed`."""
        if words and words[0] in {"run", "gate", "nightly", "compare", "bisect", "promote"} and "--seed" not in words:
            scripts = [path.name for path in self.folder.glob("*.py") if ".chance(" in path.read_text()]
            assert not scripts or not {"--resume", "--dry-run"}.isdisjoint(words), (
                f"{scripts} draws at random: give `{words[0]}` a --seed"
            )

    def pytest(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run pytest in a process of its own."""
        given = {**self.env, **env}
        if preloaded.fits(given):
            options = ("-p", "no:cacheprovider", *words)
            return preloaded.run("pytest", options, cwd=self.folder, env=given, timeout=LONGEST)
        return self.fresh_pytest(*words, **env)

    def fresh_pytest(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run pytest in a process that imports everything itself, as a user does."""
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words], cwd=self.folder,
            env={**self.env, **env}, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip

    def temporary(self) -> list[str]:
        """The names in the project's temporary folder."""
        return sorted(path.name for path in (self.folder.parent / "tmp").iterdir())
