"""The adapters that there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RECIPE = """\
from dataclasses import replace

from demeanor.agents.recipe import reader
from demeanor.agents.recipes.goose import RECIPE as GOOSE

RECIPE = replace(GOOSE, name="my-import", title="Mine")
read = reader(RECIPE)
"""
PROGRAM = """\
import sys
from demeanor.agents import recipes

recipes.__path__.append(sys.argv[1])
from demeanor.agents.registry import BUILT_IN, adapter

print(BUILT_IN.count("my-import"), BUILT_IN.count("import"), adapter("import").RECIPE.title)
"""


def test_a_module_among_the_recipes_is_an_agent(tmp_path: Path) -> None:
    """Nothing else has to name it; the underscore behind a keyword of Python is not part of its name."""
    (tmp_path / "my_import.py").write_text(RECIPE)
    (tmp_path / "import_.py").write_text(RECIPE)
    ran = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("1 1 Mine\n", "")
