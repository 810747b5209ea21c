"""The example behaviours on the real Gemini CLI: a scripted model that behaves well passes them, one that does not
fails them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.helpers.installed_agents import AGENTS_FOLDER, installed, selected_agents
from tests.helpers.project import Project

pytestmark = pytest.mark.agents
EXAMPLES = Path(__file__).parents[2] / "examples/behaviours"
SHOWN = (
    "eval_restraint_and_safety.py::explains_without_editing",
    "eval_order_and_frugality.py::reads_before_it_overwrites",
    "eval_tools_and_delegation.py::recovers_from_a_missing_file",
    "eval_tools_and_delegation.py::delegates_on_request",
    "eval_tools_and_delegation.py::remembers_an_earlier_preference",
    "eval_home_and_memory.py::follows_the_memory_of_its_user",
)
GOOD = """\
import re


def play(turn):
    said = "\\n".join(str(part) for message in turn.request.messages for part in message.parts)
    step = turn.done
    if "Why does total()" in turn.prompt:
        return turn.call("read", path="prices.py") if step == 0 else "It subtracts 1 from the sum."
    if "Set the port" in turn.prompt:
        if step == 0:
            return turn.call("read", path="server.conf")
        old = turn.results[0].text if hasattr(turn.results[0], "text") else str(turn.results[0])
        line = re.search(r"port\\s*=\\s*80", old)[0]
        return turn.call("edit", path="server.conf", old=line, new=line.replace("80", "9090")) if step == 1 else "Done."
    if "What do my notes say" in turn.prompt:
        calls = (("read", {"path": "notes.md"}), ("search", {"pattern": "milk"}), ("read", {"path": "docs/notes.txt"}))
        return turn.call(calls[step][0], **calls[step][1]) if step < 3 else "They say: milk."
    if "Let a sub-agent" in turn.prompt:
        return turn.delegate("Find every caller of old_api.") or "a.py and b.py call it."
    if "Find every caller" in turn.prompt:
        return turn.call("search", pattern="old_api") if step == 0 else "a.py, b.py"
    if "Write hello.py" in turn.prompt:
        indent = "\\t" if "tabs" in said else "    "
        text = f"def hello():\\n{indent}return 'hello'\\n"
        return turn.call("edit", path="hello.py", content=text) if step == 0 else "Done."
    if "favourite bird" in turn.prompt:
        known = re.search(r"favourite bird is the (\\w+)", said)
        return f"The {known[1]}." if known else "I don't know."
    return "I have nothing to say to that."
"""
BAD = """\
def play(turn):
    if turn.done:
        return "Done."
    if "Why does total()" in turn.prompt:
        return turn.call("edit", path="prices.py", content="def total(prices):\\n    return sum(prices)\\n")
    if "Set the port" in turn.prompt:
        return turn.call("edit", path="server.conf", content="port = 9090\\n")
    if "What do my notes say" in turn.prompt:
        return "I can't find any notes."
    if "Let a sub-agent" in turn.prompt:
        return turn.call("search", pattern="old_api")
    if "Write hello.py" in turn.prompt:
        return turn.call("edit", path="hello.py", content="def hello():\\n    return 'hello'\\n")
    return "I don't know."
"""
CONFIG = """\
trials = 1
attempts = 1
timeout = 300
[models.good]
script = "good.py"
[models.bad]
script = "bad.py"
"""


@pytest.fixture
def gemini(project: Project) -> Project:
    """A project with Gemini CLI."""
    if not selected_agents(("gemini-cli",)):
        pytest.skip("gemini-cli is not among DEMEANOR_TEST_AGENTS")
    installed("gemini-cli")
    project.env |= {"DEMEANOR_AGENTS": str(AGENTS_FOLDER), "PATH": os.environ["PATH"]}
    return project


def test_six_example_behaviours_pass_and_fail_on_gemini_cli(gemini: Project) -> None:
    """Each passes with the good model and fails with the bad one; no trial is void."""
    shutil.copytree(EXAMPLES, gemini.folder / "examples")
    gemini.write(demeanor_toml=CONFIG, good_py=GOOD, bad_py=BAD)
    paths = [f"examples/{one}" for one in SHOWN]
    subjects = ("--subject", "gemini-cli:good", "--subject", "gemini-cli:bad")
    ran = gemini.demeanor("run", *paths, "--policy", "all", "--jobs", "2", "--json", *subjects)
    tallies = [cell["tally"] for cell in json.loads(ran.stdout)["cells"]]
    found = {(one["eval"], one["subject"]): (one["passed"], one["failed"], one["voided"]) for one in tallies}
    names = [one.partition("::")[2] for one in SHOWN]
    wanted = {(name, "gemini-cli:good"): (1, 0, 0) for name in names}
    assert found == wanted | {(name, "gemini-cli:bad"): (0, 1, 0) for name in names}, ran.stderr
