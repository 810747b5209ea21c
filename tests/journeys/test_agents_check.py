"""`demeanor agents`: list agents, and check their abilities with the conformance suite."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from demeanor.agents.recipes.codex import RECIPE as CODEX
from demeanor.agents.recipes.qwen_code import RECIPE as QWEN
from tests.helpers.project import Project

LIAR = '''\
"""An agent that calls its model, says that everything is done, and does nothing."""
import json, os, sys, urllib.request

prompt = sys.argv[1]
tools = [{"type": "function", "function": {"name": "write_file", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "content": {"type": "string"}}}}}]
body = {"model": "conformance", "messages": [{"role": "user", "content": prompt}], "tools": tools}
request = urllib.request.Request(
    os.environ["BASE"] + "/v1/chat/completions", json.dumps(body).encode(),
    {"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json"})
answer = json.load(urllib.request.urlopen(request))
print("Done: forty-two.")
'''
CONFIG = """\
[agents.liar]
adapter = "command"
command = ["{python}", "{liar}", "{{prompt}}"]
dialect = "openai-chat"
env = {{ BASE = "{{base_url}}", KEY = "{{token}}" }}
"""

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Hi")
def greets(rig, result):
    assert result
"""


def checked(project: Project, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the result of each ability."""
    ran = project.demeanor("agents", "check", *words, "--json")
    assert ran.stdout, ran.stderr
    (found,) = json.loads(ran.stdout).values()
    return ran.returncode, {one["ability"]: one for one in found}


QUICK = (
    *("create", "edit", "answer", "parallel", "tool-error", "calls", "exit-code", "turns", "messages", "deny"),
    *("malformed", "together"),
)


def test_our_own_agent_shows_every_ability(project: Project):
    """A correct agent passes, and the cassettes repeat it."""
    words = [word for name in (*QUICK, "thinking", "clean", "cut", "outage", "replay") for word in ("--ability", name)]
    code, found = checked(project, "native", *words)
    assert {name: one for name, one in found.items() if one["state"] != "shown"} == {}
    assert code == 0
    assert len(found) == 17


def test_an_agent_that_only_talks_fails(project: Project, tmp_path: Path):
    """Although it calls its model and exits with 0."""
    liar = tmp_path / "liar.py"
    liar.write_text(LIAR)
    project.write(demeanor_toml=CONFIG.format(python=sys.executable, liar=liar))
    code, found = checked(project, "liar", *(word for name in (*QUICK, "final-text") for word in ("--ability", name)))
    assert code == 1
    failed = {name for name, one in found.items() if one["state"] == "failed"}
    assert failed == {*QUICK, "final-text"} - {"answer", "deny", "messages", "calls", "exit-code"}
    assert "I begin with the file." in found["final-text"]["detail"]
    declared = {name for name, one in found.items() if one["state"] == "declared"}
    assert declared == {"deny", "messages", "calls", "exit-code"}
    assert "hello.txt" in found["create"]["detail"]


BEHAVIOUR = ("calls", "exit-code", "deny-kind", "search", "sub-agents", "mcp", "side-requests", "final-text")
ACP = """\
[agents.mine]
adapter = "acp"
command = ["{python}", "{agent}", "{lie}"]
reads = ["{agent}"]
dialect = "openai-chat"
env = {{ BASE = "{{base_url}}", KEY = "{{token}}" }}
"""


def check_liar(project: Project, lie: str, abilities: tuple[str, ...]) -> tuple[int, dict[str, dict[str, Any]]]:
    """The result for an agent that lies about one ability."""
    agent = Path(__file__).parents[1] / "helpers/acp_coding_agent.py"
    project.write(demeanor_toml=ACP.format(python=sys.executable, agent=agent, lie=lie))
    return checked(project, "mine", *(word for name in abilities for word in ("--ability", name)))


def test_an_honest_agent_shows_what_the_liars_below_pretend(project: Project):
    """Searches, sub-agents, MCP tools, side requests, denied kinds and the last message."""
    code, found = check_liar(project, "nothing", BEHAVIOUR)
    assert {name: one for name, one in found.items() if one["state"] != "shown"} == {}
    assert (code, set(found)) == (0, set(BEHAVIOUR))


@pytest.mark.parametrize(
    ("lie", "detail"),
    [
        ("exit-code", "it is not recorded whether run_shell_command succeeded"),
        ("deny-kind", "denied.txt"),
        ("search", "not found by grep"),
        ("sub-agents", "sub_agents"),
        ("mcp", "The word is unknown"),
        ("side-requests", "turns"),
    ],
)
def test_an_agent_that_lies_about_an_ability_is_found_out(project: Project, lie: str, detail: str):
    """It takes any command for a success, ignores a denial, finds nothing, does a sub-agent's work, or asks twice."""
    code, found = check_liar(project, lie, (lie,))
    assert (code, found[lie]["state"]) == (1, "failed"), found
    assert detail in found[lie]["detail"]


def test_an_ability_without_a_tool_is_unknown(project: Project, tmp_path: Path):
    """An agent that offers no tool for sub-agents neither shows the ability nor fails."""
    liar = tmp_path / "liar.py"
    liar.write_text(LIAR.replace('print("Done: forty-two.")', 'print(answer["choices"][0]["message"]["content"])'))
    project.write(demeanor_toml=CONFIG.format(python=sys.executable, liar=liar))
    code, found = checked(project, "liar", "--ability", "sub-agents", "--ability", "mcp")
    assert (code, found["sub-agents"]["state"], found["mcp"]["state"]) == (0, "unknown", "declared"), found
    assert "no tool on offer starts a sub-agent" in found["sub-agents"]["detail"]


SLOW = """\
import time
time.sleep(4)
"""


def test_an_agent_that_starts_slowly_gets_more_time(project: Project, tmp_path: Path):
    """A silent provider is not tested by an agent that was stopped before its first request."""
    slow = tmp_path / "slow.py"
    slow.write_text(SLOW + LIAR)
    project.write(demeanor_toml=CONFIG.format(python=sys.executable, liar=slow))
    code, found = checked(project, "liar", "--ability", "hang", "--timeout", "9", "--jobs", "1")
    assert (code, found["hang"]["state"]) == (0, "shown"), found


def test_an_agent_waits_for_a_failing_provider_while_other_trials_run(project: Project):
    """The longest trials start first, because they mostly wait; the results keep their order."""
    words = ("agents", "check", "native", "--jobs", "1", "--ability", "create", "--ability", "outage", "--json")
    ran = project.demeanor(*words)
    assert ran.stderr.index("outage: void") < ran.stderr.index("create: pass")
    assert [one["ability"] for one in json.loads(ran.stdout)["native"]] == ["create", "outage"]


def test_options_may_stand_before_the_names(project: Project, tmp_path: Path):
    """And after them; an unknown option is still an error."""
    for words in (("--dir", str(tmp_path), "no-such-agent"), ("no-such-agent", "--dir", str(tmp_path))):
        ran = project.demeanor("agents", "install", *words)
        assert (ran.returncode, "unknown adapter 'no-such-agent'" in ran.stderr) == (2, True), ran.stderr
    ran = project.demeanor("agents", "install", "--dri", str(tmp_path), "goose")
    assert (ran.returncode, "unknown option '--dri'\n  → did you mean '--dir'?" in ran.stderr) == (2, True), ran.stderr


def test_the_list_shows_every_adapter_and_its_limits(project: Project):
    """Also those that are not installed."""
    listed = project.demeanor("agents", PATH="/usr/bin:/bin")
    assert listed.returncode == 0, listed.stderr
    assert "goose" in listed.stdout
    assert "not installed" in listed.stdout
    assert "can't: deny" in listed.stdout
    one = json.loads(project.demeanor("agents", "list", "goose", "--json").stdout)
    assert [facts["name"] for facts in one] == ["goose"]
    assert set(one[0]) >= {"version", "path", "package", "dialects", "cannot", "tried"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("agents", "check"), "no agent is named"),
        (("agents", "check", "goose"), "demeanor agents install goose"),
        (("agents", "install", "goos"), "goose"),
        (("agents", "install", "goose@latest/../x"), "is not an exact version"),
        (("agents", "install", "goose@latest"), "write for example goose@"),
        (("agents", "install", "codex@0.166"), "'0.166' is not an exact version"),
        (("agents", "install", "aider@main"), "'main' is not an exact version"),
        (("agents", "check", "nobody"), "nobody"),
        (("run", "--subject", "goose:scripted", "evals"), "evals"),
    ],
)
def test_wrong_usage_is_reported_with_a_remedy(project: Project, words: tuple[str, ...], message: str):
    """Exit code 2, and nothing is created."""
    ran = project.demeanor(*words, PATH="/usr/bin:/bin")
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert message in ran.stderr
    assert not list((project.folder.parent / "home").rglob("*goose*"))


