"""Agents that were installed with `--dir` are found by later commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from demeanor.agents.recipes.goose import RECIPE
from tests.helpers.project import Project

PROGRAM = RECIPE.package.program_in(Path())
NPM = f"""\
#!/bin/sh
mkdir -p {PROGRAM.parent}
printf '#!/bin/sh\\necho 1.52.0\\n' > {PROGRAM}
chmod +x {PROGRAM}
"""


def _install(project: Project, *words: str, **env: str) -> str:
    """Install goose with a program that stands in for npm; returns what was told."""
    npm = project.folder.parent / "bin/npm"
    npm.parent.mkdir(exist_ok=True)
    for program in (npm, npm.with_name("node")):
        program.write_text(NPM)
        program.chmod(0o755)
    project.env["PATH"] = f"{npm.parent}:{project.env['PATH']}"
    ran = project.demeanor("agents", "install", *words, "goose", **env)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def _found(project: Project) -> str | None:
    path: str | None = json.loads(project.demeanor("agents", "list", "goose", "--json").stdout)[0]["path"]
    return path


def test_later_commands_find_what_was_installed_with_dir(project: Project, tmp_path: Path):
    """Without an environment variable; `agents` and `doctor` show the folder."""
    own = tmp_path / "own"
    _install(project, "--dir", str(own))
    assert _found(project) == str(own / "goose/1.52.0" / PROGRAM)
    assert f"\n  {own}\n" in project.demeanor("agents").stdout
    project.write(demeanor_toml='subjects = ["goose:scripted"]\n')
    told = project.demeanor("doctor").stdout
    assert str(own) in told
    assert "goose is not installed" not in told


def test_a_recorded_folder_that_was_removed_is_reported(project: Project, tmp_path: Path):
    own = tmp_path / "own"
    _install(project, "--dir", str(own))
    shutil.rmtree(own)
    assert _found(project) is None
    assert f"{own} (does not exist)" in project.demeanor("agents").stdout
    told = project.demeanor("doctor").stdout
    assert f"{own} (does not exist)" in told
    assert "→ install the agents again, or remove the line from" in told


def test_a_folder_that_can_not_be_recorded_or_is_hidden_by_the_variable_is_reported(project: Project, tmp_path: Path):
    """The installation succeeds; the user learns how later commands find it."""
    own, blocked = tmp_path / "own", tmp_path / "file"
    blocked.touch()
    told = _install(project, "--dir", str(own), XDG_DATA_HOME=str(blocked))
    assert f"{own} could not be recorded (" in told
    assert f"→ set DEMEANOR_AGENTS={own} for later commands" in told
    told = _install(project, "--dir", str(own), DEMEANOR_AGENTS=str(tmp_path / "other"))
    assert "DEMEANOR_AGENTS names another folder" in told
