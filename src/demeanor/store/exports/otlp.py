"""Exports attempts as OpenTelemetry spans, by the semantic conventions for generative AI.

One trace per attempt: `invoke_agent` with a child `chat` for each model request and `execute_tool` for each tool call.
Each finding, and the verdict, is an event `gen_ai.evaluation.result` of `invoke_agent`. Ids are derived from the run
and the trial, so the same attempt always has the same ids.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context

from demeanor._version import __version__
from demeanor.core.values.dialects import DIALECT_FACTS
from demeanor.core.values.errors import StoreError
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.trajectory import Called, Event
from demeanor.core.values.verdict import Void

_SCORES = {"yes": 1.0, "no": 0.0, "pass": 1.0, "fail": 0.0}
"""Answers and outcomes that are a score; an unknown answer and a void trial have none."""

_CHUNK = 500
"""Spans per request to a collector."""


class _DerivedIds(IdGenerator):
    """Ids that follow from the attempt and the order of its spans."""

    def __init__(self) -> None:
        self._key, self._number = "", 0

    def begin(self, key: str) -> None:
        """Begin the trace of another attempt."""
        self._key, self._number = key, 0

    def generate_trace_id(self) -> int:
        """The id of the attempt's trace."""
        return int.from_bytes(sha256(self._key.encode()).digest()[:16], "big") or 1

    def generate_span_id(self) -> int:
        """The id of the attempt's next span."""
        self._number += 1
        return int.from_bytes(sha256(f"{self._key}\0{self._number}".encode()).digest()[:8], "big") or 1


class SpanExport:
    """The spans of a run, attempt by attempt. With `content`, arguments and results of tools are included."""

    def __init__(self, info: RunInfo, *, content: bool = False) -> None:
        self._run, self._content = info, content
        self._spans, self._ids = InMemorySpanExporter(), _DerivedIds()
        about = {"service.name": "demeanor", "service.version": __version__, "demeanor.run.id": info.id}
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({**about, **({"vcs.ref.head.revision": info.commit} if info.commit else {})}),
            shutdown_on_exit=False,
            id_generator=self._ids,
            span_limits=SpanLimits(max_events=100_000, max_span_attributes=1_000),
        )
        self._provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self._tracer: Tracer = self._provider.get_tracer("demeanor", __version__)

    def add(self, record: Record, events: Sequence[Event], exchanges: Sequence[Exchange]) -> None:
        """Add an attempt."""
        before = len(self._spans.get_finished_spans())
        self._ids.begin(f"{self._run.uid or self._run.id}/{record.trial}/{record.attempt}")
        start = datetime.fromisoformat(record.ended or self._run.started).timestamp()
        start -= record.spent.seconds if record.ended else 0.0
        agent = self._agent(record, start)
        parent = set_span_in_context(agent)
        ends: dict[str, float] = {}
        for exchange in exchanges:
            model = exchange.request.model
            span = self._tracer.start_span(
                f"chat {model}",
                parent,
                SpanKind.CLIENT,
                _chat(exchange),
                start_time=_nanoseconds(start + exchange.started),
            )
            if exchange.error:
                span.set_status(StatusCode.ERROR, exchange.error.message)
            span.end(_nanoseconds(start + exchange.ended))
            ends |= {call.id: exchange.ended for call in (exchange.response.calls if exchange.response else ())}
        for call in (event for event in events if isinstance(event, Called)):
            began = start + (ends.get(call.id, 0.0) if call.at is None else call.at)
            self._call(call, parent, began, began + (call.seconds or 0.0))
        _add_findings(agent, record, _nanoseconds(start + record.spent.seconds))
        agent.end(_nanoseconds(start + record.spent.seconds))
        if len(self._spans.get_finished_spans()) == before:
            raise StoreError("the OpenTelemetry SDK is switched off\n  → unset OTEL_SDK_DISABLED")

    def _agent(self, record: Record, start: float) -> Span:
        name, _, model = record.subject.partition(":")
        spent = record.spent
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.agent.version": record.agent_version,
            "gen_ai.request.model": model or None,
            "gen_ai.conversation.id": f"{self._run.id}/{record.trial}/{record.attempt}",
            "gen_ai.usage.input_tokens": spent.input_tokens,
            "gen_ai.usage.output_tokens": spent.output_tokens,
            "demeanor.cost_usd": spent.cost_usd,
            "demeanor.eval": record.eval,
            "demeanor.subject": record.subject,
            "demeanor.trial": record.number,
            "demeanor.attempt": record.attempt,
            "demeanor.verdict": record.verdict.outcome,
        }
        span = self._tracer.start_span(
            f"invoke_agent {name}", None, SpanKind.INTERNAL, _known(attributes), start_time=_nanoseconds(start)
        )
        if isinstance(record.verdict, Void):
            span.set_attribute("error.type", record.verdict.cause.value)
            span.set_status(StatusCode.ERROR, record.verdict.reason)
        return span

    def _call(self, call: Called, parent: Any, began: float, ended: float) -> None:
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "demeanor.tool.kind": call.kind.value,
        }
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = call.raw or json.dumps(dict(call.arguments), ensure_ascii=False)
            attributes["gen_ai.tool.call.result"] = call.result
        name = f"execute_tool {call.tool}"
        span = self._tracer.start_span(
            name, parent, SpanKind.INTERNAL, _known(attributes), start_time=_nanoseconds(began)
        )
        if call.succeeded is False:
            span.set_attribute("error.type", "tool_error")
            span.set_status(StatusCode.ERROR)
        span.end(_nanoseconds(ended))

    def finished(self) -> tuple[ReadableSpan, ...]:
        """All spans so far."""
        return self._spans.get_finished_spans()


