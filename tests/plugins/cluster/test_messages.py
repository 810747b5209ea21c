from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from demeanor.config.tables import Limit
from demeanor.core.values.fault import parse_faults
from demeanor.core.values.scenario import Approval, PriorMessage, Scenario
from demeanor.core.values.subject import Subject
from demeanor.plugins.cluster.messages import AttemptRequest, BadMessage, pack_message, unpack_message

REQUEST = AttemptRequest(
    run="r",
    nonce="n",
    eval="saves the note",
    scenario=Scenario(
        prompts=("one", "two"),
        params={"depth": [1, 2]},
        approval=Approval(default=("deny", "allow"), rules={"execute": "deny"}),
        messages=(PriorMessage(role="user", text="hello"),),
        faults=parse_faults(["429@1"], where="test"),
        network="none",
    ),
    subject=Subject(agent="native", model="large", settings={"a": {"b": 1}}, model_hash="abc"),
    number=2,
    attempt=3,
    timeout=4.5,
    start="00",
    cassette=b"\x00\xff",
    run_budget=Limit(usd=1.5),
)


def test_a_request_arrives_as_it_was_sent() -> None:
    """With everything that a scenario may have, and the attached text."""
    assert unpack_message(AttemptRequest, pack_message(REQUEST, b"body\nmore")) == (REQUEST, b"body\nmore")


@pytest.mark.parametrize(
    "change",
    [
        {"surprise": 1},
        {"number": "2"},
        {"scenario": {"prompts": "one"}},
        {"scenario": {"prompts": ["one"], "approval": {"default": "perhaps"}}},
        {"cassette": "%%%"},
        {"nonce": None},
    ],
)
def test_a_forged_message_is_refused(change: dict[str, Any]) -> None:
    """Unknown fields, and values of another type."""
    head, _, body = zlib.decompress(pack_message(REQUEST)).partition(b"\n")
    forged = zlib.compress(json.dumps({**json.loads(head), **change}).encode() + b"\n" + body)
    with pytest.raises(BadMessage):
        unpack_message(AttemptRequest, forged)


@pytest.mark.parametrize(
    "message", [b"", b"nonsense", "text", None, pack_message(REQUEST)[:-5], zlib.compress(b"[1]\n")]
)
def test_what_is_not_a_message_is_refused(message: object) -> None:
    """Cut off, not compressed, not JSON, not bytes."""
    with pytest.raises(BadMessage):
        unpack_message(AttemptRequest, message)
