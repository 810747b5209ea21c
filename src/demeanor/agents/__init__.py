"""Coding agents: how each is started, how its log is read, and the programs that Demeanor brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.agents.executables import (
        PACKAGE_ROOT as PACKAGE_ROOT,
        find_executable as find_executable,
        package_paths as package_paths,
        why_missing as why_missing,
    )
    from demeanor.agents.folders import (
        agents_folder as agents_folder,
        agents_folders as agents_folders,
        record_file as record_file,
        record_folder as record_folder,
    )
    from demeanor.agents.installer import install as install, install_package as install_package
    from demeanor.agents.jsonl import json_objects as json_objects
    from demeanor.agents.package import (
        Package as Package,
        find_program as find_program,
        installed as installed,
        installed_version as installed_version,
        program_paths as program_paths,
    )
    from demeanor.agents.python_environment import (
        environment_of as environment_of,
        environment_settings as environment_settings,
        eval_folders as eval_folders,
        is_python as is_python,
        is_wide as is_wide,
    )
    from demeanor.agents.recipe import Recipe as Recipe, RecipeAgent as RecipeAgent, reader as reader
    from demeanor.agents.registry import (
        BUILT_IN as BUILT_IN,
        CODING_AGENTS as CODING_AGENTS,
        adapter as adapter,
        make_agent as make_agent,
        third_party as third_party,
    )
    from demeanor.agents.session_logs.read import (
        is_half_of_another as is_half_of_another,
        known_formats as known_formats,
        read_log_sessions as read_log_sessions,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "executables": "PACKAGE_ROOT find_executable package_paths why_missing",
        "folders": "agents_folder agents_folders record_file record_folder",
        "installer": "install install_package",
        "jsonl": "json_objects",
        "package": "Package find_program installed installed_version program_paths",
        "python_environment": "environment_of environment_settings eval_folders is_python is_wide",
        "recipe": "Recipe RecipeAgent reader",
        "registry": "BUILT_IN CODING_AGENTS adapter make_agent third_party",
        "session_logs.read": "is_half_of_another known_formats read_log_sessions",
    },
)
