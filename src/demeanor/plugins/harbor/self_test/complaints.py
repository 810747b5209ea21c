"""The self-test of a whole task: its solution must pass, doing nothing must fail, and its verifier must be stable.

It uses captures of Harbor's `oracle`, which runs the task's own solution, and of `nop`, which does nothing. Both ran
without a network unless the task declares that it needs one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from demeanor.core.text.wording import excerpt
from demeanor.core.values.capture import Capture
from demeanor.core.values.checks import RewardCheck
from demeanor.core.values.whole_task import VERIFIER_OUTPUT
from demeanor.judge import Complaint, SelfTestFault

_PRINTED = (VERIFIER_OUTPUT, "agent/oracle.txt")


def task_complaints(check: RewardCheck, oracle: Sequence[Capture], nothing: Sequence[Capture]) -> Iterator[Complaint]:
    """The problems that several runs of the solution and of doing nothing reveal."""
    yield from _complaints(check, oracle, "the solution", must=True)
    yield from _complaints(check, nothing, "doing nothing", must=False)


def solved(check: RewardCheck, capture: Capture) -> bool | None:
    """Whether the reward is sufficient; None if there is none."""
    reward = None if capture.breakdown or capture.rewards is None else capture.rewards.get(check.key)
    return None if reward is None else reward >= check.at_least


def needs_network(check: RewardCheck, with_network: Capture) -> Complaint | None:
    """The complaint about a task whose solution passes only with a network."""
    if not solved(check, with_network):
        return None
    detail = (
        "the solution passes only with a network, and the task does not declare it;\n"
        'set network_mode = "public" under [environment] or, better, put the downloads into the image'
    )
    return Complaint(fault=SelfTestFault.NETWORK, detail=detail)


def _complaints(check: RewardCheck, captures: Sequence[Capture], who: str, *, must: bool) -> Iterator[Complaint]:
    answers = [solved(check, capture) for capture in captures]
    for capture, answer in zip(captures, answers, strict=True):
        if answer is None:
            yield Complaint(fault=SelfTestFault.CRASHED, detail=f"{who}: {_why(check, capture)}")
            return
    rewards = [capture.rewards or {} for capture in captures]
    if any(reward != rewards[0] for reward in rewards):
        shown = "\n".join(_shown(reward) for reward in rewards)
        yield Complaint(fault=SelfTestFault.UNSTABLE, detail=f"{who} gets different rewards:\n{shown}")
    wrong = next((capture for capture, answer in zip(captures, answers, strict=True) if answer is not must), None)
    if wrong is not None and must:
        detail = f"the solution gets {_shown(wrong.rewards or {})}, but {check.key} must be at least {check.at_least:g}"
        yield Complaint(fault=SelfTestFault.IMPOSSIBLE, detail=f"{detail}{_printed(wrong)}")
    elif wrong is not None:
        yield Complaint(
            fault=SelfTestFault.VACUOUS, detail=f"doing nothing gets {_shown(wrong.rewards or {})}, which passes"
        )
    elif not must and any(reward.get(check.key, 0.0) != 0 for reward in rewards):
        detail = f"doing nothing gets {_shown(rewards[0])}, but {check.key} must be 0"
        yield Complaint(fault=SelfTestFault.VACUOUS, detail=detail)


def _why(check: RewardCheck, capture: Capture) -> str:
    if capture.breakdown is not None:
        return f"{capture.breakdown.detail}{_printed(capture)}"
    outcome = f"gave no {check.key!r}, only {_shown(capture.rewards)}" if capture.rewards else "gave no reward"
    return f"the verifier {outcome}; it must write it to /logs/verifier/reward.json every time{_printed(capture)}"


def _printed(capture: Capture) -> str:
    """The output of the verifier and the solution, made safe to print."""
    parts = [
        f"\n{path}:\n{excerpt(output.text, lines=10)}"
        for name in _PRINTED
        for path, output in sorted(capture.task_files.items())
        if path.endswith(name) and output.text.strip()
    ]
    return "".join(parts)


def _shown(rewards: Mapping[str, float]) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in sorted(rewards.items())) or "nothing"
