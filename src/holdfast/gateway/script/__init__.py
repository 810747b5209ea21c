"""Models played by a program, by rules in a YAML file, or by the rule-reader that ships with Holdfast."""

from holdfast.gateway.script.loading import load_script
from holdfast.gateway.script.model import Script, ScriptedModel
from holdfast.gateway.script.rule_reader import scripted
from holdfast.gateway.script.turn import Answer, Turn, Unable

__all__ = ["Answer", "Script", "ScriptedModel", "Turn", "Unable", "load_script", "scripted"]
