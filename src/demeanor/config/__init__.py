"""Strict reading of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.config.config import (
        FILE as FILE,
        Config as Config,
        find_config as find_config,
        read_config as read_config,
        read_settings as read_settings,
        read_toml as read_toml,
        scheme_of as scheme_of,
    )
    from demeanor.config.engine_tables import ENGINES as ENGINES
    from demeanor.config.executor import (
        EXECUTORS as EXECUTORS,
        UnknownPlace as UnknownPlace,
        executor_at as executor_at,
    )
    from demeanor.config.fix import RULES as RULES, FixRules as FixRules, Guard as Guard
    from demeanor.config.limited_pattern import LimitedPattern as LimitedPattern, PatternTooSlow as PatternTooSlow
    from demeanor.config.providers import (
        WELL_KNOWN as WELL_KNOWN,
        KnownProvider as KnownProvider,
        asked_itself as asked_itself,
        maker_of as maker_of,
    )
    from demeanor.config.table import (
        Table as Table,
        describe as describe,
        path_problem as path_problem,
        read_whole as read_whole,
    )
    from demeanor.config.tables import (
        BuildRules as BuildRules,
        Limit as Limit,
        ReplayRules as ReplayRules,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "config": "Config FILE find_config read_config read_settings read_toml scheme_of",
        "engine_tables": "ENGINES",
        "executor": "EXECUTORS UnknownPlace executor_at",
        "fix": "FixRules Guard RULES",
        "limited_pattern": "LimitedPattern PatternTooSlow",
        "providers": "KnownProvider WELL_KNOWN asked_itself maker_of",
        "table": "Table describe path_problem read_whole",
        "tables": "BuildRules Limit ReplayRules",
    },
)
