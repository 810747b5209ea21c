"""MCP servers of an eval: fixtures and real programs, recorded and with faults, with the official client."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from demeanor.commands.agents import conformance
from tests.helpers.project import Project

AGENT = Path(__file__).parents[1] / "helpers" / "mcp_agent.py"
SERVER = Path(conformance.__file__).with_name("mcp_server.py")

CONFIG = f"""
[agents.client]
adapter = "command"
command = ["{sys.executable}", "{AGENT}", "{{mcp_config}}", "{{prompt}}"]
reads = ["{AGENT}"]

[agents.plain]
adapter = "command"
command = ["true", "{{prompt}}"]
"""

HTTP_SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("words")


@server.tool()
def secret_word(bird: str) -> str:
    return bird + "-8431"


server.run("streamable-http", port=int(sys.argv[1]), streamable_http_path="/words")
"""

EVALS = f'''
from pathlib import Path
from demeanor import USUALLY_PASSES, Fixture, FixtureTool, HttpServer, Reply, eval_test

github = Fixture({{
    "search": FixtureTool(
        description="Search the issues.",
        schema={{"query": "string"}},
        replies=[
            Reply("#17 {{query}} at start", when={{"query": "crash*"}}, times=1),
            Reply("try again later", when={{"query": "crash*"}}, error=True),
        ],
    ),
    "close": FixtureTool(schema={{"number": "integer"}}, replies="closed #{{number}}"),
}})

def good(stage):
    stage.call("github.search", query="crash")
    stage.call("github.close", number=17)

def bad(stage):
    stage.call("github.close", number=17)

@eval_test(
    USUALLY_PASSES,
    prompt="""call github.search {{"query": "crash"}}
call github.search {{"query": "crash on exit"}}
call github.close {{"number": "x"}}
call github.open {{}}
call github.close {{"number": 17}}""",
    mcp={{"github": github}},
    passes_on=good,
    fails_on=bad,
)
def searches_first(rig, result):
    search, close = rig.calls.named("github.search"), rig.calls.named("github.close")
    assert search.before(close).returned("#17 crash")
    assert rig.calls.named("github.close").where(number=17)

@eval_test(
    USUALLY_PASSES,
    prompt="""call words.secret_word {{"bird": "owl"}}
call words.secret_word {{"bird": "owl"}}""",
    files={{"server.py": Path({str(SERVER)!r}).read_text()}},
    mcp={{"words": ["{sys.executable}", "{{workspace}}/server.py"]}},
    faults=["tool:words.secret_word:500@1"],
)
def real_server(rig, result):
    assert rig.calls.named("words.secret_word").failed("HTTP 500").count() == 1
    assert rig.calls.named("words.secret_word").returned("owl-8431")
    assert [fault.kind for fault in rig.faults] == ["500@1"]

@eval_test(
    USUALLY_PASSES,
    prompt="""call github.search {{"query": "crash"}}
call words.secret_word {{"bird": "owl"}}
call words.secret_word {{"bird": "owl"}}""",
    files={{"server.py": {HTTP_SERVER!r}}},
    mcp={{
        "github": Fixture(github.tools, transport="http"),
        "words": HttpServer(["{sys.executable}", "{{workspace}}/server.py", "{{port}}"], path="/words"),
    }},
    faults=["tool:words.secret_word:500@1", "tool:github.close:500@1"],
    then=[["{sys.executable}", "-c", "print(40 + 2)"]],
)
def over_http(rig, result):
    assert rig.calls.named("github.search").returned("#17 crash").count() == 1
    assert rig.calls.named("words.secret_word").failed("HTTP 500").count() == 1
    assert rig.calls.named("words.secret_word").returned("owl-8431")
    assert rig.then[0].stdout.strip() == "42"

@eval_test(USUALLY_PASSES, prompt='call github.search {{"query": "slow"}}', mcp={{"github": github}})
def nothing_scripted(rig, result):
    assert True
'''


@pytest.fixture
def mcp_project(project: Project) -> Project:
    """Three evals with servers."""
    project.write(demeanor_toml=CONFIG, evals__eval_mcp_py=EVALS)
    return project


def run(project: Project, *words: str) -> tuple[dict[str, bool], str]:
    """Eval → whether its only trial passed, for those that could be judged; and all that was printed."""
    done = project.demeanor("run", "evals", "--policy", "all", "--trials", "1", "--json", *words)
    assert done.stdout.startswith("{"), done.stderr
    results = json.loads(done.stdout)["results"]
    return {one["scenarioId"]: trial["passed"] for one in results for trial in one["trials"]}, done.stdout


def test_a_fixture_and_a_real_server_are_used_recorded_and_broken(mcp_project: Project) -> None:
    """Good calls pass, a fault is injected into the first call only, and a call without a reply is void."""
    passed, printed = run(mcp_project, "--subject", "client")
    assert passed == {"searches_first": True, "real_server": True, "over_http": True}
    assert '"fixture"' in printed
    assert "the fixture github has no reply to search(query='slow')" in printed


def test_a_fault_of_the_command_line_reaches_the_tool(mcp_project: Project) -> None:
    """The first search fails, so the reply that may be given once is given to the second: the check sees it."""
    words = ("--subject", "client", "-k", "searches", "--fault", "tool:github.search:500@1-2")
    passed, _ = run(mcp_project, *words)
    assert passed == {"searches_first": False}
    trace = mcp_project.demeanor("trace", "searches_first").stdout
    assert "tool:github.search:500@1-2" in trace


def test_the_evals_prove_themselves_and_an_agent_without_a_client_is_skipped(mcp_project: Project) -> None:
    """The fixture replies in rehearsals, too; a fault of a tool that does not exist is refused."""
    done = mcp_project.demeanor("validate", "evals", "-k", "searches")
    assert done.returncode == 0, done.stdout + done.stderr
    done = mcp_project.demeanor("run", "evals", "--policy", "all", "--trials", "1", "--subject", "plain")
    assert "its command has no {mcp_config}" in done.stdout + done.stderr
    done = mcp_project.demeanor("run", "evals", "--policy", "all", "--fault", "tool:github.serch:500")
    assert done.returncode == 2
    assert "did you mean 'github.search'?" in done.stderr
