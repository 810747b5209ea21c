"""opencode: how it is started, and what its output tells."""

from __future__ import annotations

from hypothesis import given

from tests.agents.told import NO_SHELL, PRIOR, agent, end, hostile, in_file, outline, sample, task

CONFIG = ".config/demeanor/opencode.json"


def test_its_prompt_comes_from_a_file():
    """Among its arguments it would be put in quotation marks, and numbers would break it."""
    orders = agent("opencode").orders(task('Say "007"  -x'))
    (launch,) = orders.launches
    assert launch.argv[:4] == ("/bin/sh", "-c", 'exec "$@" < "$0"', "/bench/home/.config/demeanor/prompt-1.txt")
    assert launch.argv[4:6] == ("the-agent", "run")
    assert orders.home_files[".config/demeanor/prompt-1.txt"] == b'Say "007"  -x'


def test_its_provider_is_the_gateway_and_settings_are_laid_over():
    """The key is not in the file, but in a variable."""
    orders = agent("opencode", dialect="anthropic", settings={"share": "manual"}).orders(task())
    config = in_file(orders, CONFIG)
    assert config["provider"]["demeanor"]["npm"] == "@ai-sdk/anthropic"
    assert config["provider"]["demeanor"]["options"]["baseURL"] == "http://127.0.0.1:8/t/1/v1"
    assert config["share"] == "manual"
    assert config["permission"] == {"*": "allow"}
    assert orders.launches[0].env["DEMEANOR_TOKEN"] == "hf-token"


def test_further_prompts_continue_and_an_earlier_conversation_is_imported():
    """In both cases there is one session."""
    first, second = agent("opencode").orders(task("One.", "Two.")).launches
    assert "--continue" not in first.argv
    assert "--continue" in second.argv
    orders = agent("opencode").orders(task(messages=PRIOR))
    prior = in_file(orders, ".config/demeanor/prior.json")
    assert orders.launches[0].argv == ("the-agent", "import", "/bench/home/.config/demeanor/prior.json")
    assert [message["parts"][0]["text"] for message in prior["messages"]] == ["My name is Zebra.", "Hello."]
    assert prior["info"]["id"] in orders.launches[1].argv


def test_what_is_denied_must_be_asked_for():
    """And the loop goes on after a refusal."""
    config = in_file(agent("opencode").orders(task(approval=NO_SHELL)), CONFIG)
    assert config["permission"] == {"*": "allow", "bash": "ask"}
    assert config["experimental"]["continue_loop_on_deny"] is True


def test_its_output_tells_turns_calls_and_thoughts():
    """From runs with broken arguments (told as a tool called `invalid`), and with thinking."""
    events = agent("opencode").read_log((end(sample("opencode.jsonl")),), {})
    assert outline(events) == [
        (1, "write", {}, False),
        (2, "write", {"filePath": "hello.txt", "content": "Hello!\n"}, True),
        (3, "said", "Recovered."),
        (3, "thought", "Let me think about it."),
    ]


@given(hostile(sample("opencode.jsonl")))
def test_no_log_breaks_the_reader(log: str):
    """Whatever it prints."""
    agent("opencode").read_log((end(log),), {})
