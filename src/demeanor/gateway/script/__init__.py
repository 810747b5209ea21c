"""Scripted models: a Python function, rules in a YAML file, or the built-in model `scripted`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.gateway.script.loading import load_script as load_script
    from demeanor.gateway.script.model import Script as Script, ScriptedModel as ScriptedModel
    from demeanor.gateway.script.rule_reader import scripted as scripted
    from demeanor.gateway.script.tools import tool_arguments as tool_arguments
    from demeanor.gateway.script.turn import (
        Answer as Answer,
        ScriptOutput as ScriptOutput,
        Turn as Turn,
        Unable as Unable,
        user_text as user_text,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "loading": "load_script",
        "model": "Script ScriptedModel",
        "rule_reader": "scripted",
        "tools": "tool_arguments",
        "turn": "Answer ScriptOutput Turn Unable user_text",
    },
)
