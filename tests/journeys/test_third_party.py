"""An adapter of another package, found by its entry point: the example of docs/extend.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.project import Project

DOCS = Path(__file__).parents[2] / "docs/extend.md"
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
    """A project with the package of the docs on its Python path."""
    packages = tmp_path / "packages"
    (code,) = re.findall(r"```python\n# demeanor_parrot.py\n(.*?)```", DOCS.read_text(), re.DOTALL)
    about = packages / "demeanor_parrot-1.0.dist-info"
    about.mkdir(parents=True)
    (packages / "demeanor_parrot.py").write_text(code)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: demeanor-parrot\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[demeanor.agents]\nparrot = demeanor_parrot\n")
    project.env["PYTHONPATH"] = str(packages)
    return project


def test_an_adapter_of_another_package_needs_no_configuration(parrot: Project):
    """Its name is enough."""
    parrot.write(evals__eval_p_py=EVALS.replace("GREETING", '"Hello!"'))
    ran = parrot.demeanor("run", "--subject", "parrot", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_it_can_be_configured_under_another_name(parrot: Project):
    """With the same strict checks as our own adapters."""
    table = '[agents.loud]\nadapter = "parrot"\ngreeting = "HELLO!"\n'
    parrot.write(evals__eval_p_py=EVALS.replace("GREETING", '"HELLO!"'), demeanor_toml=table)
    ran = parrot.demeanor("run", "--subject", "loud", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1.0" in parrot.demeanor("doctor").stdout
    parrot.write(demeanor_toml=table.replace("greeting", "greting"))
    wrong = parrot.demeanor("run", "--subject", "loud")
    assert wrong.returncode == 2
    assert "did you mean 'greeting'?" in wrong.stderr


def test_an_unknown_adapter_is_an_error_with_a_suggestion(parrot: Project):
    """Adapters of other packages are suggested too."""
    parrot.write(evals__eval_p_py=EVALS, demeanor_toml='[agents.loud]\nadapter = "parot"\n')
    wrong = parrot.demeanor("run", "--subject", "loud")
    assert wrong.returncode == 2
    assert "did you mean 'parrot'?" in wrong.stderr
