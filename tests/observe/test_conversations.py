"""The conversation, sub-agents, and what is asked on the side."""

from __future__ import annotations

import pytest

from demeanor.core.capture import Capture
from demeanor.core.exchange import Exchange, Request, Response
from demeanor.core.messages import Message, Part, Text, Tool, ToolCall, ToolResult
from demeanor.core.trajectory import Aside, Called, Said
from demeanor.observe import observe

WRITE = Tool(name="write_file", description="", schema={})


def user(*parts: Part | str) -> Message:
    """What comes from the user's side."""
    return Message(role="user", parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts))


def asked(number: int, system: str, *messages: Message, tools: bool = True, says: tuple[Part, ...] = ()) -> Exchange:
    """One exchange."""
    prompt = (Message(role="system", parts=(Text(text=system),)), *messages)
    request = Request(model="m", messages=prompt, tools=(WRITE,) if tools else ())
    return Exchange(number=number, dialect="openai-chat", request=request, response=Response(parts=says))


def call(call_id: str, **arguments: str) -> ToolCall:
    """A call of the only tool."""
    return ToolCall(id=call_id, name="write_file", arguments=arguments, raw="")


def story(*exchanges: Exchange) -> list[object]:
    """The events of a conversation."""
    return list(observe(Capture(trial="t", attempt=1, exchanges=exchanges), {}).trajectory.events)


def test_a_sub_agents_calls_belong_to_the_agents_turn_and_its_text_is_left_out():
    """Its calls count for every check; its words were not meant for the user."""
    agent, helper = "You are an agent. It is 10:41.", "You explore."
    delegated = call("c1", task="look")
    events = story(
        asked(1, agent, user("Do it."), says=(delegated,)),
        asked(2, helper, user("look"), says=(call("c2", path="x"),)),
        asked(
            3,
            helper,
            user("look"),
            user(ToolResult(call_id="c2", parts=(Text(text="ok"),))),
            says=(Text(text="Found."),),
        ),
        asked(
            4,
            agent,
            user("Do it."),
            user(ToolResult(call_id="c1", parts=(Text(text="Found."),))),
            says=(Text(text="Done."),),
        ),
    )
    calls = [event for event in events if isinstance(event, Called)]
    assert [(one.id, one.turn, one.by_sub_agent, one.result) for one in calls] == [
        ("c1", 1, False, "Found."),
        ("c2", 1, True, "ok"),
    ]
    assert [event.text for event in events if isinstance(event, Said)] == ["Done."]
    assert [event.purpose for event in events if isinstance(event, Aside)] == ["sub-agent", "sub-agent"]


def test_a_result_belongs_to_the_call_of_its_own_conversation():
    """Some servers count calls from one in each conversation, so ids of a sub-agent occur in the main one, too."""
    agent, helper = "You are an agent.", "You explore."
    done = user("look"), user(ToolResult(call_id="c1", parts=(Text(text="ok"),)))
    report = user("Do it."), user(ToolResult(call_id="c1", parts=(Text(text="Found."),)))
    events = story(
        asked(1, agent, user("Do it."), says=(call("c1", task="look"),)),
        asked(2, helper, user("look"), says=(call("c1", path="x"),)),
        asked(3, helper, *done, says=(Text(text="Found."),)),
        asked(4, agent, *report, says=(Text(text="Done."),)),
    )
    calls = [event for event in events if isinstance(event, Called)]
    assert [(one.by_sub_agent, one.result) for one in calls] == [(False, "Found."), (True, "ok")]


def test_a_system_prompt_with_another_time_in_it_is_the_same_conversation():
    """Two programs, one per prompt: another first message, the same agent."""
    events = story(
        asked(1, "Agent. It is 10:41.", user("First."), says=(Text(text="One."),)),
        asked(2, "Agent. It is 10:42.", user("Second."), says=(Text(text="Two."),)),
    )
    assert [(event.turn, event.text) for event in events if isinstance(event, Said)] == [(1, "One."), (2, "Two.")]


def test_a_resumed_conversation_with_another_system_prompt_is_the_same_one():
    """Agents tell of the repository in their system prompt, and it changes as they work."""
    first = user("Do it.")
    events = story(
        asked(1, "Agent in a clean repository.", first, says=(Text(text="One."),)),
        asked(2, "Agent in a dirty repository.", first, user("More."), says=(Text(text="Two."),)),
    )
    assert [event.text for event in events if isinstance(event, Said)] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("system", "words", "purpose"),
    [
        ("Write a short title for this conversation.", "Do it.", "title"),
        ("", "Generate a name for this session", "title"),
        ("You write one-line commit messages.", "diff", "commit message"),
        ("", "Please summarize the conversation so far.", "summary"),
        ("", "ping", "other"),
    ],
)
def test_a_side_request_is_known_by_its_words(system: str, words: str, purpose: str):
    """It offers no tools where the conversation does, and what the model says to it is no word to the user."""
    events = story(
        asked(1, system, user(words), tools=False, says=(Text(text="A title"),)),
        asked(2, "Agent.", user("Do it."), says=(Text(text="Done."),)),
    )
    assert events == [Aside(turn=0, purpose=purpose, said="A title"), Said(turn=1, text="Done.")]
