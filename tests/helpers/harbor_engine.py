"""The real Harbor, which `tools/harbor.sh` installs beside the tests; without it they are skipped, loudly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROGRAM = Path(os.environ.get("DEMEANOR_TEST_HARBOR") or Path(__file__).parents[2] / ".venv-harbor/bin/harbor")

WITHOUT = f"NO HARBOR at {PROGRAM}: nothing of whole tasks is tested with the real engine (`make harbor` installs it)"

needs_harbor = pytest.mark.skipif(not PROGRAM.exists(), reason=WITHOUT)
