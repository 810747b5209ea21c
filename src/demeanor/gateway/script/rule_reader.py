"""The model `scripted`: follows simple imperative prompts by rules, so that anyone can try Demeanor without a model.

It is not a language model. It splits a prompt into sentences, finds the first matching rule for each one, and does
what the rule says with the tools that are offered. Like small models, it sometimes claims to be done without doing
anything: in about one of eight attempts that take more than one step, chosen by the attempt's seed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from demeanor._version import __version__
from demeanor.core.text.wording import one_line, shortened
from demeanor.core.values.messages import ToolCall
from demeanor.gateway.script.file_templates import new_file_content, quoted
from demeanor.gateway.script.model import ScriptedModel
from demeanor.gateway.script.turn import Answer, Turn, Unable

NOTE = "scripted: rules stand in for a model; it is not a language model"
SLIP_CHANCE = 1 / 8
_MAX_PROMPT = 4000

_WORDS = r"(?:'([^']+)'|\"([^\"]+)\"|`([^`]+)`|(\S+?))"

_REPLACE = re.compile(
    r"\b(?:replace|change|swap|substitute|update|bump)\b(?:.*?\bfrom)?\s+"
    r"(?:(?:all|every|each|the|occurrences?|of|words?|text|string|value|number)\s+)*"
    rf"{_WORDS}\s+(?:in \S+ )?(?:with|by|to|into)\s+(?:(?:the|word|text|string|value)\s+)*{_WORDS}(?=[.,;!]?(?:\s|$))",
    re.I,
)
_FILE = re.compile(r"(?<![\w/.-])[\w/-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{1,5}\b")
_QUOTED_OR_END = re.compile(r"(?<![\w'])'[^'\n]+'|\"[^\"\n]+\"|`[^`\n]+`|((?<=[.!?])\s+|\n+|;\s+|,? and then )")
_READ_ONLY_REQUEST = re.compile(r"\b(?:do not|don't|without|never) (?:chang|edit|modify|touch|writ|creat|delet)", re.I)


@dataclass(frozen=True, kw_only=True, slots=True)
class SentenceContext:
    """A sentence of the prompt, and the files it mentions."""

    sentence: str
    """The sentence."""

    prompt: str
    """The whole prompt."""

    paths: tuple[str, ...]
    """The files that the sentence names."""

    all_paths: tuple[str, ...]
    """The files that the whole prompt names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedCall:
    """One planned tool call."""

    call: Callable[[Turn, Sequence[str]], ToolCall]
    """Creates the call from the turn and the results so far."""

    summary: str = ""
    """What it did, in the past tense; `{}` stands for its result."""

    read_only: bool = False
    """Whether it changes nothing."""


def read(path: str, summary: str = "") -> PlannedCall:
    """Read a file."""
    return PlannedCall(call=lambda turn, _results: turn.call("read", path=path), summary=summary, read_only=True)


def write(path: str, content: Callable[[Sequence[str]], str], summary: str) -> PlannedCall:
    """Write a whole file; its content may depend on the results so far."""
    return PlannedCall(
        call=lambda turn, results: turn.call("edit", path=path, content=content(results)), summary=summary
    )


def _delete(path: str, turn: Turn, _results: Sequence[str]) -> ToolCall:
    return turn.call("delete", path=path)


def answers(context: SentenceContext) -> list[PlannedCall]:
    """A question: read the files and report, without changing anything."""
    if not context.paths:
        return [PlannedCall(call=lambda turn, _: turn.call("search"), summary="There is:\n{}", read_only=True)]
    return [read(path, f"{path} says:\n" + "{}") for path in context.paths]


def runs(context: SentenceContext) -> list[PlannedCall]:
    """A command: run it and report its output."""
    command = re.search(r"`([^`]+)`", context.sentence)
    words = command[1] if command else (quoted(context.sentence) or [""])[0]
    return [
        PlannedCall(call=lambda turn, _: turn.call("execute", command=words), summary=f"`{words}` printed:\n" + "{}")
    ]


def deletes(context: SentenceContext) -> list[PlannedCall]:
    """Delete files."""
    return [PlannedCall(call=partial(_delete, path), summary=f"I deleted {path}") for path in context.paths]


def replaces(context: SentenceContext) -> list[PlannedCall]:
    """Read a file, then replace some of its words."""
    match = _REPLACE.search(context.sentence)
    if not match:
        return []
    words = [word for word in match.groups() if word]
    path, old, new = context.paths[0], words[0], words[1]

    def change(turn: Turn, results: Sequence[str]) -> ToolCall:
        text = results[-1]
        if old not in text:
            raise Unable(f"{old!r} is not in {path}")
        if text.count(old) == 1 and turn.tool("edit", "path", "old", "new"):
            return turn.call("edit", path=path, old=old, new=new)
        return turn.call("edit", path=path, content=text.replace(old, new))

    return [read(path), PlannedCall(call=change, summary=f"I replaced {old!r} with {new!r} in {path}")]


def appends(context: SentenceContext) -> list[PlannedCall]:
    """Read a file, then append a line."""
    path, words = context.paths[-1], next(iter(quoted(context.sentence, but=context.paths)), "")

    def appended(results: Sequence[str]) -> str:
        return (results[-1].rstrip("\n") + "\n" if results[-1] else "") + words + "\n"

    return [read(path), write(path, appended, f"I added a line to {path}")]


def summarises(context: SentenceContext) -> list[PlannedCall]:
    """Read a file, then write its first sentence into another."""
    source, target = context.all_paths[0], context.paths[-1]

    def first_sentence(results: Sequence[str]) -> str:
        text = " ".join(line for line in results[-1].splitlines() if not line.startswith("#")).strip()
        return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0] + "\n"

    return [read(source), write(target, first_sentence, f"I summarised {source} in {target}")]


