"""What an author imports, and what that costs."""

from __future__ import annotations

import subprocess
import sys

import demeanor


def loaded(code: str) -> set[str]:
    """The modules that are loaded after some code has run in a fresh interpreter."""
    code += "\nimport sys\nprint(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_every_name_is_there_and_no_other():
    """`__all__` is the front door."""
    for name in demeanor.__all__:
        assert getattr(demeanor, name) is not None
    assert set(dir(demeanor)) == set(demeanor.__all__)


def test_importing_demeanor_loads_nothing_else():
    """No file is read, no environment, no dependency."""
    assert {name for name in loaded("import demeanor") if name.startswith("demeanor")} == {
        "demeanor",
        "demeanor._version",
    }


def test_an_authors_imports_stay_light():
    """What a file of evals imports needs no dependency at all."""
    heavy = {"aiohttp", "rich", "pytest", "_pytest", "yaml", "asyncio"}
    assert not heavy & loaded("from demeanor import ALWAYS_PASSES, USUALLY_FAILS, USUALLY_PASSES, eval_test")


def test_help_and_version_load_no_dependency():
    """They answer at once."""
    heavy = {"aiohttp", "rich", "pytest", "_pytest", "yaml", "asyncio"}
    assert not heavy & loaded("from demeanor.cli import make_parser; make_parser()")
