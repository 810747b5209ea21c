"""The dashboard as files: every link leads to a file of the export, and nothing needs a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.helpers.dashboard_server import ParsedPage
from tests.helpers.dashboard_store import READS, DashboardStore


def test_every_link_of_an_export_leads_to_a_file(dashboard_store: DashboardStore, tmp_path: Path):
    """Relative links within the folder; no script, no form, no dead link."""
    folder = tmp_path / "site"
    command = [sys.executable, "-m", "demeanor", "serve", "--export", str(folder)]
    done = subprocess.run(command, cwd=dashboard_store.root, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    pages = sorted(folder.rglob("*.html"))
    assert f"{len(pages)} pages written; open {folder / 'index.html'}" in done.stderr
    assert len(pages) > 100
    for path in pages:
        page = ParsedPage(path.read_text("utf-8"))
        assert not {tag for tag, _ in page.elements} & {"script", "form", "input"}
        for tag, attributes in page.elements:
            target = attributes.get("href")
            if tag in {"a", "link"} and target and not target.startswith("#"):
                found = (path.parent / target.partition("#")[0]).resolve()
                assert found.is_file(), (path, target)
                assert found.is_relative_to(folder)
    trial = next(
        path for path in pages if path.parent.name == "trial" and READS in path.name and "diff" not in path.name
    )
    assert "native:careful" in trial.read_text("utf-8")


def test_an_export_of_nothing_is_an_error(tmp_path: Path):
    """Before the first run."""
    (tmp_path / "demeanor.toml").write_text("")
    command = [sys.executable, "-m", "demeanor", "serve", "--export", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "the history has no run yet" in done.stderr
