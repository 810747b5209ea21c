"""Servers over HTTP, as the sandbox starts them: before the agent, which is their client, until it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import demeanor.mcp
from demeanor.core.text.codec import encode
from demeanor.core.values.fault import parse_faults
from demeanor.core.values.mcp_fixture import Fixture, FixtureTool, Reply, read_record, was_listed
from demeanor.mcp.record import ServerFile
from tests.mcp.test_relay import python

LAUNCHER = Path(demeanor.mcp.__file__).with_name("http_launch.py")
CLIENT = """
import asyncio, sys
from mcp import Client


async def main(url, *queries):
    async with Client(url) as client:
        print([tool.name for tool in (await client.list_tools()).tools])
        for query in queries:
            answer = await client.call_tool("search", {"query": query})
            print(answer.is_error, "".join(block.text for block in answer.content))


asyncio.run(main(*sys.argv[1:]))
"""
SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("db")


@server.tool()
def search(query: str) -> str:
    return "row " + query


server.run("streamable-http", port=int(sys.argv[1]), json_response=sys.argv[2:] == ["json"])
"""
FIXTURE = Fixture(
    {"search": FixtureTool(schema={"query": "string"}, replies=Reply("row {query}", when={"query": "x*"}))},
    transport="http",
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def launch(tmp_path: Path, file: ServerFile, *agent: str) -> subprocess.Popen[str]:
    """The agent, with a server that records in `log`."""
    path = tmp_path / "db.json"
    path.write_text(json.dumps(encode(file)))
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, LAUNCHER, path, "--", *agent], stdout=pipe, stderr=pipe, text=True)


def server_file(
    tmp_path: Path, *faults: str, fixture: Fixture | None = None, command: Sequence[str] = ()
) -> ServerFile:
    return ServerFile(
        name="db",
        log=str(tmp_path / "log"),
        seed=1,
        faults=parse_faults(faults, where="the test"),
        fixture=fixture,
        command=tuple(command),
        port=free_port(),
        program_port=free_port(),
    )


def client_command(tmp_path: Path, file: ServerFile, *queries: str) -> list[str]:
    """The official client."""
    program = tmp_path / "client.py"
    program.write_text(CLIENT)
    return [sys.executable, "-u", str(program), f"http://127.0.0.1:{file.port}/mcp", *queries]


def client(tmp_path: Path, file: ServerFile, *queries: str) -> list[str]:
    """What the official client prints."""
    with launch(tmp_path, file, *client_command(tmp_path, file, *queries)) as agent:
        printed, errors = agent.communicate()
    assert agent.returncode == 0, errors
    return printed.splitlines()


def record(tmp_path: Path) -> str:
    return (tmp_path / "log").read_text()


def servers(tmp_path: Path, kind: str) -> ServerFile:
    """A fixture, or a real program that answers with JSON or with a stream of events."""
    if kind == "fixture":
        return server_file(tmp_path, "tool:db.search:500@2", fixture=FIXTURE)
    command = (*python(tmp_path, SERVER), "{port}", kind)
    return server_file(tmp_path, "tool:db.search:500@2", command=command)


@pytest.mark.parametrize("kind", ["fixture", "json", "events"])
def test_calls_are_answered_recorded_and_broken(tmp_path: Path, kind: str):
    """The official client, with a fixture and with a real server."""
    file = servers(tmp_path, kind)
    assert client(tmp_path, file, "x1", "x2", "x3") == [
        "['search']", "False row x1", "True HTTP 500", "False row x3"
    ]  # fmt: skip
    assert was_listed(record(tmp_path))
    calls = list(read_record(record(tmp_path)))
    assert [(call.arguments["query"], call.result, call.succeeded, call.fault) for call in calls] == [
        ("x1", "row x1", True, ""),
        ("x2", "HTTP 500", False, "tool:db.search:500@2"),
        ("x3", "row x3", True, ""),
    ]
    with socket.socket() as again:  # nobody listens any more
        again.bind(("127.0.0.1", file.port))


def test_a_call_without_a_reply_is_recorded_as_such(tmp_path: Path):
    found = client(tmp_path, server_file(tmp_path, fixture=FIXTURE), "y")
    assert found[1] == "True the fixture has no reply to search(query='y')"
    (call,) = read_record(record(tmp_path))
    assert call.unanswered


@pytest.mark.parametrize("kind", ["fixture", "json"])
def test_a_server_that_exits_refuses_further_calls(tmp_path: Path, kind: str):
    faults = parse_faults(["tool:db.search:refused@1"], where="the test")
    file = replace(servers(tmp_path, kind), faults=faults)
    with launch(tmp_path, file, *client_command(tmp_path, file, "x1")) as agent:
        assert agent.communicate()[0] == "['search']\n"
    assert agent.returncode == 1, "the client has lost its connection"
    assert [call.fault for call in read_record(record(tmp_path))] == ["tool:db.search:refused@1"]


@pytest.mark.parametrize(("words", "code"), [("exit 7", 7), ("kill -KILL $$", -signal.SIGKILL)])
def test_the_end_of_the_agent_is_passed_on(tmp_path: Path, words: str, code: int):
    """Its exit code or its signal, and its output."""
    with launch(
        tmp_path, server_file(tmp_path, fixture=FIXTURE), "sh", "-c", f"echo out; echo err >&2; {words}"
    ) as agent:
        assert agent.communicate() == ("out\n", "err\n")
    assert agent.returncode == code


def test_the_agent_may_end_in_its_own_way_when_it_is_told_to(tmp_path: Path):
    """The sandbox sends SIGTERM to all processes; the launcher waits for the agent."""
    script = "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    with launch(tmp_path, server_file(tmp_path, fixture=FIXTURE), "sh", "-c", f"{script}") as agent:
        assert agent.stdout
        assert agent.stdout.readline() == "ready\n"
        (child,) = (
            pid
            for pid in Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
            if b"trap" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
        agent.send_signal(signal.SIGTERM)
        os.kill(int(child), signal.SIGTERM)
        assert agent.stdout.read() == "bye\n"
        assert agent.wait() == 3


def test_the_reason_is_recorded_if_a_program_ends(tmp_path: Path):
    """The client gets an error instead of waiting."""
    source = "import sys\nprint('no licence found', file=sys.stderr)\nsys.exit(3)\n"
    file = server_file(tmp_path, command=(*python(tmp_path, source), "{port}"))
    with launch(tmp_path, file, *client_command(tmp_path, file)) as agent:
        agent.communicate()
    assert agent.returncode == 1
    assert json.loads(record(tmp_path)) == {"failed": "its program ended with exit code 3: no licence found"}


def test_the_agent_is_not_started_if_a_port_is_taken(tmp_path: Path):
    """It could talk to the server of another trial."""
    file = server_file(tmp_path, fixture=FIXTURE)
    with socket.create_server(("127.0.0.1", file.port)), launch(tmp_path, file, "echo", "started") as agent:
        assert agent.communicate()[0] == ""
    assert agent.returncode == 1
    assert f"port {file.port}" in json.loads(record(tmp_path))["failed"]


def test_a_program_that_does_not_exist_is_named(tmp_path: Path):
    file = server_file(tmp_path, fixture=FIXTURE)
    with launch(tmp_path, file, "no-such-program") as agent:
        assert "no-such-program" in agent.communicate()[1]
    assert agent.returncode == 127
