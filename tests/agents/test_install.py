"""Installing agents with a package manager that stands in for npm."""

from __future__ import annotations

import os
from pathlib import Path

from demeanor.agents.install import install_package
from demeanor.agents.package import Package

NPM = """\
#!/bin/sh
mkdir -p node_modules/agent
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
    return {"PATH": f"{npm.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def test_a_program_that_unpacks_itself_is_started_once_at_the_end(tmp_path: Path):
    """Its cache is part of the installation, so trials need not unpack it again."""
    package = Package(
        manager="npm", name="agent", version="1.0", program="node_modules/agent/agent", first_run=("--help",)
    )
    program = install_package("agent", package, None, tmp_path / "agents", _environ(tmp_path), lambda text: None)
    assert program == tmp_path / "agents/agent/1.0/node_modules/agent/agent"
    assert (tmp_path / "agents/agent/1.0/cache/unpacked").read_text() == "--help\n"
