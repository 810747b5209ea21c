"""The first messages of a client, with the real server program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import demeanor.mcp
from demeanor.core.text.codec import encode
from demeanor.core.values.mcp_fixture import Fixture, FixtureTool
from demeanor.mcp.probe import Resumed, first_message
from demeanor.mcp.record import ServerFile

_META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
PROBE = {"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": _META}}
_CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
START = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _CLIENT}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}


def replies(tmp_path: Path, *messages: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """What the server program answers to these messages, which are sent at once: id → reply."""
    file = tmp_path / "words.json"
    fixture = Fixture({"lookup": FixtureTool(schema={"word": "string"}, replies="{word}")})
    told = ServerFile(name="words", log=str(tmp_path / "words.log"), seed=1, fixture=fixture)
    file.write_text(json.dumps(encode(told)))
    command = [sys.executable, Path(demeanor.mcp.__file__).with_name("__main__.py"), file]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
        server.stdin.flush()
        requests = [message for message in messages if "id" in message]
        found = [json.loads(server.stdout.readline()) for _ in requests]
        server.stdin.close()
    return {one["id"]: one for one in found}


def test_a_client_that_does_not_wait_for_its_probe_can_initialize(tmp_path: Path):
    """As a client does that asks for a newer protocol first, and gives up while the server is starting."""
    found = replies(tmp_path, PROBE, START, READY, LIST)
    assert found[0]["error"]["code"] == -32601
    assert found[1]["result"]["serverInfo"]["name"] == "words"
    assert [tool["name"] for tool in found[2]["result"]["tools"]] == ["lookup"]


def test_a_client_may_begin_with_the_handshake(tmp_path: Path):
    assert replies(tmp_path, START)[1]["result"]["protocolVersion"] == "2025-11-25"


def test_what_was_read_already_comes_before_the_rest():
    source, target = os.pipe()
    answers, told = os.pipe()
    os.write(target, json.dumps(PROBE).encode() + b"\nnot JSON\nlast\n")
    os.close(target)
    first = first_message(source, told)
    assert first == b"not JSON\n"
    assert json.loads(os.read(answers, 1000))["id"] == 0
    assert Resumed(first, source).readall() == b"not JSON\nlast\n"
    assert first_message(source, told) == b""
    for descriptor in (source, answers, told):
        os.close(descriptor)