def test_an_agent_that_is_not_installed_is_a_mistake_and_nothing_is_run(project: Project):
    """The error says how to install it."""
    project.write(evals__eval_a_py=EVAL)
    ran = project.demeanor("run", "--subject", "goose:scripted", "--trials", "1", PATH="/usr/bin:/bin")
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert "demeanor agents install goose" in ran.stderr
    assert not (project.folder / "results").exists()


def test_doctor_reports_an_installation_whose_search_program_can_not_be_started(project: Project, tmp_path: Path):
    """Without `rg`, the search tools of the agent would fail in every trial."""
    package = QWEN.package
    folder = tmp_path / "qwen-code" / package.version
    program = package.program_in(folder)
    helper = folder / package.helpers[0].replace("*", "x64-linux")
    for path in (program, helper):
        path.parent.mkdir(parents=True)
        path.touch()
    project.write(demeanor_toml='subjects = ["qwen-code:scripted"]\n')
    told = project.demeanor("doctor", DEMEANOR_AGENTS=str(tmp_path))
    assert told.returncode == 1
    assert f"the installation of Qwen Code is incomplete: {helper} is not executable" in told.stdout
    assert "→ run `demeanor agents install qwen-code` again" in told.stdout
    helper.chmod(0o755)
    assert "incomplete" not in project.demeanor("doctor", DEMEANOR_AGENTS=str(tmp_path)).stdout


