"""Verbs of other packages: entry points of the group `demeanor.commands`.

The name of an entry point is the verb (`harbor`) or a sub-command of it (`harbor export`). It names a module like
`command.py` of our own verbs, with `arguments(parser)` and `run(args)`, and with `SUMMARY`, what the verb does.
`GROUP`, a heading of `demeanor --help`, and `EXAMPLES` are optional. Verbs of Demeanor itself take precedence.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from demeanor.core.entry_points import EntryPoint, installed, loaded
from demeanor.core.values.errors import UsageError

COMMANDS = "demeanor.commands"
_GROUP = "other packages"


def plugin_commands() -> Mapping[str, EntryPoint]:
    """The verbs and sub-commands, by name."""
    return {point.name: point for point in installed(COMMANDS)}


def plugin_module(name: str) -> Any:
    """The module of a verb or sub-command; raises UsageError if it can't be loaded."""
    return loaded(plugin_commands()[name])


def plugin_summaries(taken: Container[str]) -> dict[str, str]:
    """What each verb and sub-command does; without those that can't be loaded, and those of verbs that are `taken`."""
    names = sorted(name for name in plugin_commands() if name.partition(" ")[0] not in taken)
    return {name: module.SUMMARY for name in names if (module := _maybe(name)) is not None}


def plugin_groups(taken: Container[str]) -> dict[str, dict[str, str]]:
    """Group → verb → what it does, for `demeanor --help`."""
    groups: dict[str, dict[str, str]] = {}
    for name in sorted(name for name in plugin_commands() if " " not in name and name not in taken):
        module = _maybe(name)
        summary = getattr(module, "SUMMARY", "can't be loaded; try it to see why")
        groups.setdefault(getattr(module, "GROUP", _GROUP), {})[name] = summary
    return groups


def _maybe(name: str) -> Any:
    """The module; None if it can't be loaded: a package that is broken must not break the help."""
    try:
        return plugin_module(name)
    except UsageError:
        return None
