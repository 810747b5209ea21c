"""Known failures as regular expressions in a YAML file: `version`, and `patterns` with name, pattern and category.

Existing files can be used unchanged: patterns ignore case, and named groups may have the JavaScript form `(?<name>…)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from demeanor.config import LimitedPattern, Table
from demeanor.core.values.errors import BadInput

_JAVASCRIPT_GROUP = re.compile(r"\(\?<(?![=!])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pattern:
    """One known failure."""

    name: str
    """Its name."""

    expression: LimitedPattern
    """The regular expression."""

    category: str
    """The kind of failure: provider_bug, transient, harness, environment, policy, auth, or any other word."""

    issue: str | None = None
    """A link to its issue."""

    description: str = ""
    """What it means."""


def read_patterns(path: Path) -> tuple[Pattern, ...]:
    """The patterns of a file, in its order; raises BadInput."""
    import yaml

    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        raise BadInput("this file does not exist", where=path) from None
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", where=path) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise BadInput(f"is not valid YAML: {error}", where=path) from None
    table = Table(data, where=path)
    version = table.anything("version")
    if version is not None and str(version).split(".")[0] != "1":
        table.fail("version", f"unknown version {version!r}", "this reads version 1")
    patterns = tuple(_pattern(table) for table in table.tables("patterns"))
    table.finish()
    names = [pattern.name for pattern in patterns]
    for index, name in enumerate(names):
        if name in names[:index]:
            table.fail(f"patterns[{index}].name", f"{name!r} is used twice", "give each pattern a unique name")
    return patterns


def _pattern(table: Table) -> Pattern:
    source = table.text("pattern", required=True)
    try:
        expression = LimitedPattern(_JAVASCRIPT_GROUP.sub("(?P<", source), re.IGNORECASE)
    except re.error as error:
        table.fail("pattern", f"{source!r} is not a valid regular expression: {error}")
    if expression.search(""):
        table.fail(
            "pattern", f"{source!r} matches the empty string", "write a pattern that matches the text of a failure"
        )
    pattern = Pattern(
        name=table.text("name", required=True),
        expression=expression,
        category=table.text("category", required=True),
        issue=table.maybe_text("issue"),
        description=table.text("description"),
    )
    table.finish()
    return pattern
