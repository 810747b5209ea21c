"""The conversation, sub-agents, and what is asked on the side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor.core.values.capture import Capture
from demeanor.core.values.exchange import Exchange, Request, Response
from demeanor.core.values.messages import Message, Part, Text, Tool, ToolCall, ToolResult
from demeanor.core.values.trajectory import Aside, Called, Said, Trajectory
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


def seen(*exchanges: Exchange, log: tuple[str, ...] = (), prompts: tuple[str, ...] = ("Do it.",)) -> Trajectory:
    """What is known about a trial with these prompts; the agent's own log has these messages."""
    said = tuple(Said(turn=number, text=text) for number, text in enumerate(log, 1))
    capture = Capture(trial="t", attempt=1, exchanges=exchanges, prompts=prompts, log=said)
    return observe(capture, {}).trajectory


def story(*exchanges: Exchange) -> list[object]:
    """The events of a conversation."""
    return list(observe(Capture(trial="t", attempt=1, exchanges=exchanges), {}).trajectory.events)


def offering(exchange: Exchange, *names: str) -> Exchange:
    """The exchange with these tools on offer."""
    return replace(exchange, request=replace(exchange.request, tools=tuple(Tool(name=name) for name in names)))


def heard(trajectory: Trajectory) -> list[str]:
    """What the agent said, and after `purpose number:` what was said elsewhere."""
    return [
        event.text if isinstance(event, Said) else f"{event.purpose} {event.sub_agent}: {event.said}"
        for event in trajectory.events
        if isinstance(event, Said | Aside)
    ]


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


@pytest.mark.parametrize("task", ["Check the parser.", "Check line 12\nof the parser."])
def test_a_sub_agent_with_a_copy_of_the_conversation_is_followed_to_its_end(task: str):
    """It has the system prompt, the tools and the opening of the main conversation, which continues afterwards."""
    agent = "You are an agent."
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
        (("Done.",), False, ("Done.",)),
        (("Done.", "Noted."), False, ("Done.", "Noted.")),
        (("Done.",), True, ("Done.", "Noted.", "Bye.")),
        ((), False, ("Done.", "Noted.")),
    ],
    ids=["unheard", "in-the-log", "in-a-later-request", "no-log"],
)
@pytest.mark.parametrize("noted", ["Noted.", "Noted 12\nfacts."])
def test_an_answer_that_nobody_heard_is_not_the_agents(
    log: tuple[str, ...], later: bool, turns: tuple[str, ...], noted: str
):
    """It continues the conversation with a message that is not the user's; only what became of the answer tells."""
    agent, start = "You are an agent.", (user("Do it."), model("Done."))
    aside = (*start, user("Update your memory."))
    log, turns = (tuple(noted if text == "Noted." else text for text in texts) for texts in (log, turns))
    exchanges = [
        asked(1, agent, user("Do it."), says=(Text(text="Done."),)),
        asked(2, agent, *aside, says=(Text(text=noted),)),
        asked(3, agent, *aside, model(noted), user("Do it. Now."), says=(Text(text="Bye."),)),
    ]
    trajectory = seen(*exchanges[: 3 if later else 2], log=log)
    assert tuple(event.text for event in trajectory.events if isinstance(event, Said)) == turns
    asides = [(event.purpose, event.said) for event in trajectory.events if isinstance(event, Aside)]
    assert asides == ([] if noted in turns else [("memory", noted)])


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


