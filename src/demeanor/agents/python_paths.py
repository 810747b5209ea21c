"""The Python that runs Demeanor, as an agent that is written in Python needs it."""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGES = str(Path(__file__).resolve().parents[2])
"""Where Demeanor's own code lies, for agents that are part of it. Python lists this folder, so it must be readable."""


def python_folders() -> tuple[str, ...]:
    """What must be readable for `sys.executable` to start: its environment, and the one that this was made from."""
    program = Path(sys.executable)
    return tuple(dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, str(program))))
