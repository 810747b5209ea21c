"""The packages of coding agents: where they come from, how they are installed, and which version runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.agents.packages.folders import (
        agents_folder as agents_folder,
        agents_folders as agents_folders,
        record_file as record_file,
        record_folder as record_folder,
    )
    from demeanor.agents.packages.installer import install as install, install_package as install_package
    from demeanor.agents.packages.package import (
        Package as Package,
        find_program as find_program,
        installed as installed,
        installed_version as installed_version,
        program_paths as program_paths,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "folders": "agents_folder agents_folders record_file record_folder",
        "installer": "install install_package",
        "package": "Package find_program installed installed_version program_paths",
    },
)
