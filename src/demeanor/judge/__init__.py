"""Evidence → Findings → Verdict: the rig, the checks, and the self-test of evals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.judge.answers import (
        AskChecks as AskChecks,
        AskInLoop as AskInLoop,
        AskUser as AskUser,
        FindBlame as FindBlame,
        Rehearsals as Rehearsals,
        ask_here as ask_here,
        ask_user_here as ask_user_here,
        blame_here as blame_here,
        blame_unknown as blame_unknown,
    )
    from demeanor.judge.check_forkserver import takes_fixtures as takes_fixtures
    from demeanor.judge.check_server import CheckServer as CheckServer, ChecksStopped as ChecksStopped
    from demeanor.judge.check_worker import fixture_problem as fixture_problem, set_up_here as set_up_here
    from demeanor.judge.effects.arguments import values as values
    from demeanor.judge.effects.call_effects import CallFacts as CallFacts, call_facts as call_facts
    from demeanor.judge.fixtures import close_fixtures as close_fixtures
    from demeanor.judge.judge_prompt import (
        INSTRUCTIONS as INSTRUCTIONS,
        judge_hash as judge_hash,
        judge_request as judge_request,
        question_key as question_key,
        read_vote as read_vote,
    )
    from demeanor.judge.judging import judge as judge
    from demeanor.judge.offline_test import (
        Complaint as Complaint,
        SelfTest as SelfTest,
        SelfTestFault as SelfTestFault,
        playable as playable,
        self_test as self_test,
    )
    from demeanor.judge.opinion import no_judge as no_judge
    from demeanor.judge.rig import Rig as Rig
    from demeanor.judge.shown_calls import call_chain as call_chain
    from demeanor.judge.simulation import Stage as Stage, rehearse as rehearse
    from demeanor.judge.snapshot import write_snapshots as write_snapshots
    from demeanor.judge.tool_answer import (
        UnusableAnswer as UnusableAnswer,
        answer_tool as answer_tool,
        mark_of as mark_of,
        marked_texts as marked_texts,
        tool_arguments as tool_arguments,
        tool_request as tool_request,
        unreadable as unreadable,
        without_middle as without_middle,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "answers": "AskChecks AskInLoop AskUser FindBlame Rehearsals ask_here ask_user_here blame_here blame_unknown",
        "check_forkserver": "takes_fixtures",
        "check_server": "CheckServer ChecksStopped",
        "check_worker": "fixture_problem set_up_here",
        "effects.arguments": "values",
        "effects.call_effects": "CallFacts call_facts",
        "fixtures": "close_fixtures",
        "judge_prompt": "INSTRUCTIONS judge_hash judge_request question_key read_vote",
        "judging": "judge",
        "offline_test": "Complaint SelfTest SelfTestFault playable self_test",
        "opinion": "no_judge",
        "rig": "Rig",
        "shown_calls": "call_chain",
        "simulation": "Stage rehearse",
        "snapshot": "write_snapshots",
        "tool_answer": (
            "UnusableAnswer answer_tool mark_of marked_texts tool_arguments tool_request unreadable without_middle"
        ),
    },
)
