"""The text of the eval file that a session becomes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from demeanor.core.text.wording import one_line, printable, shortened
from demeanor.core.values.scenario import Approval
from demeanor.core.values.trajectory import Aside, Called, Concluded, Event, Said
from demeanor.plugins.lab.adopt.rules import Fact
from demeanor.plugins.lab.adopt.situation import Situation
from demeanor.plugins.lab.adopt.source import (
    TooDeep,
    call,
    content_literal,
    is_plain_name,
    literal,
    long_text,
    text_literal,
)

_RESERVED = {"result", "succeeded", "permission", "sub_agent"}
_LONGEST_RESULT = 400
_MOST_INLINE = 16_000
"""Bytes of starting files that are written into the eval's file; more become a folder beside it."""

SHOULD = "play what the agent should have done instead"


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalText:
    """An eval file, and what could not be written into it."""

    text: str
    """The Python source."""

    template: Mapping[str, bytes]
    """The starting files that are written to a folder beside it; empty if they are in the source."""

    gaps: tuple[str, ...]
    """The gaps that the file lists."""


def eval_text(
    situation: Situation, facts: Sequence[Fact], chosen: Collection[int], *, name: str, source: str
) -> EvalText:
    """The eval file. `chosen` are the numbers of the facts that were wrong; `source` says what it is made from."""
    gaps = list(situation.gaps)
    played = list(_played(situation, gaps))
    if not chosen:
        gaps.append("the check: which of these facts was wrong? Make its assert active, or write another")
    inline = sum(map(len, situation.files.values())) <= _MOST_INLINE
    uses_re = any("re.compile" in fact.check for fact in facts)
    lines = [text_docstring(source), ""]
    lines += ["import re", ""] if uses_re else []
    lines += ["from demeanor import USUALLY_PASSES, Stage, eval_test", "", ""]
    lines += ["def what_it_did(stage: Stage) -> None:", '    """What the agent did in the session."""']
    lines += [*played, "", ""]
    lines += [
        "def what_it_should_do(stage: Stage) -> None:",
        '    """Still to be written; `demeanor validate` says so until it is."""',
        f"    raise NotImplementedError({text_literal(SHOULD)})",
        "",
        "",
    ]
    passes = bool(chosen) and all(facts[number - 1].demand == "must not" for number in chosen)
    lines += _decorator(situation, gaps, f"{name}_files" if not inline else "", does_nothing_passes=passes)
    lines += [f"def {name}(rig, result):", f"    {text_docstring(situation.prompts[-1])}"]
    lines += _checks(facts, chosen)
    return EvalText(text="\n".join(lines) + "\n", template={} if inline else dict(situation.files), gaps=tuple(gaps))


def text_docstring(text: str) -> str:
    """A docstring of one line."""
    safe = one_line(printable(text), width=200).replace("\\", "\\\\").replace('"', "'")
    return f'"""{safe}"""'


def _decorator(situation: Situation, gaps: Sequence[str], template: str, *, does_nothing_passes: bool) -> Iterator[str]:
    yield "@eval_test("
    yield "    USUALLY_PASSES,"
    if len(situation.prompts) == 1:
        yield f"    prompt={long_text(situation.prompts[0], '    ')},"
    else:
        yield from _list("prompts", [long_text(prompt, "        ") for prompt in situation.prompts])
    if situation.messages:
        said = [
            f'{{"role": "{message.role}", "text": {long_text(message.text, "        ")}}}'
            for message in situation.messages
        ]
        yield from _list("messages", said)
    if template:
        yield f"    files={text_literal(template)},"
    elif situation.files:
        yield "    files={"
        for path, content in sorted(situation.files.items()):
            yield f"        {text_literal(path)}: {content_literal(content, '        ')},"
        yield "    },"
    yield from _settings(situation)
    yield "    passes_on=what_it_should_do,"
    yield "    fails_on=what_it_did,"
    if does_nothing_passes:
        yield "    does_nothing_passes=True,"
    if gaps:
        yield from _list("gaps", [text_literal(one_line(gap, width=300)) for gap in gaps])
    yield ")"


