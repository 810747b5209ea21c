"""Runs the contract: our own dialects, or somebody else's converter, against every case."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from demeanor.core.exchange import Request
from demeanor.gateway.contract.case import Case, Kind, cases
from demeanor.gateway.contract.expectation import unmet
from demeanor.gateway.contract.outcome import ContractOutcome
from demeanor.gateway.contract.view import stream_view
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Route

Converter: TypeAlias = Callable[[str, str, Kind, bytes], bytes]
"""Takes the dialect of a message, the dialect it is to be told in, what it is, and the message; gives the message."""


def run(convert: Converter | None = None, *, only: Iterable[Case] | None = None) -> tuple[ContractOutcome, ...]:
    """Every case through `convert`, which is our own where none is given."""
    return tuple(_run_one(case, convert or ours) for case in (cases() if only is None else only))


def ours(source: str, target: str, kind: Kind, body: bytes) -> bytes:
    """Our own converter."""
    reader, writer = DIALECTS[source], DIALECTS[target]
    route = (
        Route(wish="generate", model="gemini-2.5-pro", stream=False) if source == "gemini" else Route(wish="generate")
    )
    if kind == "request":
        return writer.write_request(reader.read_request(body, route)).body
    asked = Request(model="some-model", messages=(), extra={target: {"stream_options": {"include_usage": True}}})
    if kind == "response":
        return writer.write_response(reader.read_response(body), asked).body
    hearing, telling = reader.stream_reader(), writer.stream_writer(asked)
    told = [telling.write(delta) for delta in [*hearing.feed(body), *hearing.close()]]
    return b"".join(told) + telling.close()


def _run_one(case: Case, convert: Converter) -> ContractOutcome:
    try:
        output = convert(case.source, case.target, case.kind, case.body)
        seen = _seen(case, output)
    except Exception as error:  # noqa: BLE001 - whatever a foreign converter raises is its answer to this case
        return ContractOutcome(
            name=case.name, why=case.why, problems=(f"the converter raised {type(error).__name__}: {error}",)
        )
    return ContractOutcome(name=case.name, why=case.why, problems=tuple(unmet(seen, dict(case.expected))))


def _seen(case: Case, output: bytes) -> Any:
    return stream_view(case.target, output) if case.kind == "stream" else json.loads(output)
