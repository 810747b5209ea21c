"""Turn a failing assert about calls into a sentence: pytest explains it with one line per step of the expression."""

from __future__ import annotations

import re

from demeanor.judge.call_set import AskedCalls

_TRUTH = re.compile(r"assert (not )?<calls\b.*>$")
_SUB_AGENTS = re.compile(r"assert (not )?<sub-agents: (\d+)\b.*>$")
_ORDER = re.compile(r" \+ +where +(?:True|False) = in_order\(")
_COUNT = re.compile(r" \+ +where +(\S+) = (?:count\(\)|len\(<calls\b.*>\))$")
_IN_ONE_TURN = re.compile(r" \+ +where +(\S+) = most_in_one_turn\(\)$")
_OPINION = re.compile(r"assert (?:not )?<judge (.*)>$")
_NUMBER = re.compile(r"assert (\S+(?: (?:or|to) \w+)?) (==|!=|<=|>=|<|>) (\S+)$")
_STEP = re.compile(r" \+ +(?:where|and) +(.*)$")
_OF_VIEW = re.compile(r"(\w+) = (<calls\b.*>)\.\1$")
_SKIPPED = re.compile(r"<calls\b.*> = ")
_WORDS = {
    "==": "exactly",
    "!=": "a number other than",
    "<=": "at most",
    ">=": "at least",
    "<": "fewer than",
    ">": "more than",
}


def assert_sentence(message: str, asked: AskedCalls | None) -> str:
    """The message with the assert as a sentence; `asked` is the view that was asked last."""
    lines = message.splitlines()
    at = next((number for number, line in enumerate(lines) if line.startswith("assert ")), None)
    if at is None:
        return message
    before, first, after = lines[:at], lines[at], lines[at + 1 :]
    steps = [line for line in after if _STEP.match(line)]
    if opinion := _OPINION.match(first):
        return "\n".join([*before, opinion[1], *(line for line in after if line not in steps)])
    if agents := _SUB_AGENTS.match(first):
        stated = f"expected no sub-agents, found {agents[2]}" if agents[1] else "expected sub-agents, found none"
        return "\n".join([*before, stated, *(line for line in after if line not in steps)])
    sentence = _sentence(first, steps, asked) if asked is not None else None
    if sentence is None:
        return "\n".join([*before, first, *_shortened(after)])
    return "\n".join([*before, sentence, *(line for line in after if line not in steps)])


def _sentence(first: str, steps: list[str], asked: AskedCalls) -> str | None:
    if truth := _TRUTH.match(first):
        if truth[1]:
            return f"expected no {asked.title}, found {asked.number}: {asked.members}"
        return f"expected {asked.title}, found none"
    if first in ("assert False", "assert not True") and steps and _ORDER.match(steps[0]):
        listed = f": {asked.members}" if asked.members != "none" else " none"
        return f"expected {'no ' if 'not' in first else ''}{asked.title}, in this order; found{listed}"
    number = _NUMBER.match(first)
    in_one_turn = _IN_ONE_TURN.match(steps[0]) if number and steps else None
    step = in_one_turn or (_COUNT.match(steps[0]) if number and steps else None)
    if number is None or step is None or step[1] != number[1]:
        return None
    title = asked.title.replace("calls", "call", 1) if number[3] == "1" else asked.title
    if in_one_turn:
        title += " in one turn"
    others = f"{number[1]}: {asked.members}" if asked.members != "none" else "none"
    return f"expected {_WORDS[number[2]]} {number[3]} {title}, found {others}"


def _shortened(lines: list[str]) -> list[str]:
    """The explanation without the steps that only say how a view was made."""
    kept: list[str] = []
    for line in lines:
        step = _STEP.match(line)
        method = _OF_VIEW.match(step[1]) if step else None
        if method and kept and kept[-1].rpartition(" = ")[2].startswith(f"{method[1]}("):
            kept[-1] += f" of {method[2]}"
        elif not step or (not method and not _SKIPPED.match(step[1])):
            kept.append(line)
    return kept
