"""Which parts of a request count when requests are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor.config.tables import ReplayRules
from demeanor.core.values.errors import CassetteError
from demeanor.core.values.exchange import Sampling
from demeanor.core.values.messages import Tool
from demeanor.gateway.cassette.normalise import Normaliser
from tests.gateway.cassette.helpers import TOOL, a_request, normalised, with_result


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Today is 2026-11-15.", "Today is 2027-01-02."),
        ("<time>2026-11-15 22:26:00 +00:00</time>", "<time>2027-01-02 03:04:05 -07:00</time>"),
        ("Now: 2026-11-15T22:26:00.123Z", "Now: 2025-01-01T01:02:03.999999+02:00"),
        ("Today's date: Sun Nov 15 2026", "Today's date: Fri Jan 1 2027"),
        ("Sunday, November 15, 2026", "Friday, January 1, 2027"),
        ("Sun, 15 Nov 2026 22:26:00 GMT", "Fri, 01 Jan 2027 03:04:05 GMT"),
        ("Sun Nov 15 22:26:00 UTC 2026", "Fri Jan  1 03:04:05 UTC 2027"),
        ("11/15/2026, 3:04:05 PM", "1/1/2027, 11:14:15 AM"),
        ("The current month is November 2026.", "The current month is January 2027."),
        ("log-20261115T222600Z", "log-20270101T030405Z"),
        ("session 0d9f5a5e-3f5b-4f0e-9d3a-0123456789ab", "session 11111111-2222-3333-4444-555555555555"),
        ("ses_5f3a9b8c7d6e5f4a", "ses_000000000000000a"),
        ("see http://127.0.0.1:4711/t/0123456789abcdef/v1", "see http://127.0.0.1:80/t/fedcba9876543210/v1"),
        ("in /tmp/tmpab12cd34/x", "in /tmp/tmpzz99yy88/x"),
        ("in {{demeanor:bench}}/tmp/pi-a8.log", "in {{demeanor:bench}}/tmp/pi-b9.log"),
        ("OS Version: Linux 6.1.0-18-amd64", "OS Version: Darwin 23.1.0"),
        (
            "<available_skills>\n<skill>\n<name>a</name>\n</skill>\n<skill>\n<name>b</name>\n</skill>\n</available_skills>",
            "<available_skills>\n<skill>\n<name>b</name>\n</skill>\n<skill>\n<name>a</name>\n</skill>\n</available_skills>",
        ),
        ("<available_tools>\n- a\n- b\n</available_tools>", "<available_tools>\n- b\n- a\n</available_tools>"),
        ("Activates a skill (Available: 'a', 'b').", "Activates a skill (Available: 'b', 'a')."),
        ("<env>\nPlatform: linux\nShell: bash\n</env>", "<env>\nPlatform: darwin\nShell: zsh\n</env>"),
    ],
)  # fmt: skip
def test_what_varies_between_runs_does_not_count(one: str, other: str):
    """The rules apply to the system prompt and to user prompts."""
    assert normalised(a_request(system=one)) == normalised(a_request(system=other))
    assert normalised(a_request(one)) == normalised(a_request(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1 passed in 0.02s", "1 passed in 1.31s"),
        ("[main 0a1b2c3] Save", "[main fffffff] Save"),
        ("Process Group PGID: 19477", "Process Group PGID: 23380"),
        ("0a1b2c3 Start\n1a2b3c4 End", "ffffff0 Start\nffffff1 End"),
        ("-rw-r--r-- 1 a a 5 Nov 15 22:26 x", "-rw-r--r-- 1 a a 5 Jan  2 03:04 x"),
        ("Chunk ID: 0a1b2c\nWall time: 0.05 seconds", "Chunk ID: ffffff\nWall time: 1 seconds"),
    ],
)
def test_tool_results_have_more_rules(one: str, other: str):
    """Durations, commits and listings are ignored in results; in a prompt they count."""
    assert normalised(with_result(one)) == normalised(with_result(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Be good.", "Be bad."),
        ("Wait for 30 seconds.", "Wait for 60 seconds."),
        ("Use port 8080.", "Use port 9090."),
        ("Version 1.2.3", "Version 1.2.4"),
        ("You may do it.", "You must do it."),
        ("See src/app.py:12:34", "See src/app.py:12:35"),
        ("/tmp/notes/a", "/tmp/other/a"),
    ],
)
def test_a_word_of_the_prompt_counts(one: str, other: str):
    """No rule removes more than it should."""
    assert normalised(a_request(system=one)) != normalised(a_request(system=other))
    assert normalised(a_request(one)) != normalised(a_request(other))


def test_every_setting_counts():
    """The model's name, the tools, the sampling and the tool choice count."""
    first = a_request()
    others = [
        replace(first, model="small"),
        replace(first, tools=()),
        replace(first, tools=(replace(TOOL, description="Run the command."),)),
        replace(first, tools=(replace(TOOL, schema={"type": "object", "required": ["command"]}),)),
        replace(first, sampling=Sampling(temperature=0.0)),
        replace(first, tool_choice="required"),
        replace(first, extra={"openai-chat": {"logprobs": True}}),
    ]
    assert normalised(first) not in [normalised(other) for other in others]