def creates(context: SentenceContext) -> list[PlannedCall]:
    """Write new files."""
    texts = {
        path: new_file_content(path, sentence=context.sentence, prompt=context.prompt, paths=context.all_paths)
        for path in context.paths
    }
    return [write(path, partial(_fixed_content, text), f"I wrote {path}") for path, text in texts.items()]


def _fixed_content(text: str, _results: Sequence[str]) -> str:
    return text


RULES: Sequence[tuple[str, Callable[[SentenceContext], list[PlannedCall]]]] = (
    (r"^(what|which|who|where|how|does|is|are|explain|describe|show|list|tell)\b|\?$", answers),
    (r"\brun\b.*[`'\"]", runs),
    (r"\b(delete|remove)\b.*FILE", deletes),
    (
        r"\b(replace|change|swap|substitute|update|bump)\b.*FILE|FILE.*\b(replace|change|swap|substitute|update)\b",
        replaces,
    ),
    (r"\b(append|add)\b.*['\"`].*\bto\b.*FILE", appends),
    (r"\bsummar(y|ise|ize).*FILE", summarises),
    (r"\b(create|write|save|make|put|add|store)\b.*FILE|FILE.*\b(create|write|save|put|add|store)\b", creates),
    (r"\b(read|open|look)\b.*FILE", answers),
)
"""Pattern of a sentence (FILE stands for a file name) → what to do. The first match counts."""


def play(turn: Turn) -> Answer:
    """Do the next step of what the prompt asks for."""
    if not turn.request.tools:
        return Answer(text=one_line(turn.prompt, width=50))
    steps = plan(turn.prompt)
    results = [unwrap(result.text) for result in turn.results]
    if not steps:
        return Answer(text="I am a mere rule-reader and have no rule for this.")
    if len(steps) > 1 and turn.chance(SLIP_CHANCE, "slip"):
        return Answer(text=_final_text(steps, [""] * len(steps)))
    if results and (turn.results[-1].is_error or results[-1].lower().startswith("error")):
        return Answer(text=f"That did not work: {one_line(results[-1])}")
    if turn.done < len(steps):
        return Answer(calls=(steps[turn.done].call(turn, results),))
    return Answer(text=_final_text(steps, results))


def plan(prompt: str) -> list[PlannedCall]:
    """The steps that a prompt asks for; empty if no rule matches. Only the beginning of a long prompt is read."""
    prompt = prompt[:_MAX_PROMPT]
    all_paths = files(prompt)
    steps: list[PlannedCall] = []
    for sentence in sentences(prompt):
        context = SentenceContext(sentence=sentence, prompt=prompt, paths=files(sentence), all_paths=all_paths)
        matching = (
            make for pattern, make in RULES if re.search(pattern.replace("FILE", _FILE.pattern), sentence, re.I)
        )
        steps += next((made for make in matching if (made := make(context))), [])
    read_only = bool(_READ_ONLY_REQUEST.search(prompt))
    return [step for step in steps if step.read_only or not read_only]


def files(text: str) -> tuple[str, ...]:
    """The files that a text names, each once."""
    return tuple(dict.fromkeys(_FILE.findall(text)))


def sentences(prompt: str) -> list[str]:
    """Split a prompt into sentences; quoted text is never split."""
    parts, start = [], 0
    for match in _QUOTED_OR_END.finditer(prompt):
        if match[1]:
            parts.append(prompt[start : match.start()])
            start = match.end()
    return [sentence for sentence in (*parts, prompt[start:]) if sentence.strip()]


def _final_text(steps: Sequence[PlannedCall], results: Sequence[str]) -> str:
    pairs = zip(steps, results, strict=False)
    summaries = [step.summary.replace("{}", shortened(result.strip(), 500)) for step, result in pairs if step.summary]
    return "\n".join(summaries) or "Done."


def scripted() -> ScriptedModel:
    """The model called `scripted`."""
    return ScriptedModel(play=play, notes=(NOTE,), content=f"demeanor {__version__}")


# Extracts the output of a tool from what an agent wraps around it: JSON, tags, line numbers.

_LINE_NUMBER = re.compile(r"\s*\d+(?:\t|→|: | ?\| )")
_COMMAND_HEADER = re.compile(r"\AChunk ID: \w+\n(?:[A-Z][^\n]*\n){0,6}?Output:\n")
"""What one agent prints before the output of a command."""
_REPORTS = frozenset({"returncode", "success", "lines_read"})
"""Keys of an agent's own report; other JSON is the content of a file."""
_CONTENT_TAG = re.compile(r"<content>\n(.*?)\n*(?:\n\([^\n]*\)\n)?</content>", re.S)


def unwrap(text: str) -> str:
    """The output of a file-reading tool or a shell."""
    inner = _in_json(text)
    if tagged := _CONTENT_TAG.search(inner):
        inner = tagged[1] + "\n"
    lines = _COMMAND_HEADER.sub("", inner).splitlines(keepends=True)
    return (
        "".join(_LINE_NUMBER.sub("", line, count=1) for line in lines)
        if all(map(_LINE_NUMBER.match, lines))
        else "".join(lines)
    )


def _in_json(text: str) -> str:
    """The output in an agent's report: `{"returncode": 0, "output": …}`, `[{"result": …, "success": true}]`, …"""
    try:
        document: Any = json.loads(text) if text[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        return text
    if isinstance(document, list) and len(document) == 1:
        document = document[0]
    if not isinstance(document, dict) or not document.keys() & _REPORTS:
        return text
    output = next((document[key] for key in ("output", "result", "content") if key in document), None)
    return output if isinstance(output, str) else text
