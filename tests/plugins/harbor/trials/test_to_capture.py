"""What an attempt left, gathered."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from demeanor.agents.native import BuiltinAgent
from demeanor.core.values.capture import Capture
from demeanor.core.values.exchange import Exchange, ProviderError, Request
from demeanor.core.values.fingerprints import TASK_ENVIRONMENT
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.trajectory import Called, Said
from demeanor.core.values.verdict import VoidCause
from demeanor.plugins.harbor.trials.result import NoTrial, TrialFolder
from demeanor.plugins.harbor.trials.to_capture import to_capture
from demeanor.runner.catalog import TaskAgent
from tests.plugins.harbor.trials.test_result import trial

FAILED = ProviderError(status=500, reason="server", message="oops")


def exchange(error: ProviderError | None = None) -> Exchange:
    """One question to a model, and whether it was answered."""
    return Exchange(number=1, dialect="openai-chat", request=Request(model="m", messages=()), error=error)


def seen(*exchanges: Exchange) -> Capture:
    """What was seen of an attempt on the wire."""
    return Capture(trial="greet/native:m/1", attempt=1, exchanges=exchanges, facts={"harbor": "0.24.0"})


def edited(folder: Path, name: str, changes: Mapping[str, Any], **files: str) -> TrialFolder:
    """A trial of Harbor's with other words in its result, and further logs of the agent."""
    shutil.copytree(trial(name).folder, folder / "trial")
    for path, text in files.items():
        (folder / "trial/agent" / path.replace("_", ".")).write_text(text)
    return TrialFolder(folder=folder / "trial", data={**trial(name).data, **changes})


def mishap(kind: str) -> dict[str, Any]:
    """An exception that Harbor noted."""
    return {"exception_info": {"exception_type": kind, "exception_message": "why"}}


ENDED = ProcessEnd(exit_code=0, seconds=9)


def test_rewards_versions_and_logs_are_part_of_the_capture():
    """Beside what was seen."""
    found = to_capture(seen(), ENDED, trial("rich"), TaskAgent(name="oracle"), "")
    assert (found.rewards, found.breakdown) == ({"reward": 0.5, "tests": 2.0, "style": 1.0}, None)
    assert found.facts == {"harbor": "0.24.0", "agent_version": "1.0.0"}
    assert found.task_files["verifier/test-stdout.txt"].text == "two of four passed\n"


def test_doing_nothing_is_known_as_a_whole_and_a_solution_is_not():
    """Neither has a model, or a log."""
    gaps = {
        name: to_capture(seen(), ENDED, trial("greet"), TaskAgent(name=name), "").gaps
        for name in ("nop", "oracle", "other")
    }
    assert gaps["nop"] == ()
    assert gaps["oracle"] == ("the task's own solution was run, which reports no calls",)
    assert gaps["other"] is None


def test_an_agents_own_time_out_is_noted_and_no_end_of_ours():
    """So the reward decides."""
    found = to_capture(seen(), ENDED, trial("slow"), TaskAgent(name="oracle"), "")
    assert [note.partition(":")[0] for note in found.notes] == ["AgentTimeoutError"]
    assert {end.ended_by for end in found.ends} == {"exit"}


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (ProcessEnd(exit_code=1, stdout=Output(text="no such agent")), "harbor exited with 1"),
        (ProcessEnd(exit_code=None, signal=15, ended_by="wall"), "harbor took too long and was killed"),
        (ProcessEnd(exit_code=None, signal=9), "harbor was killed by signal 9"),
    ],
)
def test_a_harbor_that_did_not_run_is_void(end: ProcessEnd, expected: str):
    """Also where it left a result."""
    for left in (trial("greet"), NoTrial(why="it left no result")):
        found = to_capture(seen(), end, left, TaskAgent(name="oracle"), "")
        assert found.breakdown is not None
        assert found.breakdown.cause is VoidCause.HARNESS
        assert found.breakdown.detail.startswith(expected)
        assert end.stdout.text in found.breakdown.detail
        assert found.rewards is None


def test_the_wire_knows_better_than_harbor_what_a_provider_did(tmp_path: Path):
    """Harbor guesses from what an agent printed."""
    guessed = edited(tmp_path, "greet", mishap("ApiRateLimitError"))
    unseen, answered, failed = (
        to_capture(seen(*exchanges), ENDED, guessed, TaskAgent(name="x"), "").breakdown
        for exchanges in ((), (exchange(),), (exchange(FAILED),))
    )
    assert unseen is not None
    assert unseen.cause is VoidCause.RATE_LIMIT
    assert (answered, failed) == (None, None)