def test_the_order_of_an_enumeration_does_not_count_but_its_values_do():
    """An agent that collects names in a set lists them in any order."""

    def choosing(*names: str) -> Tool:
        schema = {"type": "object", "properties": {"name": {"type": "string", "enum": list(names)}}}
        return Tool(name="activate_skill", schema=schema)

    one, other = (normalised(a_request(tools=(choosing(*names),))) for names in ("ab", "ba"))
    assert one == other != normalised(a_request(tools=(choosing("a", "c"),)))


def test_whole_numbers_equal_floats():
    """A cassette's sampling is read as floats; agents also send integers."""
    one, other = ({"sampling": {"temperature": number}, "messages": []} for number in (1, 1.0))
    assert Normaliser().normalise(one) == Normaliser().normalise(other)
    assert [type(m["sampling"]["temperature"]) for m in map(Normaliser().normalise, (one, other))] == [int, int]


def test_transport_and_session_fields_do_not_count():
    """Streaming, session names and the order of tools do not count."""
    volatile = {"metadata": {"user_id": "a"}, "prompt_cache_key": "b", "client_metadata": {"x": 1}, "stream": True}
    other = Tool(name="read")
    first = a_request(tools=(TOOL, other))
    second = a_request(tools=(other, TOOL), stream=True, extra={"openai-chat": volatile})
    assert normalised(first) == normalised(second)


def test_ids_of_calls_are_numbered_as_they_appear():
    """A generated id does not count, but which result belongs to which call does."""
    assert normalised(with_result("a", call_id="c1")) == normalised(with_result("a", call_id="toolu_77"))
    assert normalised(with_result("a", command="ls")) != normalised(with_result("a", command="ls -a"))


def test_a_project_can_add_rules():
    """A project can ignore paths and replace patterns."""
    own = Normaliser(ReplayRules(ignore=("sampling", "extra.**.trace"), replace=((r"build \d+", "build N"),)))
    one = a_request("build 17", sampling=Sampling(top_k=1), extra={"x": {"a": {"trace": 1}}})
    other = a_request("build 18", extra={"x": {"a": {"trace": 2}}})
    assert normalised(one, own) == normalised(other, own)
    assert normalised(one) != normalised(other)


def test_a_rule_of_the_user_that_takes_too_long_is_an_error():
    """The agent chooses the text; its request must not stop the gateway."""
    rules = Normaliser(ReplayRules(replace=(("(a|aa)+$", "x"),)))
    with pytest.raises(CassetteError, match=r"\[replay\] replace: the regular expression .* takes more than 1 s"):
        rules.normalise({"messages": [{"parts": [{"kind": "text", "text": "a" * 400 + "!"}]}]})
