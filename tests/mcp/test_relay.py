"""The program between the agent and a real server, as the agent starts it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import demeanor.mcp
from demeanor.core.text.codec import encode
from demeanor.core.values.mcp_fixture import read_record, was_listed
from demeanor.mcp.record import ServerFile
from tests.mcp.test_probe import LIST, PROBE, READY, START

SERVER = """
from mcp.server import MCPServer

server = MCPServer("db")


@server.tool()
def search(query: str) -> str:
    return "row " + query


server.run()
"""
DIES = """
import sys

for _ in range({lines}):
    sys.stdin.readline()
print("no licence found", file=sys.stderr)
sys.exit(3)
"""
CALL = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x"}}}


def relay(tmp_path: Path, *server: str) -> subprocess.Popen[str]:
    """The relay to a server, which records in `log`."""
    file = tmp_path / "db.json"
    file.write_text(json.dumps(encode(ServerFile(name="db", log=str(tmp_path / "log"), seed=1))))
    command = [sys.executable, Path(demeanor.mcp.__file__).with_name("__main__.py"), file, "--", *server]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def python(tmp_path: Path, source: str) -> tuple[str, str]:
    """The command of a server with this source."""
    program = tmp_path / "server.py"
    program.write_text(source)
    return sys.executable, str(program)


def lines(*messages: object) -> str:
    return "".join(json.dumps(message) + "\n" for message in messages)


def test_a_client_that_does_not_wait_for_its_probe_can_initialize(tmp_path: Path):
    """The official SDK accepts the probe late on a busy machine, and would then refuse the handshake."""
    with relay(tmp_path, *python(tmp_path, SERVER)) as client:
        assert client.stdin
        assert client.stdout
        client.stdin.write(lines(PROBE, START, READY, LIST, CALL))
        client.stdin.flush()
        found = {one["id"]: one for one in (json.loads(client.stdout.readline()) for _ in range(4))}
        client.stdin.close()
        assert client.wait() == 0
    assert found[0]["error"]["code"] == -32601
    assert found[1]["result"]["serverInfo"]["name"] == "db"
    assert [tool["name"] for tool in found[2]["result"]["tools"]] == ["search"]
    record = (tmp_path / "log").read_text()
    assert was_listed(record)
    assert [call.result for call in read_record(record)] == ["row x"]


def test_a_server_that_ends_ends_the_relay_and_its_reason_is_recorded(tmp_path: Path):
    """The client keeps its end open: without this it would wait for an answer that never comes."""
    with relay(tmp_path, *python(tmp_path, DIES.format(lines=1))) as client:
        assert client.stdin
        assert client.stdout
        assert client.stderr
        client.stdin.write(lines(START))
        client.stdin.flush()
        assert client.wait() == 3
        assert client.stdout.read() == ""
        assert client.stderr.read() == "no licence found\n"
    record = json.loads((tmp_path / "log").read_text())
    assert record == {"failed": "its program ended with exit code 3: no licence found"}


def test_a_call_that_a_server_did_not_answer_is_recorded(tmp_path: Path):
    with relay(tmp_path, *python(tmp_path, DIES.format(lines=2))) as client:
        assert client.stdin
        client.stdin.write(lines(START, CALL))
        client.stdin.flush()
        assert client.wait() == 3
    (call,) = read_record((tmp_path / "log").read_text())
    assert (call.tool, call.arguments, call.result, call.succeeded) == ("search", {"query": "x"}, None, None)


def test_a_server_that_ends_because_the_client_left_has_not_failed(tmp_path: Path):
    with relay(tmp_path, *python(tmp_path, SERVER)) as client:
        assert client.stdin
        client.stdin.write(lines(START))
        client.stdin.close()
        assert client.wait() == 0
    assert not (tmp_path / "log").exists()