def test_the_next_prompt_may_come_from_a_program_that_starts_anew():
    """It has the user's prompt, and the system prompt or the tools of before; otherwise it is a sub-agent."""
    prompts = ("Do it.", "Do 12\nmore.", "Finish.")
    first = asked(1, "Agent.", user("Do it."), says=(Text(text="One."),))
    second = asked(2, "Agent with notes.", user("Do 12\nmore."), says=(Text(text="Two."),))
    third = offering(asked(3, "Agent with notes.", user("Finish."), says=(Text(text="Three."),)), "bash")
    assert heard(seen(first, second, third, prompts=prompts)) == ["One.", "Two.", "Three."]
    assert heard(seen(first, offering(second, "bash"), prompts=prompts)) == ["One.", "sub-agent 1: Two."]
    unknown = asked(2, "Agent with notes.", user("Look around."), says=(Text(text="Two."),))
    assert heard(seen(first, unknown, prompts=prompts)) == ["One.", "sub-agent 1: Two."]
    other = offering(asked(2, "Agent.", user("Look around."), says=(Text(text="Two."),)), "bash")
    assert heard(seen(first, other, prompts=prompts)) == ["One.", "sub-agent 1: Two."]


def test_a_sub_agent_may_get_the_users_prompt_word_for_word():
    """It differs in its system prompt or its tools; a request that does not is the agent's, sent again."""
    prompt = "Review parser.py."
    first = asked(1, "Agent.", user(prompt), says=(call("c1", task=prompt),))
    helper = asked(2, "You review.", user(prompt), says=(Text(text="Fine."),))
    last = asked(
        3, "Agent.", user(prompt), model(call("c1", task=prompt)), told("c1", "Fine."), says=(Text(text="Ok."),)
    )
    assert heard(seen(first, helper, last, prompts=(prompt,))) == ["sub-agent 1: Fine.", "Ok."]
    same = offering(asked(2, "Agent.", user(prompt), says=(Text(text="Fine."),)), "read_file")
    assert heard(seen(first, same, last, prompts=(prompt,))) == ["sub-agent 1: Fine.", "Ok."]
    again = asked(2, "Agent.", user(prompt), says=(Text(text="Fine."),))
    assert heard(seen(first, again, prompts=(prompt,))) == ["Fine."]


def test_a_sub_agent_may_be_like_the_agent_but_for_its_task():
    """The same system prompt and the same tools, as those of Codex and opencode."""
    task = "Look at a.txt."
    first = asked(1, "Agent.", user("Do it."), says=(call("c1", task=task),))
    helper = asked(2, "Agent.", user(task), says=(Text(text="Found."),))
    assert heard(seen(first, helper)) == ["sub-agent 1: Found."]


def test_a_call_that_repeats_the_users_words_starts_nothing_by_itself():
    """As an entry of a list of tasks does: neither its result nor the user's next prompt comes from a sub-agent."""
    prompt = "Review parser.py."
    planned = asked(1, "Agent.", user(prompt), says=(call("c1", task=prompt),))
    done = asked(2, "Agent.", user(prompt), model(call("c1", task=prompt)), told("c1", "ok"), says=(Text(text="Ok."),))
    again = asked(2, "Agent.", user(prompt), says=(Text(text="Fine."),))
    assert heard(seen(planned, done, prompts=(prompt,))) == ["Ok."]
    assert heard(seen(planned, again, prompts=())) == ["Fine."]

    prompts = ("Do it.", prompt)
    before = asked(1, "Agent.", user("Do it."), says=(Text(text="First."), call("c1", task=prompt)))
    start = (user("Do it."), model("First.", call("c1", task=prompt)), told("c1", "ok"))
    same = asked(2, "Agent.", *start, model("Hm."), user(prompt), says=(Text(text="Second."),))
    anew = asked(2, "Agent.", user(prompt), says=(Text(text="Second."),))
    assert heard(seen(before, same, prompts=prompts)) == ["First.", "Second."]
    assert heard(seen(before, anew, prompts=prompts)) == ["First.", "Second."]


def test_results_of_tools_continue_the_conversation_whatever_else_changes():
    """The system prompt and the tools may both change; that of the second prompt, too."""
    first = asked(1, "Agent.", user("Do it."), says=(Text(text="One."),))
    second = asked(2, "Agent.", user("Do more."), says=(call("c1", path="a"),))
    start = (user("Do more."), model(call("c1", path="a")), told("c1", "ok"))
    third = offering(asked(3, "Agent, dirty.", *start, says=(Text(text="Two."),)), "bash")
    assert heard(seen(first, second, third, prompts=("Do it.", "Do more."))) == ["One.", "Two."]


