"""Gives an agent the MCP servers of its eval: commands or addresses for its adapter, files in HOME, and their records.

An agent starts a server by its command. Servers over HTTP are started before the agent, by a program that then runs it.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from demeanor.agents.environments import PACKAGE_ROOT, package_paths
from demeanor.core.installation import install_extra
from demeanor.core.text.bounded_output import bounded
from demeanor.core.text.codec import encode
from demeanor.core.values.agent import Orders, Task
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import BadInput, did_you_mean
from demeanor.core.values.eval import Eval
from demeanor.core.values.fault import Fault
from demeanor.core.values.mcp_fixture import (
    MCP_FOLDER,
    MCP_LOGS,
    Fixture,
    HttpServer,
    McpServer,
    over_http,
    read_record,
)
from demeanor.core.values.process import Launch, Output
from demeanor.core.values.sandbox_spec import Network
from demeanor.core.values.scenario import Scenario
from demeanor.mcp.record import ServerFile
from demeanor.runner.features.feature import Feature
from demeanor.runner.trial_so_far import TrialSoFar

_CANNOT_LISTEN = ("landlock",)
"""Sandboxes without a network of their own, which allow connections to the gateway only."""

_LAUNCHER = str(Path(PACKAGE_ROOT) / "demeanor" / "mcp" / "http_launch.py")
_PROGRAM = str(Path(PACKAGE_ROOT) / "demeanor" / "mcp" / "__main__.py")


class McpServers(Feature):
    """The servers of the eval, in `params`, where every adapter reads them: commands and addresses."""

    def check_sandbox(self, evals: Iterable[Eval], level: str, network: Network) -> None:
        for eval_ in evals:
            shared = (eval_.scenario.network or network) == "host"
            if level in _CANNOT_LISTEN and not shared and (names := _http_servers(eval_.scenario)):
                problem = f"{names[0]} is served over HTTP, but programs in the sandbox {level} can't listen at a port"
                remedy = 'choose transport="stdio", or another sandbox: --sandbox bubblewrap'
                raise BadInput(problem, where=eval_.source.path, key="mcp", remedy=remedy)

    def with_task(self, task: Task, scenario: Scenario) -> Task:
        if not scenario.mcp:
            return task
        task = replace(task, ports=task.ports or _free_ports(scenario))
        servers = {name: _given(task, name, scenario) for name in scenario.mcp}
        own = task.params.get("mcp_servers")
        return replace(
            task, params={**task.params, "mcp_servers": {**(own if isinstance(own, Mapping) else {}), **servers}}
        )

    def with_orders(self, orders: Orders, task: Task, scenario: Scenario) -> Orders:
        if not scenario.mcp:
            return orders
        files = {f"{MCP_FOLDER}/{name}.json": _file(task, name, scenario) for name in scenario.mcp}
        reads = package_paths()
        launches = (replace(launch, reads=(*launch.reads, *reads)) for launch in orders.launches)
        return replace(
            orders,
            program=orders.program or orders.launches[-1].argv[:1],
            launches=tuple(self.with_launch(launch, task, scenario) for launch in launches),
            home_files={**orders.home_files, **files},
        )

    def with_launch(self, launch: Launch, task: Task, scenario: Scenario) -> Launch:
        """The launch of an agent as that of its servers over HTTP, which then start the agent."""
        files = [_file_path(task, name) for name in _http_servers(scenario)]
        if not files:
            return launch
        return replace(launch, argv=(sys.executable, "-P", "-s", "-S", _LAUNCHER, *files, "--", *launch.argv))

    async def with_capture(self, capture: Capture, attempt: TrialSoFar) -> Capture:
        """What each server recorded; an empty text for one that the agent did not start."""
        run, scenario = attempt.run, attempt.trial.eval.scenario
        records: dict[str, Output] = {}
        for name in scenario.mcp:
            path = f"{MCP_FOLDER}/{name}.jsonl"
            content = run.sandbox.collect_files((path,)).get(path, b"")
            records[f"{MCP_LOGS}/{name}.jsonl"] = bounded(content, run.limits.output_bytes)
        notes = (*capture.notes, *_fault_notes(records, scenario))
        return replace(capture, task_files={**capture.task_files, **records}, notes=notes)


def _free_ports(scenario: Scenario) -> tuple[int, ...]:
    """Ports for the eval's servers over HTTP: one for each, and one for its program.

    They are free in the sandbox's own network. In one that is shared, another program can take a port before the
    server does; then the server does not start, and the trial is void.
    """
    with ExitStack() as stack:
        count = 2 * len(_http_servers(scenario))
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return tuple(int(server.getsockname()[1]) for server in servers)


def _http_servers(scenario: Scenario) -> list[str]:
    return [name for name, server in scenario.mcp.items() if over_http(server)]


def _ports(task: Task, name: str, scenario: Scenario) -> tuple[int, int]:
    """The port of a server over HTTP, and that of its program."""
    place = 2 * _http_servers(scenario).index(name)
    return task.ports[place], task.ports[place + 1]


def _given(task: Task, name: str, scenario: Scenario) -> list[str] | str:
    """What the agent is told: an address, or a command."""
    server = scenario.mcp[name]
    if over_http(server):
        path = server.path if isinstance(server, HttpServer) else "/mcp"
        return f"http://127.0.0.1:{_ports(task, name, scenario)[0]}{path}"
    words = [sys.executable, "-P", "-s", _PROGRAM, _file_path(task, name)]
    real = ["--", *(_filled(word, task) for word in server)] if isinstance(server, tuple) else []
    return [word.replace("{", "{{").replace("}", "}}") for word in (*words, *real)]


def _file_path(task: Task, name: str) -> str:
    return str(task.home / MCP_FOLDER / f"{name}.json")


def _filled(word: str, task: Task) -> str:
    return word.replace("{workspace}", str(task.workspace)).replace("{home}", str(task.home))


def _file(task: Task, name: str, scenario: Scenario) -> bytes:
    server = scenario.mcp[name]
    port, program_port = _ports(task, name, scenario) if over_http(server) else (0, 0)
    file = ServerFile(
        name=name,
        log=str(task.home / MCP_FOLDER / f"{name}.jsonl"),
        seed=task.seed,
        faults=tuple(fault for fault in scenario.faults if (fault.tool or "").startswith(f"{name}.")),
        fixture=server if isinstance(server, Fixture) else None,
        command=tuple(_filled(word, task) for word in server.command) if isinstance(server, HttpServer) else (),
        port=port,
        program_port=program_port,
    )
    return json.dumps(encode(file)).encode()


def _fault_notes(records: Mapping[str, Output], scenario: Scenario) -> Iterator[str]:
    """Notes on faults of tools that had no matching call."""
    done = {call.fault for output in records.values() for call in read_record(output.text)}
    for fault in scenario.faults:
        if fault.tool and fault.first is not None and str(fault) not in done:
            yield f"the fault {fault} was not injected: there was no such call"


def check_servers(evals: Iterable[Eval]) -> None:
    """Reject fixtures that can't be served here, and an eval's own faults of tools that it does not have."""
    for eval_ in evals:
        if any(isinstance(server, Fixture) for server in eval_.scenario.mcp.values()):
            missing = [name for name in ("mcp", "jsonschema") if find_spec(name) is None]
            if missing:
                problem = f"a fixture needs the Python package {missing[0]}, which is not installed"
                raise BadInput(problem, where=eval_.source.path, key="mcp", remedy=install_extra("mcp"))
        for fault in eval_.scenario.faults:
            if unknown := _unknown_tool(fault, eval_.scenario.mcp):
                raise BadInput(
                    f"{fault}: {unknown}", where=eval_.source.path, key="faults", remedy=_known([eval_], fault)
                )


def check_tool_faults(faults: Sequence[Fault], evals: Sequence[Eval]) -> None:
    """Reject a fault of the run whose tool no eval of the run has."""
    for fault in faults:
        if evals and all(_unknown_tool(fault, eval_.scenario.mcp) for eval_ in evals):
            problem = f"{fault}: no eval of this run has the tool {fault.tool}"
            raise BadInput(problem, where="faults", remedy=_known(evals, fault))


def faults_for(eval_: Eval, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Those faults of the run that can occur in an eval."""
    return tuple(fault for fault in faults if not _unknown_tool(fault, eval_.scenario.mcp))


def _unknown_tool(fault: Fault, servers: Mapping[str, McpServer]) -> str | None:
    if fault.tool is None:
        return None
    name, _, tool = fault.tool.partition(".")
    server = servers.get(name)
    if server is None:
        return f"the eval has no MCP server {name!r}"
    return f"{name} has no tool {tool!r}" if isinstance(server, Fixture) and tool not in server.tools else None


def _known(evals: Iterable[Eval], fault: Fault) -> str:
    names = [
        f"{name}.{tool}"
        for eval_ in evals
        for name, server in eval_.scenario.mcp.items()
        for tool in (server.tools if isinstance(server, Fixture) else ("TOOL",))
    ]
    return did_you_mean(fault.tool or "", names, f"known: {', '.join(dict.fromkeys(names)) or 'none'}")
