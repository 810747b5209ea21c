"""Contract cases: a message in one dialect, and what must be in its translation to another.

The cases are in `cases/*.json`, grouped into features. A feature has the same message in several dialects (`said`) and
lists what each dialect's version must contain (`expected`, by path; see runner.py for the operators), or once for
all of them (under `*`). Every pair of the two is a case, except those in `except`; `pairs` adds expectations for single
pairs. A stream is written as a list of its events, or as text if the exact bytes matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

from demeanor.core.text.wording import printable
from demeanor.gateway.dialects import DIALECTS

MessageKind: TypeAlias = Literal["request", "response", "stream"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One requirement for the translation of a message to another dialect."""

    name: str
    """As in `thinking/signed: anthropic → openai-chat`."""

    why: str
    """What breaks in an agent if it does not hold."""

    kind: MessageKind
    """A request, a whole response or a streamed one."""

    source: str
    """The dialect of the message."""

    target: str
    """The dialect to translate to."""

    body: bytes
    """The message."""

    expected: Mapping[str, Any]
    """What the output must contain, by path; a stream is checked in the form that `view.stream_view` returns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContractOutcome:
    """The outcome of one case for a converter, or of one probe for a server."""

    name: str
    """The name of the case or probe."""

    why: str
    """What breaks in an agent if it does not hold."""

    problems: tuple[str, ...] = ()
    """What was not as expected; empty if it passed."""

    notes: tuple[str, ...] = ()
    """Where it differs from other providers in a way that clients tolerate."""

    undecided: str = ""
    """Why it could not be decided; empty if it was."""

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.problems and not self.undecided

    def explain(self) -> str:
        """The name, why it matters, and what was not as expected."""
        lines = "\n".join(f"    {line}" for problem in self.problems for line in problem.splitlines())
        return f"{self.name}\n  {self.why}\n{printable(lines)}"


@cache
def cases() -> tuple[Case, ...]:
    """All cases, in the order of their files."""
    folder = resources.files("demeanor.gateway.contract") / "cases"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    return tuple(
        case
        for file in files
        for feature in json.loads(file.read_text(encoding="utf-8"))
        for case in _cases_of(file.name.removesuffix(".json"), feature)
    )


def _cases_of(group: str, feature: Mapping[str, Any]) -> Iterator[Case]:
    everywhere = feature["expected"].get("*")
    targets = feature["expected"] if everywhere is None else dict.fromkeys(DIALECTS, everywhere)
    for source, said in feature["said"].items():
        for target, expected in targets.items():
            pair = f"{source} → {target}"
            if pair in feature.get("except", ()):
                continue
            yield Case(
                name=f"{group}/{feature['name']}: {pair}",
                why=feature["why"],
                kind=feature["kind"],
                source=source,
                target=target,
                body=_body(feature["kind"], source, said),
                expected={**expected, **feature.get("pairs", {}).get(pair, {})},
            )


def _body(kind: MessageKind, source: str, said: Any) -> bytes:
    if isinstance(said, str):
        return said.encode()
    if kind != "stream":
        return json.dumps(said).encode()
    return b"".join(_event(source, chunk) for chunk in said)


def _event(source: str, chunk: Any) -> bytes:
    if isinstance(chunk, str):
        return f"data: {chunk}\n\n".encode()
    name = f"event: {chunk['type']}\n" if DIALECTS[source].names_events else ""
    return f"{name}data: {json.dumps(chunk)}\n\n".encode()
