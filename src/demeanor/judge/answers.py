"""Ask one check, whatever it raises: an answer, a failure of the world, or a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.text.wording import one_line
from demeanor.core.values.checks import Check
from demeanor.core.values.errors import WorldError
from demeanor.core.values.eval import Eval, Rehearsal
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.judge_question import AskJudge
from demeanor.core.values.ports import RunCommand
from demeanor.core.values.user import ScriptedUser
from demeanor.core.values.verdict import Finding, VoidCause
from demeanor.judge.check_answers import answer, title
from demeanor.judge.opinion import JudgeAccess, no_judge
from demeanor.judge.rig import Rig
from demeanor.judge.simulation import LayOut, ReadBack, rehearse
from demeanor.judge.user_check import crash

Blame: TypeAlias = Literal["eval", "content", "unplayed", "unknown"]
"""What makes a check crash: the eval itself, or what the agent left. `unplayed` if its rehearsals can't be played, and
`unknown` if it has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsals:
    """The functions of the runner with which rehearsals are played."""

    lay_out: LayOut
    """Creates the starting workspace."""

    read_back: ReadBack
    """The content of a folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckAnswer:
    """What came of asking one check: exactly one of the other fields is set."""

    check: str
    """The check's name."""

    finding: Finding | None = None
    """Its answer."""

    trouble: tuple[VoidCause, str] | None = None
    """What failed outside the check and the agent."""

    crash: str | None = None
    """How it crashed, or that it did not end."""

    said: str | None = None
    """What the user says next, if the function of a user was called instead of a check."""

    printed: str = ""
    """What it printed."""


AskChecks: TypeAlias = Callable[[Evidence, Eval, RunCommand, AskJudge], tuple[CheckAnswer, ...]]
"""Asks all checks of an eval about some evidence."""

AskUser: TypeAlias = Callable[[Evidence, Eval, RunCommand], CheckAnswer]
"""Calls the function of an eval's user with the rig of the trial so far."""

AskInLoop: TypeAlias = Callable[[Evidence, Eval, RunCommand, AskJudge], Awaitable[tuple[CheckAnswer, ...]]]
"""The same in an event loop."""

FindBlame: TypeAlias = Callable[[Eval, int, RunCommand], Blame]
"""Finds out why a check of an eval, given by its number, crashed on what an agent left."""


def answer_check(check: Check, rig: Rig) -> CheckAnswer:
    """Ask one check in this process."""
    name = title(check)
    try:
        return CheckAnswer(check=name, finding=answer(check, rig))
    except WorldError as error:
        return CheckAnswer(check=name, trouble=(error.cause, error.detail))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - an author's code may raise anything, also SystemExit
        return CheckAnswer(check=name, crash=f"crashed: {crash(error)}")


def ask_here(
    evidence: Evidence,
    eval: Eval,  # noqa: A002
    run_command: RunCommand,
    ask_judge: AskJudge = no_judge,
) -> tuple[CheckAnswer, ...]:
    """Ask all checks in this process, without a time limit."""
    rig = Rig(evidence, run_command, JudgeAccess.of(eval, ask_judge))
    return tuple(answer_check(check, rig) for check in eval.checks)


def ask_user_here(evidence: Evidence, eval: Eval, run_command: RunCommand) -> CheckAnswer:  # noqa: A002
    """Call the function of an eval's user in this process, without a time limit."""
    user, name = eval.scenario.user, "the user's function"
    if not isinstance(user, ScriptedUser) or user.reply is None:
        raise TypeError(f"the user of {eval.name!r} has no function")
    try:
        said: object = user.reply(Rig(evidence, run_command))
    except WorldError as error:
        return CheckAnswer(check=name, trouble=(error.cause, error.detail))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - an author's code may raise anything, also SystemExit
        return CheckAnswer(check=name, crash=f"crashed: {crash(error)}")
    if said is None or (isinstance(said, str) and said.strip()):
        return CheckAnswer(check=name, said=said)
    trouble = f"returned {one_line(repr(said), width=100)}: return a text, or None to end the conversation"
    return CheckAnswer(check=name, crash=trouble)


def blame_here(rehearsals: Rehearsals) -> FindBlame:
    """Play rehearsals in this process, without a time limit."""

    def find(eval: Eval, number: int, run_command: RunCommand) -> Blame:  # noqa: A002
        answers = []
        for behaviour in (*eval.passes_on, *eval.fails_on):
            played = play(eval, behaviour, rehearsals)
            if not isinstance(played, CheckAnswer):
                played = answer_check(eval.checks[number], Rig(played, run_command))
            answers.append(played)
        return blame_of(answers)

    return find


def play(eval: Eval, behaviour: Rehearsal, rehearsals: Rehearsals) -> Evidence | CheckAnswer:  # noqa: A002
    """The evidence of a rehearsal; if the behaviour itself crashes, that is trouble and no crash of a check."""
    try:
        return rehearse(eval, behaviour, lay_out=rehearsals.lay_out, read_back=rehearsals.read_back)
    except Exception as error:  # noqa: BLE001 - an author's behaviour may raise anything
        return CheckAnswer(check="rehearsal", trouble=(VoidCause.CHECK, crash(error)))


def blame_of(answers: Sequence[CheckAnswer]) -> Blame:
    """What makes a check crash that answered like this on the eval's rehearsals."""
    if any(answer.crash is not None for answer in answers):
        return "eval"
    if any(answer.finding is not None for answer in answers):
        return "content"
    return "unplayed" if answers else "unknown"


def blame_unknown(eval: Eval, number: int, run_command: RunCommand) -> Blame:  # noqa: A002
    """No rehearsals are played: it stays unknown what makes a check crash."""
    return "unknown"
