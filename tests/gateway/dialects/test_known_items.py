"""An item of a request that was read before is not read again, and never mistaken for another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Malformed, Route
from demeanor.gateway.dialects.json_reader import read_unchanged
from demeanor.gateway.dialects.known_items import KnownItems
from demeanor.gateway.dialects.strict_json import MAX_DEPTH

GENERATE = Route(operation="generate", model="m")
LISTS = {"openai-chat": "messages", "anthropic": "messages", "openai-responses": "input", "gemini": "contents"}


class Reader:
    """Reads items, and counts them."""

    def __init__(self) -> None:
        self.read_items: list[dict[str, Any]] = []

    def read(self, item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        self.read_items.append(item)
        return "read", item


def test_an_equal_item_is_read_once():
    known, reader = KnownItems(), Reader()
    first = known.read({"role": "user", "content": [1, "ä\ud800"]}, reader.read)
    assert known.read({"role": "user", "content": [1, "ä\ud800"]}, reader.read) is first
    assert len(reader.read_items) == 1


@pytest.mark.parametrize(
    "other", ['{"a": 1.0, "b": 2}', '{"a": true, "b": 2}', '{"b": 2, "a": 1}', '{"a": "1", "b": 2}']
)
def test_items_that_python_may_call_equal_are_told_apart(other: str):
    """`1 == 1.0 == True` in Python, and the order of fields does not count."""
    known, reader = KnownItems(), Reader()
    known.read({"a": 1, "b": 2}, reader.read)
    assert json.dumps(known.read(json.loads(other), reader.read)[1]) == other


def test_two_readers_do_not_share_items():
    known, one, other = KnownItems(), Reader(), Reader()
    known.read({"a": 1}, one.read)
    known.read({"a": 1}, other.read)
    assert (len(one.read_items), len(other.read_items)) == (1, 1)


def test_what_was_not_repeated_for_long_is_forgotten():
    """The memory holds at most twice its size, and an item that is used stays."""
    known, reader = KnownItems(most=10_000), Reader()
    for number in range(1000):
        known.read({"number": number, "text": "x" * 100}, reader.read)
        known.read({"always": 1}, reader.read)
    assert len(reader.read_items) == 1001
    assert len(known) * 100 < 25_000
    known.read({"number": 0, "text": "x" * 100}, reader.read)
    assert len(reader.read_items) == 1002


def test_a_large_item_is_not_remembered():
    known, reader = KnownItems(), Reader()
    for _ in range(2):
        known.read({"text": "x" * 300_000}, reader.read)
    assert len(reader.read_items) == 2


def test_the_messages_of_two_requests_are_the_same_objects():
    body = {
        "messages": [{"role": "user", "content": "Hello."}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    one, other = (DIALECTS["openai-chat"].read_request(json.dumps(body).encode(), GENERATE) for _ in range(2))
    assert one.messages[0] is other.messages[0]
    assert one.tools[0] is other.tools[0]


@pytest.mark.parametrize("dialect", LISTS)
@pytest.mark.parametrize("field", ["list", "tools", "other"])
def test_nesting_is_limited_everywhere_in_a_request(dialect: str, field: str):
    """The body, its list and the item are levels, too."""
    read = DIALECTS[dialect].read_request
    deep: Any = "x"
    for _ in range(MAX_DEPTH - 2):
        deep = [deep]
    item = {"role": "user", "content": "a" * 2 * MAX_DEPTH, "parts": [{"text": "a"}], "more": deep}
    body: dict[str, Any] = {LISTS[dialect]: [{**item, "more": 1}]}
    if field == "list":
        body[LISTS[dialect]] = [item]
    elif field == "tools":
        body["tools"] = [{"type": "function", "name": "f", "function": {"name": "f"}, "more": deep}]
    else:
        body["other"] = [[deep]]
    with pytest.raises(Malformed, match="nested too deeply"):
        read(json.dumps(body).encode(), GENERATE)


def test_an_item_that_is_malformed_is_so_each_time():
    body = json.dumps({"messages": [{"role": 1}]}).encode()
    for _ in range(2):
        with pytest.raises(Malformed, match=r"messages\[0\]"):
            DIALECTS["openai-chat"].read_request(body, GENERATE)


def test_a_whole_list_is_read_once() -> None:
    """As the tools of a request, which an agent repeats; if one of them changes, only that one is read."""
    reader = Reader()
    tools = {"tools": [{"name": "a"}, {"name": "b"}]}
    first = read_unchanged(tools, "tools", reader.read)
    assert read_unchanged(json.loads(json.dumps(tools)), "tools", reader.read) is first
    assert len(reader.read_items) == 2
    other = read_unchanged({"tools": [{"name": "a"}, {"name": "c"}]}, "tools", reader.read)
    assert [item["name"] for _, item in other] == ["a", "c"]
    assert len(reader.read_items) == 3


def test_a_list_is_checked_like_its_items() -> None:
    """The error has the path, and nesting is limited to the same depth."""
    with pytest.raises(Malformed, match=r"^tools\[1\]\.item: expected an object, found int"):
        read_unchanged({"tools": [{}, 1]}, "tools", Reader().read)
    nested: Any = {}
    for _ in range(MAX_DEPTH - 3):
        nested = {"a": nested}
    assert len(read_unchanged({"tools": [nested]}, "tools", Reader().read)) == 1
    with pytest.raises(Malformed, match="nested too deeply"):
        read_unchanged({"tools": [{"a": nested}]}, "tools", Reader().read)
    assert read_unchanged({}, "tools", Reader().read) == ()
