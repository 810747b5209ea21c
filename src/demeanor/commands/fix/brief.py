"""What a fixer is told: what fails, how, what the model was told, where that lies, and what may be done about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from demeanor.commands.fix.diagnosis import Diagnosis, Failing
from demeanor.commands.fix.text_search import TextLocation
from demeanor.commands.trace.render import trace_text
from demeanor.commands.trace.side_by_side import trace_diff
from demeanor.commands.triage.brief import NO_INSTRUCTION
from demeanor.core.text import count, markdown_block, markdown_code, one_line, opening, slug
from demeanor.core.trajectory_diff import align, first_divergence
from demeanor.render.numbers import percent, trials
from demeanor.render.terminal import Screen

FOLDER = ".demeanor-fix"
"""Where a fixer finds the brief and the evidence, at the top of the repository that it works in."""

CAUSE = "ROOT-CAUSE.md"
"""The file there in which it says what the cause was."""

_RULES = """\
1. Find the cause first: compare what the failing trial did with what the passing one did, and what the model was told.
2. Mend it with the smallest change to the *prompt* or to a *tool's description* that makes the behaviour right in
   general. Prefer positive wording ("do X") to negative ("do not do X").
3. Change nothing but these files; anything else is refused, and nothing of your change is used then:
{allowed}
4. {evals}
5. Write for every user of the agent, not for the eval: a prompt that quotes the eval (its question, its files' names,
   what it expects) is refused.
6. Leave other behaviours as they are: the other evals are run against your change.
7. Write down the root cause in two or three sentences in `{folder}/{cause}`, and say it again as your last words.
   Nothing else in `{folder}/` is looked at.
"""
_EVALS = {
    False: "Leave the evals alone. They say what the agent should do; a change to one of them is refused.",
    True: "The evals say what the agent should do. Change one only as a last resort, where it is plainly wrong, beside "
    "the prompt, and take nothing away from it: no check, no rehearsal, no question.",
}


def fix_brief(found: Diagnosis, *, earlier: Sequence[str] = ()) -> str:
    """The brief as markdown. `earlier` tells of each round before this one. Whatever others wrote stands in code."""
    parts = (_head(found), _rules(found), _earlier(earlier), _places(found), _failures(found), [NO_INSTRUCTION])
    return "\n".join(line for part in parts for line in part) + "\n"


def evidence(found: Diagnosis) -> dict[str, str]:
    """The evidence as files, by name: trials step by step, what was sent, what agents printed. Hostile text."""
    files: dict[str, str] = {}
    for number, one in enumerate(found.failures, 1):
        name = f"{number}-{slug(one.eval)}"
        for kind, story in (("failing", one.failing), ("passing", one.passing)):
            if story is not None and story.events is not None:
                files[f"{name}-{kind}.txt"] = trace_text(story.record, story.events, full=True) + "\n"
        if one.sent is not None:
            files[f"{name}-sent.md"] = one.sent
        if one.log:
            files[f"{name}-log.txt"] = one.log
    return files


def _head(found: Diagnosis) -> Iterator[str]:
    names = ", ".join(markdown_code(one.name) for one in found.evals)
    yield f"# Mend what broke: {names}\n"
    yield (
        "This repository holds a coding agent. The evals named above check what it chooses to do, and it fails them. "
        "Your task is to find out why, and to mend it here, in this folder.\n"
    )
    commit = f", commit {markdown_code(found.run.commit[:12])}" if found.run.commit else ""
    yield f"They failed in run {markdown_code(found.run.id)} ({found.run.kind}{commit})."
    yield f"You work on commit {markdown_code(found.commit[:12])}.\n"
    for note in found.notes:
        yield f"- note: {markdown_code(one_line(note, width=400))}"


def _rules(found: Diagnosis) -> Iterator[str]:
    allowed = "\n".join(f"   - {markdown_code(pattern)}" for pattern in found.allowed) or "   - (none)"
    yield "\n## What to do\n"
    yield _RULES.format(allowed=allowed, evals=_EVALS[found.evals_too], folder=FOLDER, cause=CAUSE)


def _earlier(earlier: Sequence[str]) -> Iterator[str]:
    if earlier:
        yield "## What was tried before\n"
        yield "You begin with the repository as it was before all of this.\n"
        yield from earlier


def _places(found: Diagnosis) -> Iterator[str]:
    yield "## Where the model's instructions lie\n"
    if not any(found.places.values()):
        yield "Nothing of what was sent was found in the repository.\n"
        return
    yield "| What was sent | Where | How much of it |"
    yield "| --- | --- | --: |"
    for name, places in found.places.items():
        for place in places:
            also = "" if place.source else " (repeats a part)"
            yield f"| {markdown_code(name)} | {markdown_code(whereabouts(place))}{also} | {percent(place.share)} |"
    yield ""


def whereabouts(place: TextLocation) -> str:
    """`prompts/system.md:3-14`."""
    return f"{place.path}:{place.line}" + (f"-{place.end_line}" if place.end_line > place.line else "")


def _failures(found: Diagnosis) -> Iterator[str]:
    targets = {one.name: one for one in found.evals}
    for number, one in enumerate(found.failures, 1):
        target = targets[one.eval]
        yield f"## {number}. {markdown_code(one.eval)} on {markdown_code(one.subject)}\n"
        if target.description:
            yield f"- what is wanted: {markdown_code(one_line(target.description, width=400))}"
        yield f"- written down in {markdown_code(target.where)}, policy {one.policy.value}"
        yield f"- {one.passed} of {count(one.judged, 'trial')} passed"
        yield f"- evidence: `{FOLDER}/{number}-{slug(one.eval)}-*`\n"
        for prompt in target.prompts:
            yield f"It is asked:\n\n{markdown_block(opening(prompt, lines=30))}\n"
        for way in one.ways[:3]:
            yield f"It failed ({trials(list(way.trials))}):\n\n{markdown_block(opening(way.reason, lines=40))}\n"
            if way.chain:
                yield f"It did:\n\n{markdown_block(opening(way.chain, lines=30))}\n"
        yield from _difference(one)
        yield from _sent(one)


def _difference(one: Failing) -> Iterator[str]:
    failing, passing = one.failing, one.passing
    if failing is None or failing.events is None:
        yield f"Its steps are not at hand: {markdown_code(failing.absence if failing else one.absence)}\n"
    elif passing is None or passing.events is None:
        yield "No trial that passed is at hand.\n"
    else:
        parting = first_divergence(align(failing.events, passing.events))
        yield f"A failing trial (A) beside the nearest that passed (B, of run {markdown_code(passing.run)}):\n"
        shown = trace_diff((failing.record, failing.events), (passing.record, passing.events), Screen(width=110))
        yield markdown_block(shown) + "\n"
        if parting is None:
            yield "They did the same; look at what was said, and at the check.\n"


def _sent(one: Failing) -> Iterator[str]:
    if one.sent is None:
        yield f"What was sent to the model is not at hand: {markdown_code(one.absence or 'nothing came by')}\n"
    elif one.sent_when_passing is None or one.sent_when_passing == one.sent:
        same = " (the trial that passed sent the same)" if one.sent_when_passing else ""
        yield f"System prompt and tools as sent{same}:\n\n{markdown_block(opening(one.sent, lines=120, width=400))}\n"
    else:
        lines = difflib.unified_diff(
            one.sent_when_passing.splitlines(), one.sent.splitlines(), "when it passed", "when it failed", lineterm=""
        )
        changed = opening("\n".join(lines), lines=120, width=400)
        yield f"What was sent differs from what the trial that passed was sent:\n\n{markdown_block(changed)}\n"
