"""Results of other tools, written by hand in their documented formats."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import zstandard


def put(path: Path, data: Any) -> Path:
    """Write a file, as JSON unless it is text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def vitest(**statuses: str) -> dict[str, Any]:
    """A report of vitest: `vitest(saves="passed")`."""
    tests = [
        {
            "ancestorTitles": ["memory"],
            "fullName": f"memory {name}",
            "title": name,
            "status": status,
            "duration": 1234.5,
            "failureMessages": ["AssertionError: it did not\n    at x.ts:3"] if status == "failed" else [],
            "meta": {},
        }
        for name, status in statuses.items()
    ]
    file = {"name": "/x/evals/memory.eval.ts", "status": "passed", "startTime": 1767225600000, "endTime": 1767225700000}
    return {
        "numTotalTests": len(tests),
        "numPassedTests": 1,
        "success": True,
        "startTime": 1767225600000,
        "testResults": [{**file, "message": "", "assertionResults": tests}],
    }


def a_night(folder: Path) -> Path:
    """The upload of one nightly workflow: two models, three attempts each."""
    for model in ("gemini-3-pro-preview", "gemini-2.5-flash"):
        for attempt in (1, 2, 3):
            status = "failed" if model.endswith("flash") and attempt == 2 else "passed"
            report = vitest(saves=status, asks="passed", component="skipped")
            put(folder / f"eval-logs-{model}-{attempt}" / "report.json", report)
    event = {"timestamp": "t", "testName": "asks", "model": "gemini-2.5-flash", "attempt": 4, "status": "SKIP"}
    lines = [event | {"errorCode": "503", "error": "overloaded"}, event | {"status": "RETRY", "testName": "saves"}]
    put(folder / "eval-logs-gemini-2.5-flash-3" / "api-reliability.jsonl", "\n".join(map(json.dumps, lines)) + '\n{"ha')
    return folder


CLINE = {
    "timestamp": "2026-01-02T03:04:05.678Z",
    "provider": "cline",
    "models": ["anthropic/claude-sonnet-4.5"],
    "scenarios": ["01-create-file"],
    "trialsPerTest": 3,
    "results": [
        {
            "scenarioId": "01-create-file",
            "scenarioName": "Create a file",
            "model": "anthropic/claude-sonnet-4.5",
            "modelId": "anthropic/claude-sonnet-4.5",
            "trials": [
                {"passed": True, "durationMs": 8000, "stdout": "done", "stderr": ""},
                {"passed": False, "error": "File not found: hello.txt", "durationMs": 9000, "stdout": "", "stderr": ""},
                {"passed": False, "error": "Authentication failed", "durationMs": 0, "stdout": "", "stderr": ""},
            ],
            "metrics": {"passAt1": 1, "passAt3": 1, "passCaret3": 0, "flakinessScore": 0.9},
            "status": "flaky",
        }
    ],
    "summary": {"total": 1, "passed": 0, "failed": 0, "flaky": 1, "passAt1Overall": 1, "passAt3Overall": 1},
}


def harbor_trial(name: str, *, reward: float | None, error: str | None = None, hour: int = 1) -> dict[str, Any]:
    """A trial's result.json."""
    return {
        "id": name,
        "task_name": "proto/greet",
        "trial_name": name,
        "task_checksum": "abcdef0123456789",
        "config": {"agent": {"name": "claude-code", "kwargs": {"max_turns": 3}}},
        "agent_info": {
            "name": "claude-code",
            "version": "2.0.1",
            "model_info": {"name": "sonnet", "provider": "anthropic"},
        },
        "agent_result": {"n_input_tokens": 1000, "n_cache_tokens": 10, "n_output_tokens": 50, "cost_usd": 0.0123},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": error and {"exception_type": error, "exception_message": "told", "exception_traceback": ""},
        "started_at": f"2026-01-02T{hour:02}:00:00Z",
        "finished_at": f"2026-01-02T{hour:02}:01:00Z",
        "agent_execution": {
            "started_at": f"2026-01-02T{hour:02}:00:10Z",
            "finished_at": f"2026-01-02T{hour:02}:00:40Z",
        },
    }


