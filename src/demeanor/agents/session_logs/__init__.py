"""Session files that coding agents write by themselves, read as sessions: one module per agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.agents.session_logs.read import (
        is_half_of_another as is_half_of_another,
        known_formats as known_formats,
        read_log_sessions as read_log_sessions,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "read": "is_half_of_another known_formats read_log_sessions",
    },
)