def test_a_copy_of_the_conversation_with_another_system_prompt_and_other_tools_is_a_sub_agent():
    """If the message that follows it is not the user's."""
    first = asked(1, "Agent.", user("Do it."), says=(Text(text="Done."),))
    copy = asked(2, "You check.", user("Do it."), model("Done."), user("Is it right?"), says=(Text(text="Yes."),))
    assert heard(seen(first, offering(copy, "read_file"))) == ["Done.", "sub-agent 1: Yes."]


def test_a_sub_agents_system_prompt_may_change():
    """As it works, like that of the agent."""
    task = "Look at a.txt."
    trajectory = seen(
        asked(1, "Agent.", user("Do it."), says=(call("c1", task=task),)),
        asked(2, "You explore. Clean.", user(task), says=(call("x", path="a"),)),
        asked(
            3, "You explore. Dirty.", user(task), model(call("x", path="a")), told("x", "1"), says=(Text(text="1."),)
        ),
    )
    assert heard(trajectory) == ["sub-agent 1: ", "sub-agent 1: 1."]


def test_a_sub_agent_may_follow_a_request_that_failed():
    """Nothing is known of what the agent waits for."""
    failed = replace(asked(1, "Agent.", user("Do it.")), response=None)
    other = offering(asked(2, "You explore.", user("Look around."), says=(Text(text="Seen."),)), "read_file")
    assert heard(seen(failed, other))[-1] == "sub-agent 1: Seen."


def test_tools_that_are_loaded_later_do_not_end_the_conversation():
    """Unless the message that came with them is work that the agent does for itself."""
    start = (user("Do it."), model("Hm."))
    first = asked(1, "Agent.", user("Do it."), says=(Text(text="Hm."),))
    loaded = offering(asked(2, "Agent.", *start, user("The tool is there now."), says=(Text(text="Done."),)), "bash")
    memory = offering(asked(2, "Agent.", *start, user("Update your memory."), says=(Text(text="Noted."),)), "bash")
    assert heard(seen(first, loaded)) == ["Hm.", "Done."]
    assert heard(seen(first, memory)) == ["Hm.", "memory 1: Noted."]


def test_work_beside_a_call_is_a_sub_agents():
    """Whatever its words say: an agent that waits for a call does nothing for itself."""
    waiting = asked(1, "Agent.", user("Do it."), says=(call("c1", task="short"),))
    other = offering(asked(2, "You remember.", user("Read the memory file."), says=(Text(text="Read."),)), "read_file")
    assert heard(seen(waiting, other)) == ["sub-agent 1: Read."]
    idle = asked(1, "Agent.", user("Do it."), says=(Text(text="Done."),))
    assert heard(seen(idle, other)) == ["Done.", "memory 1: Read."]


def test_after_an_empty_answer_another_message_may_follow_at_once():
    """The conversation then opens with more than before."""
    first = asked(1, "Agent, clean.", user("Do it."))
    nudged = asked(2, "Agent, dirty.", user("Do it."), user("Go on."), says=(Text(text="Done."),))
    assert heard(seen(first, nudged, prompts=())) == ["Done."]
    unlike = asked(2, "Agent, dirty.", user("Do it.now"), says=(Text(text="Done."),))
    assert heard(seen(first, unlike, prompts=())) == ["sub-agent 1: Done."]


def test_a_sub_agent_whose_request_failed_asks_again():
    """The same request belongs to the same sub-agent, although the answer before it is missing."""
    task = "Look at a.txt."
    inner = (user(task), model(call("x", path="a.txt")), told("x", "1"))
    failed = replace(asked(3, "You explore.", *inner), response=None)
    trajectory = seen(
        asked(1, "Agent.", user("Do it."), says=(call("c1", task=task),)),
        asked(2, "You explore.", user(task), says=(call("x", path="a.txt"),)),
        failed,
        asked(4, "You explore.", *inner, says=(Text(text="Found."),)),
    )
    assert {event.sub_agent for event in trajectory.events if isinstance(event, Aside)} == {1}
    assert heard(trajectory)[-1] == "sub-agent 1: Found."


