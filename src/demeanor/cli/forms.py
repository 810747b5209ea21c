"""Forms of one verb, such as `report --failures`: an option of another form is refused, because it would be ignored."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping

from demeanor.core.values.errors import UsageError


def refuse_misfits(
    args: argparse.Namespace,
    arguments: Callable[[argparse.ArgumentParser], None],
    form: str,
    options: Mapping[str, Collection[str]],
) -> None:
    """Raise UsageError if the command line has an option that its form does not read.

    `options` are the names of the options of each form; the form `""` is the verb alone. What is in none of them fits
    all forms. An option counts as used if it differs from its default.
    """
    parser = argparse.ArgumentParser()
    arguments(parser)
    for action in parser._actions:
        forms = [name for name, own in options.items() if action.dest in own]
        if not action.option_strings or not forms or form in forms:
            continue
        if getattr(args, action.dest) == action.default:
            continue
        option = action.option_strings[-1]
        if form:
            raise UsageError(f"{option} does not go with {form}\n  → leave out one of them")
        raise UsageError(f"{option} needs {' or '.join(forms)}")
