"""The conversation, sub-agents, and what is asked on the side."""

from __future__ import annotations

import pytest

from demeanor.core.capture import Capture
from demeanor.core.exchange import Exchange, Request, Response
from demeanor.core.messages import Message, Part, Text, Tool, ToolCall, ToolResult
from demeanor.core.trajectory import Aside, Called, Said, Trajectory
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


def told(call_id: str, text: str) -> Message:
    """The result of a call."""
    return user(ToolResult(call_id=call_id, parts=(Text(text=text),)))


def model(*parts: Part | str) -> Message:
    """An earlier answer of the model."""
    texts = (Text(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role="assistant", parts=tuple(texts))


def seen(*exchanges: Exchange, log: tuple[str, ...] = ()) -> Trajectory:
    """What is known about a trial with the prompt "Do it."; the agent's own log has these messages."""
    said = tuple(Said(turn=number, text=text) for number, text in enumerate(log, 1))
    capture = Capture(trial="t", attempt=1, exchanges=exchanges, prompts=("Do it.",), log=said)
    return observe(capture, {}).trajectory


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


def test_two_sub_agents_with_the_same_task_are_started_by_two_calls():
    """A call starts one sub-agent; a first request that is sent again, as after a failure, starts none."""
    agent, helper, task = "You are an agent.", "You explore.", "Review parser.py."
    trajectory = seen(
        asked(1, agent, user("Do it."), says=(call("c1", task=task), call("c2", task=task))),
        asked(2, helper, user(task), says=(Text(text="First."),)),
        asked(3, helper, user(task), says=(Text(text="Second."),)),
        asked(4, helper, user(task), says=(Text(text="Again."),)),
    )
    asides = [
        (event.said, event.sub_agent, event.started_by) for event in trajectory.events if isinstance(event, Aside)
    ]
    assert asides == [("First.", 1, "c1"), ("Second.", 2, "c2"), ("Again.", 2, "")]


def test_sub_agents_that_take_turns_are_told_apart_by_their_calls():
    """They have the same task, system prompt and tools; only the ids of their calls differ."""
    agent, helper, task = "You are an agent.", "You explore.", "Review parser.py."
    trajectory = seen(
        asked(1, agent, user("Do it."), says=(call("c1", task=task), call("c2", task=task))),
        asked(2, helper, user(task), says=(call("a1", path="a"),)),
        asked(3, helper, user(task), says=(call("b1", path="b"),)),
        asked(4, helper, user(task), model(call("a1", path="a")), told("a1", "1"), says=(call("a2", path="aa"),)),
        asked(5, helper, user(task), model(call("b1", path="b")), told("b1", "2"), says=(call("b2", path="bb"),)),
    )
    by = [(one.id, one.sub_agent, one.result) for one in trajectory.calls if one.by_sub_agent]
    assert by == [("a1", 1, "1"), ("b1", 2, "2"), ("a2", 1, None), ("b2", 2, None)]


def test_a_sub_agent_with_a_copy_of_the_conversation_is_followed_to_its_end():
    """It has the system prompt, the tools and the opening of the main conversation, which continues afterwards."""
    agent, task = "You are an agent.", "Check the parser."
    start = (user("Do it."), model(call("c1", task=task)))
    copy = (*start, told("c1", "started"), user(task))
    trajectory = seen(
        asked(1, agent, user("Do it."), says=(call("c1", task=task),)),
        asked(2, agent, *copy, says=(call("x", path="p"),)),
        asked(3, agent, *copy, model(call("x", path="p")), told("x", "ok"), says=(Text(text="It is fine."),)),
        asked(4, agent, *start, told("c1", "It is fine."), says=(Text(text="Done."),)),
    )
    assert [(one.id, one.sub_agent, one.result) for one in trajectory.calls if one.by_sub_agent] == [("x", 1, "ok")]
    assert [(event.turn, event.text) for event in trajectory.events if isinstance(event, Said)] == [(2, "Done.")]
    asides = [(event.said, event.sub_agent) for event in trajectory.events if isinstance(event, Aside)]
    assert asides == [("", 1), ("It is fine.", 1)]


@pytest.mark.parametrize(
    ("log", "later", "turns"),
    [
        (("Done.",), False, ["Done."]),
        (("Done.", "Noted."), False, ["Done.", "Noted."]),
        (("Done.",), True, ["Done.", "Noted.", "Bye."]),
        ((), False, ["Done.", "Noted."]),
    ],
    ids=["unheard", "in-the-log", "in-a-later-request", "no-log"],
)
def test_an_answer_that_nobody_heard_is_not_the_agents(log: tuple[str, ...], later: bool, turns: list[str]):
    """It continues the conversation with a message that is not the user's; only what became of the answer tells."""
    agent, start = "You are an agent.", (user("Do it."), model("Done."))
    aside = (*start, user("Update your memory."))
    exchanges = [
        asked(1, agent, user("Do it."), says=(Text(text="Done."),)),
        asked(2, agent, *aside, says=(Text(text="Noted."),)),
        asked(3, agent, *aside, model("Noted."), user("Do it. Now."), says=(Text(text="Bye."),)),
    ]
    trajectory = seen(*exchanges[: 3 if later else 2], log=log)
    assert [event.text for event in trajectory.events if isinstance(event, Said)] == turns
    asides = [(event.purpose, event.said) for event in trajectory.events if isinstance(event, Aside)]
    assert asides == ([] if "Noted." in turns else [("memory", "Noted.")])


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
