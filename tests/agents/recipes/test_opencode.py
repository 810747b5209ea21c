"""opencode: how it is started, and how its output is read."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given

from demeanor.agents.recipes.opencode import RECIPE
from tests.agents.helpers import BASE_URL, NO_SHELL, PRIOR, agent, broken_lines, end, home_json, outline, sample, task

CONFIG = ".config/demeanor/opencode.json"


def test_its_prompt_comes_from_a_file():
    """As an argument it would reach the model in quotation marks, and numbers would break it."""
    orders = agent("opencode").orders(task('Say "007"  -x'))
    (launch,) = orders.launches
    assert launch.argv[:2] == ("/bin/sh", "-c")
    assert launch.argv[3:7] == ("/bench/home/.config/demeanor/prompt-1.txt", "", "the-agent", "run")
    assert orders.home_files[".config/demeanor/prompt-1.txt"] == b'Say "007"  -x'


def test_the_rg_of_its_installation_is_first_on_its_path(tmp_path: Path):
    """Its tools `glob` and `grep` start `rg`; the prompt is still its standard input."""
    program = RECIPE.package.program_in(tmp_path)
    helper = tmp_path / RECIPE.package.helpers[0].replace("{platform}", RECIPE.package.full_name[len("opencode-") :])
    for path, script in ((program, "cat; command -v rg"), (helper, "true")):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    made = agent("opencode", program=str(program)).orders(task("Find it.", home=tmp_path))
    prompt = tmp_path / ".config/demeanor/prompt-1.txt"
    prompt.parent.mkdir(parents=True)
    prompt.write_bytes(made.home_files[".config/demeanor/prompt-1.txt"])
    done = subprocess.run(made.launches[0].argv, capture_output=True, text=True, check=True)
    assert done.stdout == f"Find it.{helper}\n"


def test_its_provider_is_the_gateway_and_settings_are_merged():
    """The key is in an environment variable, not in the file."""
    orders = agent("opencode", dialect="anthropic", settings={"share": "manual"}).orders(task())
    config = home_json(orders, CONFIG)
    assert config["provider"]["demeanor"]["npm"] == "@ai-sdk/anthropic"
    assert config["provider"]["demeanor"]["options"]["baseURL"] == f"{BASE_URL}/v1"
    assert config["share"] == "manual"
    assert config["permission"] == {"*": "allow"}
    assert orders.launches[0].env["DEMEANOR_TOKEN"] == "demeanor-token"


def test_later_prompts_continue_and_prior_messages_are_imported():
    """Both use one session."""
    first, second = agent("opencode").orders(task("One.", "Two.")).launches
    assert "--continue" not in first.argv
    assert "--continue" in second.argv
    orders = agent("opencode").orders(task(messages=PRIOR))
    prior = home_json(orders, ".config/demeanor/prior.json")
    assert orders.launches[0].argv == ("the-agent", "import", "/bench/home/.config/demeanor/prior.json")
    assert [message["parts"][0]["text"] for message in prior["messages"]] == ["My name is Zebra.", "Hello."]
    assert prior["info"]["id"] in orders.launches[1].argv


def test_denied_tools_need_permission():
    """And the agent continues after a refusal."""
    config = home_json(agent("opencode").orders(task(approval=NO_SHELL)), CONFIG)
    assert config["permission"] == {"*": "allow", "bash": "ask"}
    assert config["experimental"]["continue_loop_on_deny"] is True


def test_its_output_is_read():
    """Recorded with invalid arguments (reported as a tool called `invalid`) and with reasoning."""
    events = agent("opencode").read_log((end(sample("opencode.jsonl")),), {})
    assert outline(events) == [
        (1, "write", {}, False),
        (2, "write", {"filePath": "hello.txt", "content": "Hello!\n"}, True),
        (3, "said", "Recovered."),
        (3, "thought", "Let me think about it."),
    ]


@given(broken_lines(sample("opencode.jsonl")))
def test_broken_output_does_not_crash_the_reader(log: str):
    """Random changes of real lines."""
    agent("opencode").read_log((end(log),), {})
