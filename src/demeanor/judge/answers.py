"""Ask one check, whatever it raises: an answer, a failure of the world, or a crash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.checks import Check
from demeanor.core.errors import WorldError
from demeanor.core.eval import Eval
from demeanor.core.evidence import Evidence
from demeanor.core.judge_question import AskJudge
from demeanor.core.ports import RunCommand
from demeanor.core.verdict import Finding, VoidCause
from demeanor.judge.check_answers import answer, title
from demeanor.judge.opinion import JudgeAccess, no_judge
from demeanor.judge.rig import Rig
from demeanor.judge.simulation import LayOut, ReadBack, rehearse
from demeanor.judge.user_check import crash

Blame: TypeAlias = Literal["eval", "content", "unknown"]
"""What makes a check crash: the eval itself, or what the agent left. `unknown` if no rehearsal can tell."""


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

    printed: str = ""
    """What it printed."""


AskChecks: TypeAlias = Callable[[Evidence, Eval, RunCommand, AskJudge], tuple[CheckAnswer, ...]]
"""Asks all checks of an eval about some evidence."""

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


def blame_here(rehearsals: Rehearsals) -> FindBlame:
    """Play rehearsals in this process, without a time limit."""

    def find(eval: Eval, number: int, run_command: RunCommand) -> Blame:  # noqa: A002
        behaviours = (*eval.passes_on, *eval.fails_on)
        for behaviour in behaviours:
            try:
                played = rehearse(eval, behaviour, lay_out=rehearsals.lay_out, read_back=rehearsals.read_back)
            except Exception:  # noqa: BLE001 - an author's behaviour may raise anything
                return "eval"
            if answer_check(eval.checks[number], Rig(played, run_command)).finding is None:
                return "eval"
        return "content" if behaviours else "unknown"

    return find


def blame_unknown(eval: Eval, number: int, run_command: RunCommand) -> Blame:  # noqa: A002
    """No rehearsals are played: it stays unknown what makes a check crash."""
    return "unknown"