ATIF = {
    "schema_version": "ATIF-v1.6",
    "agent": {"name": "claude-code", "version": "2.0.1"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "greet"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "",
            "tool_calls": [
                {"tool_call_id": "1", "function_name": "Read", "arguments": {}},
                {"tool_call_id": "2", "function_name": "Write", "arguments": {}},
            ],
        },
        {"step_id": 3, "source": "agent", "message": "done"},
    ],
}


def a_job(folder: Path) -> Path:
    """A job of Harbor: five attempts at one task."""
    put(folder / "result.json", {"id": "job-1", "n_total_trials": 5, "stats": {}})
    trials = [
        harbor_trial("greet__a", reward=1.0, hour=1),
        harbor_trial("greet__b", reward=0.0, hour=2),
        harbor_trial("greet__c", reward=None, error="RewardFileNotFoundError", hour=3),
        harbor_trial("greet__d", reward=1.0, error="AgentTimeoutError", hour=4),
        harbor_trial("greet__e", reward=0.0, error="DaytonaSandboxError", hour=5),
    ]
    for trial in trials:
        put(folder / trial["trial_name"] / "result.json", trial)
    put(folder / "greet__a" / "agent" / "trajectory.json", ATIF)
    return folder


def inspect_log(path: Path, *, zstd: bool = False) -> Path:
    """A log of Inspect: one sample, three epochs and one that broke."""
    header = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "e1",
            "run_id": "r1",
            "created": "2026-01-02T03:04:05+00:00",
            "task": "file_ops",
            "task_id": "t1",
            "task_version": 2,
            "model": "openai/gpt-5",
            "solver": "claude_code",
            "revision": {"type": "git", "origin": "x", "commit": "abc123", "dirty": False},
        },
    }
    usage = {"openai/gpt-5": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}}
    sample = {"id": 7, "input": "x", "target": "y", "model_usage": usage, "total_time": 4.5}
    scores = [{"value": "C"}, {"value": 0.0}, {"value": float("nan")}]
    samples: list[dict[str, Any]] = [
        sample | {"epoch": epoch, "scores": {"match": score}} for epoch, score in enumerate(scores, 1)
    ]
    samples.append(sample | {"epoch": 4, "error": "RuntimeError: sandbox gone"})
    members = {"header.json": header, "summaries.json": samples, "samples/7_epoch_1.json": samples[0]}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if zstd else zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            content = json.dumps(data).encode()
            archive.writestr(name, zstandard.compress(content) if zstd else content)
    if zstd:
        _call_it_zstd(path, {name: len(json.dumps(data)) for name, data in members.items()})
    return path


def _call_it_zstd(path: Path, sizes: dict[str, int]) -> None:
    """Python before 3.14 can't write this method, so its number and the true sizes are put in by hand."""
    data = bytearray(path.read_bytes())
    for magic, method, size, name_at, name_length in ((b"PK\3\4", 8, 22, 30, 26), (b"PK\1\2", 10, 24, 46, 28)):
        at = data.find(magic)
        while at >= 0:
            length = int.from_bytes(data[at + name_length : at + name_length + 2], "little")
            name = data[at + name_at : at + name_at + length].decode()
            data[at + method : at + method + 2] = (93).to_bytes(2, "little")
            data[at + size : at + size + 4] = sizes[name].to_bytes(4, "little")
            at = data.find(magic, at + 4)
    path.write_bytes(bytes(data))


JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" timestamp="2026-01-02T03:04:05" tests="4">
<testcase classname="tests.test_a" name="test_one" time="1.5"/>
<testcase classname="tests.test_a" name="test_one" time="0.5"><failure message="1 == 2">E  assert</failure></testcase>
<testcase classname="tests.test_a" name="test_two"><error message="failed on setup">x</error></testcase>
<testcase classname="tests.test_a" name="test_three"><skipped message="no key"/></testcase>
</testsuite></testsuites>
"""
