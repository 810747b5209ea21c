"""Scripted models: a Python function, rules in a YAML file, or the built-in model `scripted`."""

from demeanor.gateway.script.loading import load_script
from demeanor.gateway.script.model import Script, ScriptedModel
from demeanor.gateway.script.rule_reader import scripted
from demeanor.gateway.script.turn import Answer, Turn, Unable

__all__ = ["Answer", "Script", "ScriptedModel", "Turn", "Unable", "load_script", "scripted"]