NPM = """\
#!/bin/sh
mkdir -p node_modules/.bin
printf '#!/bin/sh\\n' > node_modules/.bin/codex
chmod +x node_modules/.bin/codex
"""


def test_a_version_that_was_just_installed_is_used_or_the_message_says_how(project: Project, tmp_path: Path):
    """The tested version is used unless the configuration names another one; runs and lists say which, and why."""
    npm = tmp_path / "bin/npm"
    npm.parent.mkdir()
    npm.write_text(NPM)
    npm.chmod(0o755)
    env = {"PATH": f"{npm.parent}:/usr/bin:/bin", "DEMEANOR_AGENTS": str(tmp_path / "agents")}

    def installed(*words: str) -> str:
        ran = project.demeanor("agents", "install", *words, **env)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def listed() -> dict[str, Any]:
        (facts,) = json.loads(project.demeanor("agents", "list", "codex", "--json", **env).stdout)
        return dict(facts)

    newest, older = "0.1000.0", "0.999.0"
    assert "instead" not in installed(f"codex@{older}") + installed(f"codex@{newest}")
    assert newest in listed()["path"]
    assert "the newest that is installed; the tested version is" in listed()["why"]
    assert f'[agents.codex]\nversion = "{older}"\n' in installed(f"codex@{older}")
    del env["DEMEANOR_AGENTS"]
    program = f"{older}/node_modules/.bin/codex"
    assert "instead" not in installed(f"codex@{older}")
    told = installed(f"codex@{older}", "--dir", str(tmp_path / "own"))
    assert f'[agents.codex]\nprogram = "{tmp_path}/own/codex/{program}"\n' in told
    env["DEMEANOR_AGENTS"] = str(tmp_path / "agents")
    shutil.copytree(tmp_path / "agents/codex" / older, tmp_path / "agents/codex" / CODEX.package.version)
    assert f"also installed: {older}, {newest}" in listed()["why"]
    project.write(demeanor_toml=f'[agents.codex]\nversion = "{older}"\n')
    assert older in listed()["path"]
    assert listed()["why"] == "agents.codex.version in the configuration"
    assert "instead" not in installed(f"codex@{older}")
    project.write(demeanor_toml='[agents.codex]\nversion = "0.998.0"\n')
    assert "Codex 0.998.0 is not installed" in project.demeanor("agents", "check", "codex", **env).stderr


def test_a_registry_that_can_not_be_reached_is_exit_code_2(project: Project, tmp_path: Path):
    """Nothing is left of the installation."""
    for name, script in (("npm", "echo 'npm error code ENOTFOUND' >&2; exit 1"), ("node", "exit 0")):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    ran = project.demeanor("agents", "install", "goose", "--dir", str(tmp_path / "agents"), PATH=f"{tmp_path}/bin:/bin")
    assert (ran.returncode, "npm can't reach its registry" in ran.stderr) == (2, True), ran.stderr
    assert not [path for path in (tmp_path / "agents").rglob("*") if path.name != ".lock" and path.is_file()]
