"""Behavioural evals for coding agents. These names are what an author of evals imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast._version import __version__

if TYPE_CHECKING:
    from holdfast.core.policy import ALWAYS_PASSES, USUALLY_FAILS, USUALLY_PASSES, Policy
    from holdfast.core.scenario import Approval
    from holdfast.define.python.decorator import eval_test
    from holdfast.judge.rig import Rig
    from holdfast.judge.simulation import Stage

__all__ = [
    "ALWAYS_PASSES",
    "USUALLY_FAILS",
    "USUALLY_PASSES",
    "Approval",
    "Policy",
    "Rig",
    "Stage",
    "__version__",
    "eval_test",
]

_HOMES = {
    "ALWAYS_PASSES": "holdfast.core.policy",
    "USUALLY_FAILS": "holdfast.core.policy",
    "USUALLY_PASSES": "holdfast.core.policy",
    "Approval": "holdfast.core.scenario",
    "Policy": "holdfast.core.policy",
    "Rig": "holdfast.judge.rig",
    "Stage": "holdfast.judge.simulation",
    "eval_test": "holdfast.define.python.decorator",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that `import holdfast` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
