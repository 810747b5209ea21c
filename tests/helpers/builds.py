"""A project whose builds are counted."""

from __future__ import annotations

import shutil
from pathlib import Path

from demeanor.config.config import read_config
from demeanor.runner.build import build_project
from demeanor.runner.catalog import Catalog
from tests.helpers.project import Project
from tests.helpers.versions import MAKEFILE, Versions


class Builds:
    """A project that was never built. Its Makefile counts its builds, outside of the project."""

    def __init__(self, project: Project) -> None:
        self.versions = Versions(project)
        self.project = project
        self.folder = project.folder
        self.list = self.folder.parent / "builds"
        self.makefile(MAKEFILE)
        self.versions.commit()
        shutil.rmtree(self.folder / "bin")

    def makefile(self, text: str) -> None:
        """Set the rule of the build."""
        (self.folder / "Makefile").write_text(text.replace("build:\n", f"build:\n\t@echo x >> {self.list}\n"))

    def behave(self, plan: str) -> None:
        """Change the sources of the agent without building it."""
        (self.folder / "agent" / "plan").write_text(plan)

    @property
    def count(self) -> int:
        """How often the project was built."""
        return self.list.read_text().count("x") if self.list.exists() else 0

    @property
    def runs(self) -> list[Path]:
        """The folders of the runs, oldest first."""
        return sorted(path for path in self.folder.glob("results/2*"))

    def run(self, *words: str, **env: str) -> int:
        """Run one eval once; returns the exit code."""
        return self.project.demeanor("run", "--trials", "1", "-k", "always", *words, **env).returncode

    def build(self) -> int:
        """Build the project in this process as a run does, if it has to be; returns how often it was built by now."""
        catalog = Catalog(config=read_config(self.folder), environ=self.project.env)
        build_project(catalog, self.folder / "results", lambda line: None)
        return self.count
