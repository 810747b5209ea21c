"""The model called `scripted`: a little rule-reader for plain imperative prompts, so that anyone can try Demeanor.

It is no language model. It splits a prompt into sentences, finds the first rule that fits each one, and does what the
rule says with whatever tools are on offer. Now and then, as small models do, it says that it is done and does nothing:
about one time in eight where more than one step is asked for, drawn from the attempt's seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from demeanor.core.messages import ToolCall
from demeanor.core.text import one_line
from demeanor.gateway.script.file_templates import draft, quoted
from demeanor.gateway.script.model import ScriptedModel
from demeanor.gateway.script.tool_output import bare
from demeanor.gateway.script.turn import Answer, Turn, Unable

NOTE = "scripted: a rule-reader stands in for a model; it is no language model"
SLIP = 1 / 8
_MOST_READ = 4000

_WORDS = r"(?:'([^']+)'|\"([^\"]+)\"|`([^`]+)`|(\S+?))"

_REPLACE = re.compile(
    r"\b(?:replace|change|swap|substitute|update|bump)\b(?:.*?\bfrom)?\s+"
    r"(?:(?:all|every|each|the|occurrences?|of|words?|text|string|value|number)\s+)*"
    rf"{_WORDS}\s+(?:in \S+ )?(?:with|by|to|into)\s+(?:(?:the|word|text|string|value)\s+)*{_WORDS}(?=[.,;!]?(?:\s|$))",
    re.I,
)
_FILE = re.compile(r"(?<![\w/.-])[\w/-]+(?:\.[\w-]+)*\.[A-Za-z][A-Za-z0-9]{1,5}\b")
_QUOTED_OR_END = re.compile(r"(?<![\w'])'[^'\n]+'|\"[^\"\n]+\"|`[^`\n]+`|((?<=[.!?])\s+|\n+|;\s+|,? and then )")
_LEAVE = re.compile(r"\b(?:do not|don't|without|never) (?:chang|edit|modify|touch|writ|creat|delet)", re.I)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A sentence of the prompt, and what it speaks of."""

    sentence: str
    """The sentence."""

    prompt: str
    """The whole prompt."""

    paths: tuple[str, ...]
    """The files it names."""

    all_paths: tuple[str, ...]
    """The files that the whole prompt names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptStep:
    """One tool call of a plan."""

    call: Callable[[Turn, Sequence[str]], ToolCall]
    """Makes the call from the turn and the results so far."""

    deed: str = ""
    """What it does, in the past tense; `{}` stands for its result."""

    harmless: bool = False
    """Whether it leaves everything as it is."""


def read(path: str, deed: str = "") -> ScriptStep:
    """Read a file."""
    return ScriptStep(call=lambda turn, _results: turn.call("read", path=path), deed=deed, harmless=True)


def write(path: str, content: Callable[[Sequence[str]], str], deed: str) -> ScriptStep:
    """Write a whole file; its text may depend on the results so far."""
    return ScriptStep(call=lambda turn, results: turn.call("edit", path=path, content=content(results)), deed=deed)


def _delete(path: str, turn: Turn, _results: Sequence[str]) -> ToolCall:
    return turn.call("delete", path=path)


def answers(job: Job) -> list[ScriptStep]:
    """A question: look, tell, and leave everything as it is."""
    if not job.paths:
        return [ScriptStep(call=lambda turn, _: turn.call("search"), deed="There is:\n{}", harmless=True)]
    return [read(path, f"{path} says:\n" + "{}") for path in job.paths]


def runs(job: Job) -> list[ScriptStep]:
    """A command: run it and tell what it printed."""
    command = re.search(r"`([^`]+)`", job.sentence)
    words = command[1] if command else (quoted(job.sentence) or [""])[0]
    return [ScriptStep(call=lambda turn, _: turn.call("execute", command=words), deed=f"`{words}` printed:\n" + "{}")]


def deletes(job: Job) -> list[ScriptStep]:
    """Delete files."""
    return [ScriptStep(call=partial(_delete, path), deed=f"I deleted {path}") for path in job.paths]


def replaces(job: Job) -> list[ScriptStep]:
    """Read a file, then change some words of it and keep the rest."""
    found = _REPLACE.search(job.sentence)
    if not found:
        return []
    words = [word for word in found.groups() if word]
    path, old, new = job.paths[0], words[0], words[1]

    def change(turn: Turn, results: Sequence[str]) -> ToolCall:
        text = results[-1]
        if old not in text:
            raise Unable(f"{old!r} does not stand in {path}")
        if text.count(old) == 1 and turn.tool("edit", "path", "old", "new"):
            return turn.call("edit", path=path, old=old, new=new)
        return turn.call("edit", path=path, content=text.replace(old, new))

    return [read(path), ScriptStep(call=change, deed=f"I replaced {old!r} with {new!r} in {path}")]


def appends(job: Job) -> list[ScriptStep]:
    """Read a file, then add a line at its end."""
    path, words = job.paths[-1], next(iter(quoted(job.sentence, but=job.paths)), "")

    def longer(results: Sequence[str]) -> str:
        return (results[-1].rstrip("\n") + "\n" if results[-1] else "") + words + "\n"

    return [read(path), write(path, longer, f"I added a line to {path}")]


def summarises(job: Job) -> list[ScriptStep]:
    """Read a file, then write its first sentence into another."""
    source, target = job.all_paths[0], job.paths[-1]

    def first_sentence(results: Sequence[str]) -> str:
        text = " ".join(line for line in results[-1].splitlines() if not line.startswith("#")).strip()
        return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0] + "\n"

    return [read(source), write(target, first_sentence, f"I summarised {source} in {target}")]


def creates(job: Job) -> list[ScriptStep]:
    """Write new files."""
    texts = {path: draft(path, sentence=job.sentence, prompt=job.prompt, paths=job.all_paths) for path in job.paths}
    return [write(path, partial(_known, text), f"I wrote {path}") for path, text in texts.items()]


def _known(text: str, _results: Sequence[str]) -> str:
    return text


RULES: Sequence[tuple[str, Callable[[Job], list[ScriptStep]]]] = (
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
"""What a sentence looks like (FILE is the name of a file) → what to do. The first one that fits counts."""


def play(turn: Turn) -> Answer:
    """Do the next step of what the prompt asks for."""
    if not turn.request.tools:
        return Answer(text=one_line(turn.prompt, width=50))
    steps = plan(turn.prompt)
    results = [bare(result.text) for result in turn.results]
    if not steps:
        return Answer(text="I am a mere rule-reader and have no rule for this.")
    if len(steps) > 1 and turn.chance(SLIP, "slip"):
        return Answer(text=_closing(steps, [""] * len(steps)))
    if results and (turn.results[-1].is_error or results[-1].lower().startswith("error")):
        return Answer(text=f"That did not work: {one_line(results[-1])}")
    if turn.done < len(steps):
        return Answer(calls=(steps[turn.done].call(turn, results),))
    return Answer(text=_closing(steps, results))


def plan(prompt: str) -> list[ScriptStep]:
    """The steps that a prompt asks for; none where no rule fits. What stands far below is data, and no wish."""
    prompt = prompt[:_MOST_READ]
    all_paths = files(prompt)
    steps: list[ScriptStep] = []
    for sentence in sentences(prompt):
        job = Job(sentence=sentence, prompt=prompt, paths=files(sentence), all_paths=all_paths)
        fitting = (make for pattern, make in RULES if re.search(pattern.replace("FILE", _FILE.pattern), sentence, re.I))
        steps += next((made for make in fitting if (made := make(job))), [])
    leave = bool(_LEAVE.search(prompt))
    return [step for step in steps if step.harmless or not leave]


def files(text: str) -> tuple[str, ...]:
    """The files that a text names, each once."""
    return tuple(dict.fromkeys(_FILE.findall(text)))


def sentences(prompt: str) -> list[str]:
    """A prompt's sentences; what stands in quotation marks is never torn apart."""
    found, start = [], 0
    for match in _QUOTED_OR_END.finditer(prompt):
        if match[1]:
            found.append(prompt[start : match.start()])
            start = match.end()
    return [sentence for sentence in (*found, prompt[start:]) if sentence.strip()]


def _closing(steps: Sequence[ScriptStep], results: Sequence[str]) -> str:
    pairs = zip(steps, results, strict=False)
    deeds = [step.deed.replace("{}", result.strip()[:500]) for step, result in pairs if step.deed]
    return "\n".join(deeds) or "Done."


def scripted() -> ScriptedModel:
    """The model called `scripted`."""
    return ScriptedModel(play=play, notes=(NOTE,))
