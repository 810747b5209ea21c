"""The brief for a fixer: what fails, how, what the model was sent, where that text is, and what the fixer may do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from demeanor.commands.fix.diagnosis import Diagnosis, FailingEval
from demeanor.core.text.line_diff import DiffWork, diff_lines
from demeanor.core.text.wording import count, opening, slug
from demeanor.render import Screen, code_block, inline_code, json_data, percent, trials
from demeanor.reports.failures import NO_INSTRUCTION
from demeanor.reports.trial import explain, trace_diff, trace_text
from demeanor.vcs import TextLocation

FOLDER = ".demeanor-fix"
"""The folder with the brief and the evidence, at the top of the repository that the fixer works in."""

CAUSE = "ROOT-CAUSE.md"
"""The file in that folder in which the fixer describes the cause."""

_RULES = """\
1. Find the cause first: compare the failing trial with the passing one, and read what the model was sent.
2. Make the smallest change to the *prompt* or to a *tool's description* that makes the behaviour right in general.
   Prefer positive wording ("do X") to negative ("do not do X").
3. Change these files only. A change to any other file is refused, and then nothing of your change is used:
{allowed}
4. {evals}
5. Write for every user of the agent, not for the eval: a prompt that quotes the eval (its prompt, its file names,
   what it expects) is refused.
6. Do not change other behaviours: the other evals are run against your change.
7. Describe the root cause in two or three sentences in `{folder}/{cause}`, and repeat it in your final message.
   Other files in `{folder}/` are ignored.
