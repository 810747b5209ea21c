"""Installing agents with a package manager that stands in for npm."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from demeanor.agents.install import install_package
from demeanor.agents.package import Package

NPM = """\
#!/bin/sh
mkdir -p node_modules/agent/vendor
echo x >> "$COUNT"
touch node_modules/agent/vendor/rg
cat > node_modules/agent/agent <<'END'
#!/bin/sh
mkdir -p "$XDG_CACHE_HOME" && echo "$*" > "$XDG_CACHE_HOME/unpacked"
END
chmod +x node_modules/agent/agent
"""


def _environ(tmp_path: Path) -> dict[str, str]:
    npm = tmp_path / "bin/npm"
    npm.parent.mkdir()
    npm.write_text(NPM)
    npm.chmod(0o755)
    return {"PATH": f"{npm.parent}:{os.environ['PATH']}", "HOME": str(tmp_path), "COUNT": str(tmp_path / "count")}


def _install(tmp_path: Path, *, environ: dict[str, str], **fields: Any) -> Path:
    package = Package(manager="npm", name="agent", version="1.0", program="node_modules/agent/agent", **fields)
    return install_package("agent", package, None, tmp_path / "agents", environ, lambda text: None)


def test_a_program_that_unpacks_itself_is_started_once_at_the_end(tmp_path: Path):
    """Its cache is part of the installation, so trials need not unpack it again."""
    program = _install(tmp_path, environ=_environ(tmp_path), first_run=("--help",))
    assert program == tmp_path / "agents/agent/1.0/node_modules/agent/agent"
    assert (tmp_path / "agents/agent/1.0/cache/unpacked").read_text() == "--help\n"


def test_helpers_are_made_executable_and_an_incomplete_installation_is_repaired(tmp_path: Path):
    """npm unpacks some programs without that permission; an old installation may lack a helper."""
    environ = _environ(tmp_path)
    helper = tmp_path / "agents/agent/1.0/node_modules/agent/vendor/rg"
    _install(tmp_path, environ=environ, helpers=("node_modules/*/vendor/rg",))
    assert os.access(helper, os.X_OK)
    helper.chmod(0o644)
    _install(tmp_path, environ=environ, helpers=("node_modules/*/vendor/rg",))
    assert os.access(helper, os.X_OK)
    assert (tmp_path / "count").read_text() == "x\n"
    helper.unlink()
    _install(tmp_path, environ=environ, helpers=("node_modules/*/vendor/rg",))
    assert os.access(helper, os.X_OK)
    assert (tmp_path / "count").read_text() == "x\nx\n"
