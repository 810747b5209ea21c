"""Behavioural evals for coding agents: what an author of evals imports, and access to stored results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from demeanor._version import __version__

if TYPE_CHECKING:
    from demeanor.api import ResultStore, open_store
    from demeanor.core.values.mcp_fixture import Fixture, FixtureTool, HttpServer, Reply
    from demeanor.core.values.policy import ALWAYS_PASSES, USUALLY_FAILS, USUALLY_PASSES, Policy
    from demeanor.core.values.prefix import prefix
    from demeanor.core.values.scenario import Approval
    from demeanor.core.values.steering import Steer
    from demeanor.core.values.user import ScriptedUser, SimulatedUser, UserReply
    from demeanor.define import csv, eval_test, jsonl
    from demeanor.judge import Rig, Stage

__all__ = [
    "ALWAYS_PASSES",
    "USUALLY_FAILS",
    "USUALLY_PASSES",
    "Approval",
    "Fixture",
    "FixtureTool",
    "HttpServer",
    "Policy",
    "Reply",
    "ResultStore",
    "Rig",
    "ScriptedUser",
    "SimulatedUser",
    "Stage",
    "Steer",
    "UserReply",
    "__version__",
    "csv",
    "eval_test",
    "jsonl",
    "open_store",
    "prefix",
]

_MODULES = {
    "ALWAYS_PASSES": "demeanor.core.values.policy",
    "USUALLY_FAILS": "demeanor.core.values.policy",
    "USUALLY_PASSES": "demeanor.core.values.policy",
    "Approval": "demeanor.core.values.scenario",
    "Fixture": "demeanor.core.values.mcp_fixture",
    "FixtureTool": "demeanor.core.values.mcp_fixture",
    "HttpServer": "demeanor.core.values.mcp_fixture",
    "Reply": "demeanor.core.values.mcp_fixture",
    "Policy": "demeanor.core.values.policy",
    "Rig": "demeanor.judge.rig",
    "Stage": "demeanor.judge.simulation",
    "Steer": "demeanor.core.values.steering",
    "ScriptedUser": "demeanor.core.values.user",
    "SimulatedUser": "demeanor.core.values.user",
    "UserReply": "demeanor.core.values.user",
    "ResultStore": "demeanor.api",
    "csv": "demeanor.define.cases",
    "jsonl": "demeanor.define.cases",
    "eval_test": "demeanor.define.python.decorator",
    "open_store": "demeanor.api",
    "prefix": "demeanor.core.values.prefix",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that `import demeanor` is fast."""
    if name not in _MODULES:
        raise AttributeError(f"module 'demeanor' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
