"""The line of a CI file that says what pip installs there: written by `init`, checked by `doctor`."""

from __future__ import annotations

import re
from pathlib import Path

from demeanor.core.installation import Origin

VARIABLE = "DEMEANOR_PACKAGE"

_FILES = (".github/workflows/*.y*ml", ".gitlab-ci.yml", ".gitlab/*.y*ml", ".buildkite/*.y*ml")
_EMPTY = re.compile(rf"""\s*{VARIABLE}:\s*(?:""|'')?\s*(?:#(?:.*demeanor\[(?P<extra>\w+)\])?.*)?""")


def package_line(origin: Origin, extra: str) -> str:
    """The line, in YAML. If other machines can't install the same Demeanor, a person has to fill it in."""
    requirement = origin.requirement(extra)
    if requirement:
        return f'{VARIABLE}: "{requirement}" # what pip installs'
    return f'{VARIABLE}: "" # FILL IN what pip installs, such as {example(extra)}'


def example(extra: str = "") -> str:
    """What a person may fill in."""
    return Origin(place="", pin=" @ git+https://HOST/OWNER/demeanor@COMMIT").requirement(extra)


def unfilled_lines(root: Path) -> dict[str, str]:
    """The lines of a project's CI files that are not filled in yet: FILE:LINE → the extra that its jobs need."""
    return {
        f"{path.relative_to(root)}:{number}": empty["extra"] or ""
        for pattern in _FILES
        for path in sorted(root.glob(pattern))
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1)
        if (empty := _EMPTY.fullmatch(line))
    }
