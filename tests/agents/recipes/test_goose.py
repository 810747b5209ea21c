"""goose: how it is started, and how its output is read."""

from __future__ import annotations

from hypothesis import given

from tests.agents.helpers import NO_SHELL, PRIOR, agent, broken_lines, end, home_json, outline, sample, task


def test_one_prompt_needs_no_session_and_is_never_an_option():
    """The prompt is in one argument with its option, so a leading dash is harmless."""
    (launch,) = agent("goose").orders(task("-x is what I mean")).launches
    assert launch.argv[:3] == ("the-agent", "run", "-q")
    assert "--no-session" in launch.argv
    assert launch.argv[-1] == "--text=-x is what I mean"
    assert launch.env["GOOSE_MODE"] == "auto"
    assert launch.env["OPENAI_BASE_PATH"] == "t/1/v1/chat/completions"


def test_later_prompts_resume_the_session():
    """All launches name it."""
    first, second = agent("goose").orders(task("One.", "Two.")).launches
    assert "--resume" not in first.argv
    assert "--resume" in second.argv
    assert first.argv[first.argv.index("--name") + 1] == second.argv[second.argv.index("--name") + 1]


def test_prior_messages_are_imported_with_the_list_of_extensions():
    """Without that list goose would offer all its extensions to the model."""
    orders = agent("goose").orders(task(messages=PRIOR))
    prior = home_json(orders, "prior.json")
    assert orders.launches[0].argv[1:] == ("session", "import", "/bench/home/prior.json")
    assert [message["content"][0]["text"] for message in prior["conversation"]] == ["My name is Zebra.", "Hello."]
    assert prior["extension_data"]["enabled_extensions.v0"]["extensions"][0]["name"] == "developer"
    assert prior["name"] in orders.launches[1].argv


def test_a_denial_lists_every_tool():
    """goose would wait for an answer about a tool that is not listed."""
    orders = agent("goose").orders(task(approval=NO_SHELL))
    answers = home_json(orders, ".config/goose/permission.yaml")["user"]
    assert answers["never_allow"] == ["shell"]
    assert answers["always_allow"] == ["edit", "read_image", "tree", "write"]
    assert orders.launches[0].env["GOOSE_MODE"] == "approve"


def test_a_call_that_goose_could_not_read_has_only_an_id():
    """Recorded with a model that sent invalid arguments first."""
    events = agent("goose").read_log((end(sample("goose.jsonl")),), {})
    assert outline(events) == [
        (1, "", {}, False),
        (2, "write", {"path": "hello.txt", "content": "Hello!\n"}, True),
        (3, "said", "Recovered."),
    ]


def test_pieces_of_a_text_are_joined_and_a_second_launch_is_another_turn():
    """Recorded with a denied shell."""
    log = end(sample("goose-denied.jsonl"))
    once = outline(agent("goose").read_log((log,), {}))
    assert [entry[:2] for entry in once] == [(1, "shell"), (2, "write"), (3, "said")]
    assert [entry[-1] for entry in once[:2]] == [False, True]
    assert once[2][2].startswith("Done: The user has declined to run this tool. DO NOT")
    twice = outline(agent("goose").read_log((log, end(sample("goose.jsonl"))), {}))
    assert twice[-1][0] == 6


@given(broken_lines(sample("goose.jsonl")))
def test_broken_output_does_not_crash_the_reader(log: str):
    """Random changes of real lines."""
    agent("goose").read_log((end(log),), {})


def test_exit_code_0_proves_nothing():
    """goose exits with 0 even if every request failed."""
    assert agent("goose").exit_ok(end()) is None
    assert agent("goose").exit_ok(end(exit_code=1)) is False
