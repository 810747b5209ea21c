"""goose: how it is started, and what its output tells."""

from __future__ import annotations

from hypothesis import given

from tests.agents.told import NO_SHELL, PRIOR, agent, end, hostile, in_file, outline, sample, task


def test_one_prompt_needs_no_session_and_a_prompt_can_be_no_option():
    """The prompt is one word with its option, so that a dash in front of it does no harm."""
    (launch,) = agent("goose").orders(task("-x is what I mean")).launches
    assert launch.argv[:3] == ("the-agent", "run", "-q")
    assert "--no-session" in launch.argv
    assert launch.argv[-1] == "--text=-x is what I mean"
    assert launch.env["GOOSE_MODE"] == "auto"
    assert launch.env["OPENAI_BASE_PATH"] == "t/1/v1/chat/completions"


def test_further_prompts_resume_the_session():
    """All of them name it."""
    first, second = agent("goose").orders(task("One.", "Two.")).launches
    assert "--resume" not in first.argv
    assert "--resume" in second.argv
    assert first.argv[first.argv.index("--name") + 1] == second.argv[second.argv.index("--name") + 1]


def test_an_earlier_conversation_is_imported_with_the_tools_of_an_own_one():
    """Without the list of its extensions it would offer the model all that it has."""
    orders = agent("goose").orders(task(messages=PRIOR))
    prior = in_file(orders, "prior.json")
    assert orders.launches[0].argv[1:] == ("session", "import", "/bench/home/prior.json")
    assert [message["content"][0]["text"] for message in prior["conversation"]] == ["My name is Zebra.", "Hello."]
    assert prior["extension_data"]["enabled_extensions.v0"]["extensions"][0]["name"] == "developer"
    assert prior["name"] in orders.launches[1].argv


def test_a_denial_names_every_tool_of_its_own():
    """What is not named would wait for a person."""
    orders = agent("goose").orders(task(approval=NO_SHELL))
    answers = in_file(orders, ".config/goose/permission.yaml")["user"]
    assert answers["never_allow"] == ["shell"]
    assert answers["always_allow"] == ["edit", "read_image", "tree", "write"]
    assert orders.launches[0].env["GOOSE_MODE"] == "approve"


def test_a_call_that_it_could_not_read_is_known_by_its_id_alone():
    """From a run in which the model sent broken arguments first."""
    events = agent("goose").read_log((end(sample("goose.jsonl")),), {})
    assert outline(events) == [
        (1, "", {}, False),
        (2, "write", {"path": "hello.txt", "content": "Hello!\n"}, True),
        (3, "said", "Recovered."),
    ]


def test_a_text_in_pieces_is_one_text_and_a_second_run_is_a_further_turn():
    """From a run in which the shell was denied, told twice."""
    log = end(sample("goose-denied.jsonl"))
    once = outline(agent("goose").read_log((log,), {}))
    assert [entry[:2] for entry in once] == [(1, "shell"), (2, "write"), (3, "said")]
    assert [entry[-1] for entry in once[:2]] == [False, True]
    assert once[2][2].startswith("Done: The user has declined to run this tool. DO NOT")
    twice = outline(agent("goose").read_log((log, end(sample("goose.jsonl"))), {}))
    assert twice[-1][0] == 6


@given(hostile(sample("goose.jsonl")))
def test_no_log_breaks_the_reader(log: str):
    """Whatever it prints."""
    agent("goose").read_log((end(log),), {})


def test_its_exit_says_nothing_unless_it_says_that_it_failed():
    """It exits with 0 where every request failed."""
    assert agent("goose").exit_ok(end()) is None
    assert agent("goose").exit_ok(end(exit_code=1)) is False