def test_what_broke_elsewhere_is_not_put_down_to_the_provider(tmp_path: Path):
    """An environment that broke is void(sandbox), whatever the provider said last; a crash is the provider's."""
    broken = edited(tmp_path / "a", "greet", mishap("HealthcheckError"))
    crashed = edited(tmp_path / "b", "greet", mishap("RuntimeError"))
    sandbox = to_capture(seen(exchange(FAILED)), ENDED, broken, TaskAgent(name="x"), "").breakdown
    assert sandbox is not None
    assert sandbox.cause is VoidCause.SANDBOX
    assert to_capture(seen(exchange(FAILED)), ENDED, crashed, TaskAgent(name="x"), "").breakdown is None
    harness = to_capture(seen(exchange()), ENDED, crashed, TaskAgent(name="x"), "").breakdown
    assert harness is not None
    assert harness.cause is VoidCause.HARNESS


def test_a_container_that_podman_cant_start_is_void_with_the_remedy(tmp_path: Path):
    """Harbor's exception is a RuntimeError; in another environment it stays one."""
    what = {"exception_type": "RuntimeError", "exception_message": "runc: error setting rlimit type 7: not permitted"}
    broken = edited(tmp_path, "greet", {"exception_info": what})
    for environment, cause in {"podman": VoidCause.SANDBOX, "docker": VoidCause.HARNESS}.items():
        observed = replace(seen(), facts={TASK_ENVIRONMENT: environment})
        found = to_capture(observed, ENDED, broken, TaskAgent(name="x"), "").breakdown
        assert found is not None
        assert found.cause is cause
        assert ("→ set default_ulimits" in found.detail) is (environment == "podman")
        assert found.permanent is (environment == "podman"), "a further attempt would fail in the same way"


@pytest.mark.parametrize(
    ("kind", "permanent"),
    [
        ("SandboxUnsupportedError", True),
        ("SandboxStepFailedError", True),
        ("SandboxBuildFailedError", False),
    ],
)
def test_a_task_that_the_environment_refuses_is_not_tried_again(tmp_path: Path, kind: str, permanent: bool):
    """A step of its Dockerfile that failed is, since it may have needed the network."""
    found = to_capture(seen(), ENDED, edited(tmp_path, "greet", mishap(kind)), TaskAgent(name="x"), "").breakdown
    assert found is not None
    assert (found.cause, found.permanent) == (VoidCause.SANDBOX, permanent)


def test_folders_of_one_attempt_are_left_out(tmp_path: Path):
    """Else no two voids were the same."""
    where = f"{tmp_path}/trial/verifier/reward.txt"
    info = {"exception_type": "RewardFileNotFoundError", "exception_message": f"no file at {where}"}
    found = to_capture(
        seen(), ENDED, edited(tmp_path, "missing", {"exception_info": info}), TaskAgent(name="oracle"), ""
    )
    assert found.breakdown is not None
    first, *_ = found.breakdown.detail.splitlines()
    assert first == "RewardFileNotFoundError: no file at verifier/reward.txt"


def test_a_verifier_without_a_reward_is_void_with_the_end_of_its_output(tmp_path: Path):
    """That of its last step, which says why; nothing is added if it printed nothing."""
    info = {"exception_type": "RewardFileNotFoundError", "exception_message": "no reward"}
    missing = edited(tmp_path, "missing", {"exception_info": info})
    output = missing.folder / "verifier/test-stdout.txt"
    for text, added in {
        "one\n\x1b[31mno module json\n\n": "\nthe verifier's last line: no module json",
        " \n": "",
    }.items():
        output.parent.mkdir(exist_ok=True)
        output.write_text(text)
        found = to_capture(seen(), ENDED, missing, TaskAgent(name="oracle"), "").breakdown
        assert found is not None
        assert found.detail == f"RewardFileNotFoundError: no reward{added}"


def test_our_adapter_reads_the_native_log_before_harbors_trajectory_is_asked(tmp_path: Path):
    """One that it can't read is no reason to know nothing; where only a log tells, the trajectory has gaps."""
    said = json.dumps({"type": "said", "turn": 1, "text": "native"})
    atif = json.dumps({"steps": [{"source": "agent", "tool_calls": [{"tool_call_id": "1", "function_name": "Read"}]}]})
    both = edited(tmp_path / "a", "greet", {}, native_jsonl=said, trajectory_json=atif)
    native = to_capture(seen(), ENDED, both, BuiltinAgent(), "native.jsonl")
    assert native.log == (Said(turn=1, text="native"),)
    assert native.gaps is not None
    assert "own log reports" in native.gaps[0]
    spoiled = edited(tmp_path / "b", "greet", {}, native_jsonl='{"type": "said"}', trajectory_json=atif)
    (call,) = to_capture(seen(), ENDED, spoiled, BuiltinAgent(), "native.jsonl").log
    assert isinstance(call, Called)