"""
_EVALS = {
    False: "Do not change the evals. They define what the agent should do; a change to one of them is refused.",
    True: "The evals define what the agent should do. Change one only as a last resort, when it is clearly wrong, "
    "together with the prompt, and remove nothing from it: no check, no rehearsal, no prompt.",
}


def fix_brief(diagnosis: Diagnosis, *, earlier: Sequence[str] = ()) -> str:
    """Return the brief as markdown. `earlier` describes each earlier round. Text from others is put into code."""
    parts = (
        _head(diagnosis),
        _rules(diagnosis),
        _earlier_rounds(earlier),
        _places(diagnosis),
        _failures(diagnosis),
        [NO_INSTRUCTION],
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def evidence(diagnosis: Diagnosis) -> dict[str, str]:
    """Return the evidence as files, by name: steps of trials, what was sent, what agents printed. Hostile text."""
    files: dict[str, str] = {}
    for number, failure in enumerate(diagnosis.failures, 1):
        name = f"{number}-{slug(failure.eval)}"
        for kind, trial in (("failing", failure.failing), ("passing", failure.passing)):
            if trial is not None and trial.events is not None:
                files[f"{name}-{kind}.txt"] = trace_text(trial.record, trial.events, full=True) + "\n"
        if failure.sent is not None:
            files[f"{name}-sent.md"] = failure.sent
        if failure.log:
            files[f"{name}-log.txt"] = failure.log
    return files


def _head(diagnosis: Diagnosis) -> Iterator[str]:
    names = ", ".join(inline_code(target.name) for target in diagnosis.evals)
    yield f"# Fix what broke: {names}\n"
    yield (
        "This repository contains a coding agent. The evals named above check its behaviour, and it does not pass them "
        "every time. "
        "Your task is to find out why, and to fix the cause here, in this folder.\n"
    )
    commit = f", commit {inline_code(diagnosis.run.commit[:12])}" if diagnosis.run.commit else ""
    yield f"The results are those of run {inline_code(diagnosis.run.id)} ({diagnosis.run.kind}{commit})."
    yield f"You work on commit {inline_code(diagnosis.commit[:12])}.\n"
    for note in diagnosis.notes:
        yield f"- note: {inline_code(note, width=400)}"


def _rules(diagnosis: Diagnosis) -> Iterator[str]:
    allowed = "\n".join(f"   - {inline_code(pattern)}" for pattern in diagnosis.allowed) or "   - (none)"
    yield "\n## What to do\n"
    yield _RULES.format(allowed=allowed, evals=_EVALS[diagnosis.evals_allowed], folder=FOLDER, cause=CAUSE)


def _earlier_rounds(earlier: Sequence[str]) -> Iterator[str]:
    if earlier:
        yield "## Earlier attempts\n"
        yield "None of these changes is in the repository now.\n"
        yield from earlier


def _places(diagnosis: Diagnosis) -> Iterator[str]:
    yield "## Where the model's instructions are\n"
    if not any(diagnosis.places.values()):
        yield "None of the text that was sent was found in the repository.\n"
        return
    yield "| What was sent | Where | How much of it |"
    yield "| --- | --- | --: |"
    for name, places in diagnosis.places.items():
        for place in places:
            also = "" if place.source else " (repeats a part)"
            yield f"| {inline_code(name)} | {inline_code(format_location(place))}{also} | {percent(place.share)} |"
    yield ""


def format_location(place: TextLocation) -> str:
    """Format a location as `prompts/system.md:3-14`."""
    return f"{place.path}:{place.line}" + (f"-{place.end_line}" if place.end_line > place.line else "")


def _failures(diagnosis: Diagnosis) -> Iterator[str]:
    targets = {target.name: target for target in diagnosis.evals}
    for number, failure in enumerate(diagnosis.failures, 1):
        target = targets[failure.eval]
        yield f"## {number}. {inline_code(failure.eval)} on {inline_code(failure.subject)}\n"
        if target.description:
            yield f"- expected behaviour: {inline_code(target.description, width=400)}"
        yield f"- defined in {inline_code(target.where)}, policy {failure.policy.value}"
        yield f"- {failure.passed} of {count(failure.judged, 'trial')} passed"
        yield f"- evidence: `{FOLDER}/{number}-{slug(failure.eval)}-*`\n"
        for prompt in target.prompts:
            yield f"The prompt:\n\n{code_block(opening(prompt, lines=30))}\n"
        for mode in failure.modes[:3]:
            yield f"It failed ({trials(list(mode.trials))}):\n\n{code_block(opening(mode.reason, lines=40))}\n"
            if mode.chain:
                yield f"What the agent did:\n\n{code_block(opening(mode.chain, lines=30))}\n"
        yield from _comparison(failure)
        yield from _sent(failure)


def _comparison(failure: FailingEval) -> Iterator[str]:
    failing, passing = failure.failing, failure.passing
    if failing is None or failing.events is None:
        reason = (failing.absence if failing else failure.absence) or "no trial of that run failed"
        yield f"The steps of the failing trial are not available: {inline_code(reason)}\n"
    elif passing is None or passing.events is None:
        yield "No passing trial is available.\n"
    else:
        yield f"A failing trial (A) and the most similar passing one (B, of run {inline_code(passing.run)}):\n"
        sides = (failing.record, failing.events), (passing.record, passing.events)
        shown = trace_diff(*sides, Screen(width=110), explanation=explain(failing, passing))
        yield code_block(shown) + "\n"


def _sent(failure: FailingEval) -> Iterator[str]:
    if failure.sent is None and failure.sent_when_passing is not None:
        shown = code_block(opening(failure.sent_when_passing, lines=120, width=400))
        yield f"System prompt and tools as a passing trial sent them:\n\n{shown}\n"
    elif failure.sent is None:
        reason = inline_code(failure.absence or "the gateway saw no request")
        yield f"What was sent to the model is not available: {reason}\n"
    elif failure.sent_when_passing is None or failure.sent_when_passing == failure.sent:
        same = " (the same as in the passing trial)" if failure.sent_when_passing else ""
        yield f"System prompt and tools as sent{same}:\n\n{code_block(opening(failure.sent, lines=120, width=400))}\n"
    else:
        diff = diff_lines(failure.sent_when_passing.splitlines(), failure.sent.splitlines(), DiffWork())
        lines = ["--- when it passed", "+++ when it failed", *(line.removesuffix("\n") for line in diff)]
        changed = opening("\n".join(lines), lines=120, width=400)
        yield f"What was sent differs from what the passing trial sent:\n\n{code_block(changed)}\n"


def brief_value(diagnosis: Diagnosis, brief: str) -> dict[str, Any]:
    """Return the brief as JSON data, with the main facts of the diagnosis."""
    return {
        "schema": "demeanor-fix-brief/1",
        "run": diagnosis.run.id,
        "commit": diagnosis.commit,
        "evals": [target.name for target in diagnosis.evals],
        "subjects": list(diagnosis.subjects),
        "places": json_data(diagnosis.places),
        "allowed": list(diagnosis.allowed),
        "notes": list(diagnosis.notes),
        "brief": brief,
    }