def _list(name: str, items: Sequence[str]) -> Iterator[str]:
    yield f"    {name}=["
    yield from (f"        {item}," for item in items)
    yield "    ],"


def _settings(situation: Situation) -> Iterator[str]:
    """What else a stored trial says about the situation."""
    scenario = situation.session.scenario
    if scenario.params:
        yield f"    params={literal(scenario.params)},"
    if scenario.approval != Approval():
        answers = {"default": scenario.approval.default, **scenario.approval.rules}
        yield f"    approval={literal(answers)},"


def _checks(facts: Sequence[Fact], chosen: Collection[int]) -> Iterator[str]:
    for number, fact in enumerate(facts, 1):
        yield f"    # {number}. {one_line(fact.title, width=110)}"
        yield f"    {'' if number in chosen else '# '}assert {fact.check}"


def _played(situation: Situation, gaps: list[str]) -> Iterator[str]:
    """The body of the behaviour: the changes of files, then messages and calls, turn by turn."""
    some = False
    for path, content in situation.after.items():
        some = True
        place = f"(stage.workspace / {text_literal(path)})"
        if content is None:
            yield f"    {place}.unlink()"
            continue
        if "/" in path and not any(_folder(path) == _folder(file) for file in situation.files):
            yield f"    {place}.parent.mkdir(parents=True, exist_ok=True)"
        text = content_literal(content, "    ")
        yield f"    {place}.write_{'bytes' if text.startswith('b') else 'text'}{_in_parentheses(text)}"
    turns: dict[int, list[Event]] = {}
    for event in situation.events:
        if isinstance(event, Called) or (isinstance(event, Said) and event.text.strip()) or _starts(event):
            turns.setdefault(event.turn, []).append(event)
    for own in turns.values():
        some = True
        indent = "        " if len(own) > 1 else "    "
        if len(own) > 1:
            yield "    with stage.one_turn():"
        for event in own:
            yield from _event(event, indent, gaps)
    concluded = [event.text for event in situation.events if isinstance(event, Concluded)]
    said = [event.text for event in situation.events if isinstance(event, Said)]
    if concluded and said[-1:] != concluded[-1:]:
        some = True
        yield f"    stage.say{_in_parentheses(long_text(concluded[-1], '    '))}"
    if not some:
        yield "    # it did nothing"


def _in_parentheses(text: str) -> str:
    """A literal as the only argument of a call; one of several lines has parentheses already."""
    return text if text.startswith("(") else f"({text})"


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _starts(event: Event) -> bool:
    return isinstance(event, Aside) and bool(event.sub_agent) and bool(event.prompt)


def _event(event: Event, indent: str, gaps: list[str]) -> Iterator[str]:
    if isinstance(event, Said):
        yield f"{indent}stage.say{_in_parentheses(long_text(event.text, indent))}"
    elif isinstance(event, Aside):
        yield f"{indent}stage.sub_agent({long_text(event.prompt, indent)}, says={long_text(event.said, indent)})"
    elif isinstance(event, Called):
        yield call("stage.call", _arguments(event, gaps), indent)


def _arguments(event: Called, gaps: list[str]) -> Iterator[str]:
    yield text_literal(event.tool)
    others: dict[str, object] = {}
    for name, value in event.arguments.items():
        if name in _RESERVED:
            gaps.append(f"{event.tool}: its argument {name!r} can't be played")
            continue
        if not is_plain_name(name):
            others[name] = value
            continue
        try:
            yield f"{name}={literal(value)}"
        except TooDeep:
            gaps.append(f"{event.tool}: its argument {name!r} is nested too deeply to be played")
    if event.result:
        yield f"result={text_literal(shortened(event.result, _LONGEST_RESULT))}"
    if event.succeeded is not True:
        yield f"succeeded={event.succeeded}"
    if event.permission in ("allow", "deny"):
        yield f'permission="{event.permission}"'
    if event.sub_agent:
        yield f"sub_agent={event.sub_agent}"
    if others:
        try:
            yield f"**{literal(others)}"
        except TooDeep:
            gaps.append(f"{event.tool}: an argument is nested too deeply to be played")
