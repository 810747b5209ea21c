"""Keeps text of agents, evals and providers from being read as commands by a CI service.

CI services execute commands in the log of a job: `::set-env …` on GitHub, `##vso[…]` on Azure, `##teamcity[…]` on
TeamCity, `section_start:` on GitLab and `---` on Buildkite. Demeanor writes none of them itself, so on such a service
one character of each is written as an escape that JSON readers understand: `\\u003a:set-env`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SERVICES = {
    "GITHUB_ACTIONS": (r"^[ \t]*(:)(?=:|\Z)", r"#(#)(?=[\[]|\Z)"),
    "TF_BUILD": (r"#(#)(?=[\[v]|\Z)",),
    "TEAMCITY_VERSION": (r"#(#)(?=t|\Z)",),
    "GITLAB_CI": (r"section(_)(?=start:|end:|(?:s|st|sta|star|start|e|en|end)?\Z)",),
    "BUILDKITE": (
        r"^[ \t]*(-)(?=--|-?\Z)",
        r"^[ \t]*(\+)(?=\+\+|\+?\Z)",
        r"^[ \t]*(~)(?=~~|~?\Z)",
        r"^[ \t]*(\^)(?=\^\^|\^?\Z)",
    ),
}
"""The variable by which a service is recognised → the patterns of its commands; the group is escaped."""

_LINE = re.compile(r"[^\r\n]*[\r\n]*")
_REMEMBERED = 16
"""Characters of an unfinished line that are remembered: more than a command has before its escaped character."""


class CommandFilter:
    """Escapes commands in a stream of text, also if they are written in pieces."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """`environ` tells on which services this runs."""
        patterns = [pattern for name, service in _SERVICES.items() if environ.get(name) for pattern in service]
        self._patterns = [re.compile(pattern) for pattern in patterns]
        self._open = ""

    def __call__(self, text: str) -> str:
        """The next piece of text."""
        if not self._patterns:
            return text
        return "".join(self._line(match[0]) for match in _LINE.finditer(text) if match[0])

    def _line(self, line: str) -> str:
        """A line, or a piece of one; what came before it on the same line is remembered as far as it matters."""
        before = len(self._open)
        text = line.rstrip("\r\n")
        whole = self._open + text
        marks = {match.start(1) - before for pattern in self._patterns for match in pattern.finditer(whole)}
        if line != text or not whole.strip(" \t"):
            self._open = ""
        else:
            self._open = whole if len(whole) <= _REMEMBERED else "\0" + whole[-_REMEMBERED:]  # not a line's start
        if not marks:
            return line
        shown = "".join(f"\\u{ord(c):04x}" if at in marks else c for at, c in enumerate(text))
        return shown + line[len(text) :]


def neutral(text: str, environ: Mapping[str, str]) -> str:
    """A whole text without commands."""
    return CommandFilter(environ)(text)
