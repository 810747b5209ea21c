"""The evals' own test: can this eval pass, and can it fail? Offline, in no time, before any model is asked.

An eval that can't fail is worse than none, since it reassures. So an agent that does nothing must fail it, every
behaviour that it calls good must pass, and every behaviour that it calls bad must fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from demeanor.core.checks import PromptSnapshot
from demeanor.core.errors import DemeanorError
from demeanor.core.eval import Eval, Rehearsal
from demeanor.core.ports import RunCommand
from demeanor.core.verdict import Verdict
from demeanor.judge.judge import judge
from demeanor.judge.simulation import LayOut, ReadBack, does_nothing, laid_out_once, rehearse
from demeanor.judge.user_check import crash


class SelfTestFault(StrEnum):
    """What is wrong with an eval."""

    VACUOUS = "vacuous"
    """A behaviour passes that must not: the eval can't fail, or not for the right reason."""

    IMPOSSIBLE = "impossible"
    """A behaviour fails that must pass: the eval can't pass, or not for the right reason."""

    UNPROVEN = "unproven"
    """It names no behaviour that passes, so nobody knows whether one could."""

    CRASHED = "crashed"
    """A check, or the behaviour itself, broke instead of answering."""

    UNSTABLE = "unstable"
    """The same behaviour is judged differently from one time to the next."""

    NETWORK = "network"
    """A task needs the network and does not say so."""

    REVEALED = "revealed"
    """The answer to a task lies where the agent can find it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Complaint:
    """One thing that is wrong with an eval."""

    fault: SelfTestFault
    """What kind of thing."""

    detail: str
    """What exactly, for a person."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfTest:
    """What the self-test of one eval found."""

    eval: str
    """The eval's name."""

    rehearsed: int
    """How many behaviours were played."""

    complaints: tuple[Complaint, ...] = ()
    """What is wrong; nothing where all is well."""

    @property
    def ok(self) -> bool:
        """Whether the eval can pass and can fail."""
        return not self.complaints


@dataclass(frozen=True, kw_only=True, slots=True)
class _SelfTestPart:
    """One behaviour and what must come of it."""

    title: str
    behaviour: Rehearsal
    must: str


def self_test(eval: Eval, *, lay_out: LayOut, read_back: ReadBack, run_command: RunCommand) -> SelfTest:  # noqa: A002
    """Play every behaviour that the eval names, and doing nothing, and see whether the verdicts are right."""
    eval = _playable(eval)  # noqa: A001
    parts = tuple(_parts(eval)) if eval.checks else ()
    complaints = list(_claims(eval))
    try:
        with laid_out_once(eval.scenario, lay_out) as copied:
            for part in parts:
                complaints.extend(_played(eval, part, copied, read_back, run_command))
    except DemeanorError as error:
        complaints.append(Complaint(fault=SelfTestFault.CRASHED, detail=f"the workspace can't be laid out: {error}"))
    return SelfTest(eval=eval.name, rehearsed=len(parts), complaints=tuple(complaints))


def _played(
    eval: Eval,  # noqa: A002
    part: _SelfTestPart,
    lay_out: LayOut,
    read_back: ReadBack,
    run_command: RunCommand,
) -> Iterator[Complaint]:
    try:
        evidence = rehearse(eval, part.behaviour, lay_out=lay_out, read_back=read_back)
    except Exception as error:  # noqa: BLE001 - an author's behaviour may raise anything
        yield Complaint(fault=SelfTestFault.CRASHED, detail=f"{part.title} itself crashed: {crash(error)}")
    else:
        yield from _held_against(part, judge(evidence, eval, run_command))


def _playable(eval: Eval) -> Eval:  # noqa: A002
    """The eval without its prompt snapshots: they hold what a real agent sends, and nobody can play that."""
    return replace(eval, checks=tuple(check for check in eval.checks if not isinstance(check, PromptSnapshot)))


def _parts(eval: Eval) -> Iterator[_SelfTestPart]:  # noqa: A002
    yield _SelfTestPart(
        title="an agent that does nothing",
        behaviour=does_nothing,
        must="pass" if eval.does_nothing_passes else "fail",
    )
    for key, behaviours, must in (("passes_on", eval.passes_on, "pass"), ("fails_on", eval.fails_on, "fail")):
        for behaviour in behaviours:
            title = getattr(behaviour, "__name__", repr(behaviour))
            yield _SelfTestPart(
                title=title if title.startswith(key) else f"{key} {title}", behaviour=behaviour, must=must
            )


def _claims(eval: Eval) -> Iterator[Complaint]:  # noqa: A002
    if not eval.checks:
        return
    if eval.does_nothing_passes and not eval.fails_on:
        detail = "doing nothing passes and no fails_on is given: nothing shows that it can fail"
        yield Complaint(fault=SelfTestFault.VACUOUS, detail=detail)
    if not eval.does_nothing_passes and not eval.passes_on:
        yield Complaint(fault=SelfTestFault.UNPROVEN, detail="no passes_on is given: nothing shows that it can pass")


def _held_against(part: _SelfTestPart, verdict: Verdict) -> Iterator[Complaint]:
    if verdict.outcome == part.must:
        return
    if verdict.outcome == "void":
        yield Complaint(fault=SelfTestFault.CRASHED, detail=f"{part.title}: {verdict.reason}")
    elif verdict.outcome == "pass":
        yield Complaint(fault=SelfTestFault.VACUOUS, detail=f"{part.title} passes")
    else:
        yield Complaint(fault=SelfTestFault.IMPOSSIBLE, detail=f"{part.title} fails:\n{verdict.reason}")
