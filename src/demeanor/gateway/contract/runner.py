"""Runs every contract case against the built-in dialects or a converter of the user."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from demeanor.core.values.errors import UsageError
from demeanor.core.values.exchange import Request
from demeanor.gateway.contract.case import Case, ContractOutcome, MessageKind, cases
from demeanor.gateway.contract.expectation import mismatches
from demeanor.gateway.contract.spelling import spellings
from demeanor.gateway.contract.view import stream_view
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Route

Converter: TypeAlias = Callable[[str, str, MessageKind, bytes], bytes]
"""Takes the message's dialect, the target dialect, the kind of message and the message; returns the translation."""


class NoConverter(UsageError):
    """There is nothing to check: the converter can't be started, or never answers."""


def run(convert: Converter | None = None, *, only: Iterable[Case] | None = None) -> tuple[ContractOutcome, ...]:
    """Run every case through `convert`, by default the built-in converter."""
    return tuple(_run_one(case, convert or builtin_converter) for case in (cases() if only is None else only))


def builtin_converter(source: str, target: str, kind: MessageKind, body: bytes) -> bytes:
    """The built-in converter."""
    reader, writer = DIALECTS[source], DIALECTS[target]
    route = (
        Route(operation="generate", model="gemini-2.5-pro", stream=False)
        if reader.model_in_path
        else Route(operation="generate")
    )
    if kind == "request":
        return writer.write_request(reader.read_request(body, route)).body
    asked = Request(model="some-model", messages=(), extra={target: {"stream_options": {"include_usage": True}}})
    if kind == "response":
        return writer.write_response(reader.read_response(body), asked).body
    stream_reader, stream_writer = reader.stream_reader(), writer.stream_writer(asked)
    events = [stream_writer.write(delta) for delta in [*stream_reader.feed(body), *stream_reader.close()]]
    return b"".join(events) + stream_writer.close()


def _run_one(case: Case, convert: Converter) -> ContractOutcome:
    try:
        output = convert(case.source, case.target, case.kind, case.body)
        parsed = _parse(case, output)
    except NoConverter:
        raise
    except Exception as error:  # noqa: BLE001 - an exception of the converter is its result for this case
        return ContractOutcome(
            name=case.name, why=case.why, problems=(f"the converter raised {type(error).__name__}: {error}",)
        )
    equivalent = spellings(parsed) if case.kind == "request" else ()
    problems = mismatches(parsed, dict(case.expected), equivalent=equivalent)
    return ContractOutcome(name=case.name, why=case.why, problems=tuple(problems))


def _parse(case: Case, output: bytes) -> Any:
    return stream_view(case.target, output) if case.kind == "stream" else json.loads(output)
