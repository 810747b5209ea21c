"""The result of `demeanor adopt` as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from demeanor.commands.validate.render import validation_json, validation_text
from demeanor.core.text.wording import count, one_line
from demeanor.plugins.lab.adopt.report import AdoptReport


def adopted_text(report: AdoptReport) -> str:
    """What the agent was asked and did, the proposed checks, the gaps, and the result of the validation."""
    return "\n".join(_lines(report))


def _lines(report: AdoptReport) -> Iterator[str]:
    adopted = report.adopted
    situation = adopted.situation
    yield f"from {adopted.source}"
    for prompt in situation.prompts:
        yield f"asked: {one_line(prompt, width=100)}"
    calls = count(len(situation.steps), "call")
    yield f"found: {calls}, {count(len(situation.files), 'starting file')} ({situation.origin})"
    if situation.messages:
        yield f"       {count(len(situation.messages), 'earlier message')} (text only; their calls are left out)"
    if adopted.secrets:
        yield f"       {count(adopted.secrets, 'secret')} replaced by a mark"
    yield ""
    yield (
        "what it did; choose what was wrong with --check NUMBER:"
        if adopted.facts
        else "nothing to propose a check from"
    )
    for number, fact in enumerate(adopted.facts, 1):
        yield f"  {'*' if number in adopted.chosen else ' '} {number:>2}  {one_line(fact.title, width=100)}"
    yield ""
    if report.validation is None:
        yield f"would write {adopted.path}, with {count(len(adopted.gaps), 'gap')}:"
        yield ""
        yield adopted.text.rstrip("\n")
        return
    for path in list(adopted.files)[:1]:
        yield f"wrote {path}"
    if len(adopted.files) > 1:
        yield f"wrote {adopted.path.parent / f'{adopted.name}_files'} ({count(len(adopted.files) - 1, 'file')})"
    yield ""
    yield validation_text(report.validation)


def adopted_json(report: AdoptReport) -> str:
    """The same as JSON."""
    adopted = report.adopted
    value = {
        "eval": adopted.name,
        "file": str(adopted.path),
        "files": [str(path) for path in adopted.files],
        "source": adopted.source,
        "prompts": list(adopted.situation.prompts),
        "starting_files": sorted(adopted.situation.files),
        "origin": adopted.situation.origin,
        "facts": [
            {"number": number, "fact": fact.title, "kind": fact.kind, "check": fact.check, "demand": fact.demand}
            for number, fact in enumerate(adopted.facts, 1)
        ],
        "chosen": list(adopted.chosen),
        "gaps": list(adopted.gaps),
        "secrets": adopted.secrets,
        "written": report.validation is not None,
        "text": adopted.text,
        "validation": json.loads(validation_json(report.validation)) if report.validation else None,
    }
    return json.dumps(value, indent=2)
