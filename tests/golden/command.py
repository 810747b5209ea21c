"""A command that runs in a process which has the modules already: several times quicker than a new interpreter.

The processes come from `multiprocessing`'s fork server. It is for commands that only look; what starts agents is run as
users start it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from tests.golden.cases import main

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


class Command:
    """A command that was started."""

    def __init__(self, words: Sequence[str], folder: Path, env: Mapping[str, str], out: Path) -> None:
        """Its outputs go to two files whose names begin with `out`."""
        self._files = out.with_suffix(".out"), out.with_suffix(".err")
        self._process: ForkServerProcess = _CONTEXT.Process(target=_run, args=(words, folder, dict(env), *self._files))
        self._process.start()

    def wait(self) -> tuple[int | None, str, str]:
        """Its exit code and what it wrote."""
        self._process.join()
        return self._process.exitcode, *(path.read_text("utf-8") for path in self._files)


def _run(words: Sequence[str], folder: Path, env: dict[str, str], out: Path, err: Path) -> None:
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(folder)
    with out.open("w", encoding="utf-8") as sys.stdout, err.open("w", encoding="utf-8") as sys.stderr:
        code = main(words)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    sys.exit(code)
