"""Programs and the environments that they belong to: what an agent needs to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.agents.environments.executables import (
        PACKAGE_ROOT as PACKAGE_ROOT,
        find_executable as find_executable,
        package_paths as package_paths,
        python_paths as python_paths,
        why_missing as why_missing,
    )
    from demeanor.agents.environments.python_environment import (
        environment_of as environment_of,
        environment_settings as environment_settings,
        eval_folders as eval_folders,
        is_python as is_python,
        is_wide as is_wide,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "executables": "PACKAGE_ROOT find_executable package_paths python_paths why_missing",
        "python_environment": "environment_of environment_settings eval_folders is_python is_wide",
    },
)