def test_without_any_tools_there_are_no_sub_agents():
    """Aider asks for commit messages in the same way as for edits."""
    first = asked(1, "Agent.", user("Do it."), tools=False, says=(Text(text="Done."),))
    other = asked(2, "You write commit messages.", user("diff"), tools=False, says=(Text(text="Fix it"),))
    assert heard(seen(first, other)) == ["Done.", "commit message 0: Fix it"]


def test_an_answer_with_calls_is_the_agents_although_its_log_does_not_have_the_text():
    """A call has consequences, whoever heard its words."""
    start = (user("Do it."), model("Done."))
    trajectory = seen(
        asked(1, "Agent.", user("Do it."), says=(Text(text="Done."),)),
        asked(2, "Agent.", *start, user("Check again."), says=(Text(text="Checking."), call("c1", path="a"))),
        log=("Done.",),
    )
    assert heard(trajectory) == ["Done.", "Checking."]
    assert [one.by_sub_agent for one in trajectory.calls] == [False]


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


def test_a_reminder_of_its_task_does_not_end_a_sub_agent_with_a_copy_of_the_conversation():
    """The reminder repeats what the sub-agent itself wrote into a call; that call started nothing."""
    agent, task = "You are an agent.", "Check the parser."
    start = (user("Do it."), model(call("c1", task=task)))
    copy = (*start, told("c1", "started"), user(task))
    noted = call("x", note=task)
    trajectory = seen(
        asked(1, agent, user("Do it."), says=(call("c1", task=task),)),
        asked(2, agent, *copy, says=(noted,)),
        asked(3, agent, *copy, model(noted), told("x", "ok"), user(task), says=(Text(text="It is fine."),)),
    )
    assert heard(trajectory) == ["sub-agent 1: ", "sub-agent 1: It is fine."]


def test_a_compacted_conversation_that_repeats_a_call_is_still_the_agents():
    """It opens with a summary, so it is not a copy of the conversation with a task behind it."""
    agent, note = "You are an agent.", "Check the parser."
    compacted = (user("So far: nothing."), model("Understood."), user(note))
    trajectory = seen(
        asked(1, agent, user("Do it."), says=(call("c1", note=note),)),
        asked(2, agent, *compacted, says=(Text(text="Done."),)),
    )
    assert heard(trajectory) == ["Done."]


def test_with_another_system_prompt_or_other_tools_the_log_does_not_decide():
    """The same tools are enough for the agent; other tools and a purpose of its own are a side request."""
    start = (user("Do it."), model("Done."))
    first = asked(1, "Agent.", user("Do it."), says=(Text(text="Done."),))
    changed = asked(2, "Agent with notes.", *start, user("Go on."), says=(Text(text="More."),))
    assert heard(seen(first, changed, log=("Done.",))) == ["Done.", "More."]
    memory = asked(2, "Agent.", *start, user("Update your memory."), says=(Text(text="Noted."),))
    assert heard(seen(first, offering(memory, "save"))) == ["Done.", "memory 1: Noted."]


def test_an_answer_is_not_heard_in_its_own_request():
    """The words of the side request were said before, by the agent; only later requests show that they were heard."""
    start = (user("Do it."), model("Ok."))
    trajectory = seen(
        asked(1, "Agent.", user("Do it."), says=(Text(text="Ok."),)),
        asked(2, "Agent.", *start, user("Update your memory."), says=(Text(text="Ok."),)),
        log=("Finished.",),
    )
    assert heard(trajectory)[:2] == ["Ok.", "memory 1: Ok."]
