"""An adapter of another package, found by its entry point: the very one that docs/agents.md shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.project import Project

DOCS = Path(__file__).parents[2] / "docs/agents.md"
EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Polly wants a cracker.")
def parrots(rig, result):
    assert rig.said == (GREETING, "Polly wants a cracker.")
    assert result == "Polly wants a cracker."
    assert not rig.calls
"""


@pytest.fixture
def parrot(project: Project, tmp_path: Path) -> Project:
    """A project beside which the package of the docs is installed, as far as Python is concerned."""
    packages = tmp_path / "packages"
    (code,) = re.findall(r"```python\n# demeanor_parrot.py\n(.*?)```", DOCS.read_text(), re.DOTALL)
    about = packages / "demeanor_parrot-1.0.dist-info"
    about.mkdir(parents=True)
    (packages / "demeanor_parrot.py").write_text(code)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: demeanor-parrot\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[demeanor.agents]\nparrot = demeanor_parrot\n")
    project.env["PYTHONPATH"] = str(packages)
    return project


def test_an_adapter_of_another_package_needs_no_table(parrot: Project):
    """Its name is enough."""
    parrot.write(evals__eval_p_py=EVALS.replace("GREETING", '"Hello!"'))
    ran = parrot.demeanor("run", "--subject", "parrot", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_it_may_have_tables_under_other_names(parrot: Project):
    """Read as strictly as our own."""
    table = '[agents.loud]\nadapter = "parrot"\ngreeting = "HELLO!"\n'
    parrot.write(evals__eval_p_py=EVALS.replace("GREETING", '"HELLO!"'), demeanor_toml=table)
    ran = parrot.demeanor("run", "--subject", "loud", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1.0" in parrot.demeanor("doctor").stdout
    parrot.write(demeanor_toml=table.replace("greeting", "greting"))
    wrong = parrot.demeanor("run", "--subject", "loud")
    assert wrong.returncode == 2
    assert "did you mean 'greeting'?" in wrong.stderr


def test_an_adapter_that_nobody_offers_is_an_error_that_names_the_nearest(parrot: Project):
    """Also among those of other packages."""
    parrot.write(evals__eval_p_py=EVALS, demeanor_toml='[agents.loud]\nadapter = "parot"\n')
    wrong = parrot.demeanor("run", "--subject", "loud")
    assert wrong.returncode == 2
    assert "did you mean 'parrot'?" in wrong.stderr
