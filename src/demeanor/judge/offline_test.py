"""The self-test of an eval, offline and without a model: can it pass, and can it fail?

An eval that can't fail is worse than none, since it reassures. So an agent that does nothing must fail it, every
`passes_on` behaviour must pass, and every `fails_on` behaviour must fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from demeanor.core.values.checks import PromptSnapshot
from demeanor.core.values.errors import DemeanorError
from demeanor.core.values.eval import Eval, Rehearsal
from demeanor.core.values.judge_question import AskJudge
from demeanor.core.values.ports import RunCommand
from demeanor.core.values.verdict import Verdict, VoidCause
from demeanor.judge.answers import AskChecks, CheckAnswer, ask_here
from demeanor.judge.judging import judge
from demeanor.judge.opinion import no_judge
from demeanor.judge.simulation import LayOut, ReadBack, does_nothing, rehearse, template_copies
from demeanor.judge.user_check import crash


class SelfTestFault(StrEnum):
    """What is wrong with an eval."""

    VACUOUS = "vacuous"
    """A behaviour passes that must fail: the eval can't fail, or not for the right reason."""

    IMPOSSIBLE = "impossible"
    """A behaviour fails that must pass: the eval can't pass, or not for the right reason."""

    UNPROVEN = "unproven"
    """There is no `passes_on`, so it is unknown whether the eval can pass."""

    UNJUDGED = "unjudged"
    """The judge has no recorded answer about a behaviour, or could not tell."""

    CRASHED = "crashed"
    """A check, or the behaviour itself, raised an error."""

    GAP = "gap"
    """Something about the eval is still unknown, or a behaviour is not written yet."""

    UNSTABLE = "unstable"
    """The same behaviour gets different verdicts."""

    NETWORK = "network"
    """A task needs the network and does not declare it."""

    REVEALED = "revealed"
    """The agent can find the answer to a task."""

    REFUSED = "refused"
    """The environment in which tasks run here would refuse a task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaint:
    """One problem of an eval."""

    fault: SelfTestFault
    """The kind of problem."""

    detail: str
    """The problem in detail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfTest:
    """The result of the self-test of one eval."""

    eval: str
    """The eval's name."""

    rehearsed: int
    """The number of behaviours played."""

    complaints: tuple[Complaint, ...] = ()
    """The problems found; empty if the eval can pass and can fail."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rehearsed:
    """One behaviour and its expected verdict."""

    title: str
    behaviour: Rehearsal
    expected: str


def self_test(
    eval: Eval,  # noqa: A002
    *,
    lay_out: LayOut,
    read_back: ReadBack,
    run_command: RunCommand,
    ask: AskChecks = ask_here,
    ask_judge: AskJudge = no_judge,
) -> SelfTest:
    """Play every behaviour of the eval, and an agent that does nothing, and compare the verdicts."""
    eval = playable(eval)  # noqa: A001
    parts = tuple(_parts(eval)) if eval.checks else ()
    complaints = [Complaint(fault=SelfTestFault.GAP, detail=gap) for gap in eval.gaps]
    complaints += _claims(eval)
    try:
        with template_copies(eval.scenario, lay_out) as copied:
            for part in parts:
                complaints.extend(_played(eval, part, copied, read_back, run_command, ask, ask_judge))
    except DemeanorError as error:
        complaints.append(Complaint(fault=SelfTestFault.CRASHED, detail=f"the workspace can't be created: {error}"))
    return SelfTest(eval=eval.name, rehearsed=len(parts), complaints=tuple(complaints))


def _played(
    eval: Eval,  # noqa: A002
    part: _Rehearsed,
    lay_out: LayOut,
    read_back: ReadBack,
    run_command: RunCommand,
    ask: AskChecks,
    ask_judge: AskJudge,
) -> Iterator[Complaint]:
    try:
        evidence = rehearse(eval, part.behaviour, lay_out=lay_out, read_back=read_back)
    except NotImplementedError as error:
        said = f": {error}" if str(error) else ""
        yield Complaint(fault=SelfTestFault.GAP, detail=f"{part.title} is not written yet{said}")
    except Exception as error:  # noqa: BLE001 - an author's behaviour may raise anything
        yield Complaint(fault=SelfTestFault.CRASHED, detail=f"{part.title} itself crashed: {crash(error)}")
    else:
        broken: list[CheckAnswer] = []

        def asking(*arguments: Any) -> tuple[CheckAnswer, ...]:
            answers = ask(*arguments)
            broken.extend(answer for answer in answers if answer.finding is None)
            return answers

        yield from _compared(part, judge(evidence, eval, run_command, ask=asking, ask_judge=ask_judge), broken)


def playable(eval: Eval) -> Eval:  # noqa: A002
    """The eval without its prompt snapshots, which need a real agent."""
    return replace(eval, checks=tuple(check for check in eval.checks if not isinstance(check, PromptSnapshot)))


def _parts(eval: Eval) -> Iterator[_Rehearsed]:  # noqa: A002
    yield _Rehearsed(
        title="an agent that does nothing",
        behaviour=does_nothing,
        expected="pass" if eval.does_nothing_passes else "fail",
    )
    for key, behaviours, expected in (("passes_on", eval.passes_on, "pass"), ("fails_on", eval.fails_on, "fail")):
        for behaviour in behaviours:
            title = getattr(behaviour, "__name__", repr(behaviour))
            yield _Rehearsed(
                title=title if title.startswith(key) else f"{key} {title}", behaviour=behaviour, expected=expected
            )


def _claims(eval: Eval) -> Iterator[Complaint]:  # noqa: A002
    if not eval.checks:
        return
    if eval.does_nothing_passes and not eval.fails_on:
        detail = "does_nothing_passes is set without fails_on, so nothing shows that the eval can fail"
        yield Complaint(fault=SelfTestFault.VACUOUS, detail=detail)
    if not eval.does_nothing_passes and not eval.passes_on:
        yield Complaint(
            fault=SelfTestFault.UNPROVEN, detail="there is no passes_on, so nothing shows that the eval can pass"
        )


def _compared(part: _Rehearsed, verdict: Verdict, broken: Sequence[CheckAnswer]) -> Iterator[Complaint]:
    """What is wrong with a verdict; `broken` are the checks that gave no answer, also beside a definite no."""
    if verdict.outcome == part.expected:
        for answer in broken:
            cause, detail = answer.trouble or (VoidCause.CHECK, f"{answer.check} {answer.crash}")
            fault = SelfTestFault.UNJUDGED if cause is VoidCause.JUDGE else SelfTestFault.CRASHED
            yield Complaint(fault=fault, detail=f"{part.title}: {detail}")
    elif verdict.outcome == "void" and verdict.cause is VoidCause.JUDGE:
        yield Complaint(fault=SelfTestFault.UNJUDGED, detail=f"{part.title}: {verdict.detail}")
    elif verdict.outcome == "void":
        yield Complaint(fault=SelfTestFault.CRASHED, detail=f"{part.title}: {verdict.reason}")
    elif verdict.outcome == "pass":
        yield Complaint(fault=SelfTestFault.VACUOUS, detail=f"{part.title} passes")
    else:
        yield Complaint(fault=SelfTestFault.IMPOSSIBLE, detail=f"{part.title} fails:\n{verdict.reason}")