def _chat(exchange: Exchange) -> Mapping[str, Any]:
    response, sampling = exchange.response, exchange.request.sampling
    facts = DIALECT_FACTS.get(exchange.dialect)
    return _known(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": facts.provider if facts else exchange.dialect,
            "gen_ai.request.model": exchange.request.model,
            "gen_ai.request.temperature": sampling.temperature,
            "gen_ai.request.max_tokens": sampling.max_tokens,
            "gen_ai.request.seed": sampling.seed,
            "gen_ai.response.id": response.id if response else None,
            "gen_ai.response.model": response.model if response else None,
            "gen_ai.response.finish_reasons": [response.stop.value] if response else None,
            "gen_ai.usage.input_tokens": response.usage.input if response else None,
            "gen_ai.usage.output_tokens": response.usage.output if response else None,
            "error.type": exchange.error.reason if exchange.error else None,
        }
    )


def _add_findings(span: Span, record: Record, when: int) -> None:
    """The answer of each check, and the verdict, as events."""
    verdict = record.verdict
    reason = "" if verdict.outcome == "pass" else verdict.reason
    answers = [(finding.check, finding.answer, finding.reason) for finding in verdict.findings]
    for name, label, why in (*answers, ("verdict", verdict.outcome, reason)):
        attributes = {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.label": str(label),
            "gen_ai.evaluation.score.value": _SCORES.get(label),
            "gen_ai.evaluation.explanation": why or None,
        }
        span.add_event("gen_ai.evaluation.result", _known(attributes), when)


def as_lines(spans: Iterable[ReadableSpan]) -> str:
    """The spans as OTLP JSON, one request per line, as the collector's file receiver reads them."""
    from google.protobuf.json_format import MessageToDict

    all_spans = list(spans)
    chunks = [all_spans[start : start + _CHUNK] for start in range(0, len(all_spans), _CHUNK)]
    requests = (MessageToDict(encode_spans(chunk), use_integers_for_enums=True) for chunk in chunks)
    return "".join(json.dumps(_with_hex_ids(request)) + "\n" for request in requests)


def send_spans(spans: Iterable[ReadableSpan], url: str) -> None:
    """Send the spans to a collector; raises StoreError if it does not accept all of them."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    exporter: Any = OTLPSpanExporter(endpoint=url)
    all_spans = list(spans)
    try:
        for start in range(0, len(all_spans), _CHUNK):
            if exporter.export(all_spans[start : start + _CHUNK]) is not SpanExportResult.SUCCESS:
                sent = f"{start} of {len(all_spans)} spans were accepted"
                raise StoreError(f"{url}: the collector did not accept the spans ({sent})\n  → is it running there?")
    finally:
        exporter.shutdown()


def _with_hex_ids(value: Any) -> Any:
    """OTLP writes ids in hex, where the usual JSON form of protobuf writes base64."""
    import base64

    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {key: base64.b64decode(item).hex() if key in ids else _with_hex_ids(item) for key, item in value.items()}


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
