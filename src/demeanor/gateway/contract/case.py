"""A contract case: something said in one dialect, and what must be found when it is told in another.

The cases lie in `cases/*.json` as features. A feature says the same thing in several dialects (`said`) and lists what
must stand where in each of them (`expected`, by path; see expectation.py for the words). Every pair of the two is a
case, except those in `except`; what holds for one pair only stands in `pairs`. A stream is said as a list of its
events, or as text where its very letters matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["request", "response", "stream"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One thing that must hold when a message is told in another dialect."""

    name: str
    """As in `thinking/signed: anthropic → openai-chat`."""

    why: str
    """What breaks in an agent where it does not hold."""

    kind: Kind
    """A request, a whole response or a streamed one."""

    source: str
    """The dialect of the message."""

    target: str
    """The dialect it is to be told in."""

    body: bytes
    """The message."""

    expected: Mapping[str, Any]
    """What must stand where in the output; a stream is looked at as `view.stream_view` shows it."""


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
    for source, said in feature["said"].items():
        for target, expected in feature["expected"].items():
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


def _body(kind: Kind, source: str, said: Any) -> bytes:
    if isinstance(said, str):
        return said.encode()
    if kind != "stream":
        return json.dumps(said).encode()
    return b"".join(_event(source, chunk) for chunk in said)


def _event(source: str, chunk: Any) -> bytes:
    if isinstance(chunk, str):
        return f"data: {chunk}\n\n".encode()
    name = f"event: {chunk['type']}\n" if source in {"anthropic", "openai-responses"} else ""
    return f"{name}data: {json.dumps(chunk)}\n\n".encode()
