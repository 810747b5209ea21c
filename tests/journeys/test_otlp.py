"""`export --format otlp`: spans in a file, and the same spans at a collector."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.helpers.project import Project

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert rig.workspace["notes.txt"].text == "buy bread\\n"
"""


@pytest.fixture
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A web server that reads requests as a collector does, and what it got."""
    got: list[ExportTraceServiceRequest] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            got.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", got
        server.shutdown()
        thread.join()


def attributes(one: Any) -> dict[str, Any]:
    """Name → value of a span or an event, in the JSON form."""
    return {item["key"]: next(iter(item["value"].values())) for item in one["attributes"]}


def ids_in_base64(fields: dict[str, Any]) -> dict[str, Any]:
    """The ids as protobuf's JSON has them: those of OTLP are hexadecimal."""
    ids = {"traceId", "spanId", "parentSpanId"} & fields.keys()
    return fields | {name: base64.b64encode(bytes.fromhex(fields[name])).decode() for name in ids}


def test_a_trial_is_a_trace(project: Project, collector: tuple[str, list[ExportTraceServiceRequest]]) -> None:
    """invoke_agent with its chats, its tool calls and its findings; the file and the collector get the same ids."""
    project.write(evals__eval_a_py=EVAL)
    run = project.demeanor(
        *("run", "--subject", "native:scripted", "--trials", "1", "--policy", "all", "--sandbox", "none")
    )
    assert run.returncode == 1, run.stdout + run.stderr
    wrote = project.demeanor("store", "export", "--format", "otlp", "--output", "spans.jsonl", "--content")
    assert wrote.returncode == 0, wrote.stderr
    (line,) = (project.folder / "spans.jsonl").read_text().splitlines()
    (resource,) = json.loads(line)["resourceSpans"]
    spans = {span["name"]: span for span in resource["scopeSpans"][0]["spans"]}
    agent, chat = spans["invoke_agent native"], spans["chat scripted"]
    tool = spans["execute_tool write_file"]
    assert chat["parentSpanId"] == tool["parentSpanId"] == agent["spanId"]
    assert len(bytes.fromhex(agent["traceId"])) == 16
    assert attributes(agent)["demeanor.verdict"] == "fail"
    assert int(attributes(chat)["gen_ai.usage.input_tokens"]) > 0
    assert "buy milk" in attributes(tool)["gen_ai.tool.call.arguments"]
    assert int(agent["startTimeUnixNano"]) <= int(chat["startTimeUnixNano"]) <= int(chat["endTimeUnixNano"])
    results = [attributes(event) for event in agent["events"] if event["name"] == "gen_ai.evaluation.result"]
    assert [one["gen_ai.evaluation.name"] for one in results][-1] == "verdict"
    assert [one["gen_ai.evaluation.score.value"] for one in results] == [0.0, 0.0]
    assert "buy bread" in results[0]["gen_ai.evaluation.explanation"]

    assert {span["kind"] for span in spans.values()} <= {1, 3}  # numbers, as the specification of the JSON form says
    parsed = ParseDict(json.loads(line, object_hook=ids_in_base64), TracesData())  # refuses unknown fields
    assert len(parsed.resource_spans[0].scope_spans[0].spans) == len(resource["scopeSpans"][0]["spans"])

    url, got = collector
    sent = project.demeanor("store", "export", "--format", "otlp", OTEL_EXPORTER_OTLP_ENDPOINT=url)
    assert (sent.returncode, sent.stdout) == (0, f"{url}/v1/traces: 1 attempt\n"), sent.stderr
    got.clear()
    sent = project.demeanor("store", "export", "--format", "otlp", "--endpoint", url)
    assert sent.returncode == 0, sent.stderr
    there = [span for request in got for one in request.resource_spans for span in one.scope_spans[0].spans]
    assert {span.span_id.hex() for span in there} == {span["spanId"] for span in spans.values()} | {
        span["spanId"] for span in resource["scopeSpans"][0]["spans"]
    }
    assert not [span for span in there for item in span.attributes if item.key == "gen_ai.tool.call.arguments"]


def test_mistakes_are_named(project: Project) -> None:
    """A switched-off SDK would export nothing; --endpoint is only for spans."""
    project.write(evals__eval_a_py=EVAL)
    project.demeanor("run", "--subject", "native:scripted", "--trials", "1", "--policy", "all", "--sandbox", "none")
    off = project.demeanor("store", "export", "--format", "otlp", OTEL_SDK_DISABLED="true")
    assert off.returncode == 70
    assert "unset OTEL_SDK_DISABLED" in off.stderr
    wrong = project.demeanor("store", "export", "--endpoint", "http://127.0.0.1:1")
    assert wrong.returncode == 2
    assert "--endpoint: is for --format otlp" in wrong.stderr
