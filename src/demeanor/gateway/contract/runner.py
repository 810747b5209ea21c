"""Runs every contract case against the built-in dialects or a converter of the user."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from demeanor.core.text.wording import shortened
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exchange import Request
from demeanor.gateway.contract.case import Case, ContractOutcome, MessageKind, cases
from demeanor.gateway.contract.view import stream_view
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Route

Converter: TypeAlias = Callable[[str, str, MessageKind, bytes], bytes]
"""Takes the message's dialect, the target dialect, the kind of message and the message; returns the translation."""


class NoConverter(UsageError):
    """There is nothing to check: the converter can't be started, or never answers."""


def run(convert: Converter | None = None, *, only: Iterable[Case] | None = None) -> tuple[ContractOutcome, ...]:
    """Run every case through `convert`, by default the built-in converter."""
    return tuple(_run_one(case, convert or builtin_converter) for case in (cases() if only is None else only))


def builtin_converter(source: str, target: str, kind: MessageKind, body: bytes) -> bytes:
    """The built-in converter."""
    reader, writer = DIALECTS[source], DIALECTS[target]
    route = (
        Route(operation="generate", model="gemini-2.5-pro", stream=False)
        if reader.model_in_path
        else Route(operation="generate")
    )
    if kind == "request":
        return writer.write_request(reader.read_request(body, route)).body
    asked = Request(model="some-model", messages=(), extra={target: {"stream_options": {"include_usage": True}}})
    if kind == "response":
        return writer.write_response(reader.read_response(body), asked).body
    stream_reader, stream_writer = reader.stream_reader(), writer.stream_writer(asked)
    events = [stream_writer.write(delta) for delta in [*stream_reader.feed(body), *stream_reader.close()]]
    return b"".join(events) + stream_writer.close()


def _run_one(case: Case, convert: Converter) -> ContractOutcome:
    try:
        output = convert(case.source, case.target, case.kind, case.body)
        parsed = _parse(case, output)
    except NoConverter:
        raise
    except Exception as error:  # noqa: BLE001 - an exception of the converter is its result for this case
        return ContractOutcome(
            name=case.name, why=case.why, problems=(f"the converter raised {type(error).__name__}: {error}",)
        )
    equivalent = spellings(parsed) if case.kind == "request" else ()
    problems = mismatches(parsed, dict(case.expected), equivalent=equivalent)
    return ContractOutcome(name=case.name, why=case.why, problems=tuple(problems))


def _parse(case: Case, output: bytes) -> Any:
    return stream_view(case.target, output) if case.kind == "stream" else json.loads(output)


# Equivalent spellings of a request: every API accepts a string where a list with one text is meant, and vice versa.

_KEYS = frozenset({"content", "system", "instructions"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_TEXT_KEYS = frozenset({"type", "text"})


def spellings(request: Any) -> tuple[Any, Any]:
    """The request with a string for every single text, and with a list for every string."""
    return _with_strings(request), _with_lists(request)


def _with_strings(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_strings(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _single_text(item) if _is_content(value, key) else _with_strings(item) for key, item in value.items()}


def _single_text(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        (part,) = value
        if part.get("type") in _TEXT_TYPES and {key for key in part if part[key]} == _TEXT_KEYS:
            return part["text"]
    return _with_strings(value)


def _with_lists(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_lists(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = _text_type(value)
    return {
        key: [{"type": kind, "text": item}]
        if item and isinstance(item, str) and _is_content(value, key)
        else _with_lists(item)
        for key, item in value.items()
    }


def _is_content(owner: dict[str, Any], key: str) -> bool:
    return key in _KEYS or (key == "output" and owner.get("type") in _OUTPUTS)


def _text_type(owner: dict[str, Any]) -> str:
    """The type of a text in this object; only the Responses API distinguishes input from output."""
    if owner.get("type") not in {"message", *_OUTPUTS} and "input" not in owner:
        return "text"
    return "output_text" if owner.get("role") == "assistant" else "input_text"


# Checks the output of a translation against the expectations of a case.
#
# Paths are written like `messages[1].content[*].type`, `messages[role=tool].content` or `output[-1].id`. `[*]` and
# `[key=value]` select every matching item, so the value of such a path is a list.

ABSENT = object()
"""The value of a path that does not exist."""

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]|\[(\*)\]|\[([^=\]]+)=([^\]]*)\]")
_WIDTH = 160


def mismatches(output: Any, expected: dict[str, Any], *, equivalent: Sequence[Any] = ()) -> list[str]:
    """The expectations that are not met, in order of their paths, as readable text.

    Each must be met by the output or by one of its equivalent spellings.
    """
    return [
        line
        for path, argument in expected.items()
        if (problems := _check(output, path, argument)) and all(_check(other, path, argument) for other in equivalent)
        for line in problems
    ]


def one_line_json(value: Any) -> str:
    """A value as JSON on one line, for display."""
    if value is ABSENT:
        return "nothing"
    return shortened(json.dumps(value, ensure_ascii=False), _WIDTH)


def difference(expected: Any, actual: Any) -> str:
    """A unified diff of two values as JSON."""
    before, after = (
        json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines() for value in (expected, actual)
    )
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))
    return "\n".join(f"      {line}" for line in lines[2:])


def look_up(data: Any, path: str) -> Any:
    """The value at `path` in `data`; ABSENT if there is none."""
    values, many = [data], False
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"path {path!r}: syntax error at character {at}")
        at = step.end()
        key, index, star, name, value = step.groups()
        many = many or star is not None or name is not None
        values = [below for item in values for below in _step_into(item, key, index, star, name, value)]
    if many:
        return values
    return values[0] if values else ABSENT


def _step_into(
    item: Any, key: str | None, index: str | None, star: str | None, name: str | None, value: str | None
) -> list[Any]:
    if key is not None:
        return [item[key]] if isinstance(item, dict) and key in item else []
    if not isinstance(item, list):
        return []
    if index is not None:
        at = int(index)
        return [item[at]] if -len(item) <= at < len(item) else []
    if star is not None:
        return item
    return [below for below in item if isinstance(below, dict) and str(below.get(name)) == value]


def _check(output: Any, path: str, expected: Any) -> list[str]:
    actual = look_up(output, path)
    if not (isinstance(expected, dict) and expected and all(key.startswith("$") for key in expected)):
        expected = {"$is": expected}
    problems = []
    for operator, argument in expected.items():
        if operator not in _OPERATORS:
            raise ValueError(f"{path}: unknown expectation {operator!r}; known: {', '.join(sorted(_OPERATORS))}")
        if not _OPERATORS[operator](actual, argument, output):
            problems.append(_describe_mismatch(path, operator, argument, actual, output))
    return problems


def _describe_mismatch(path: str, operator: str, argument: Any, actual: Any, output: Any) -> str:
    expectation = (
        "something"
        if (operator, argument) == ("$absent", False)
        else _DESCRIPTIONS[operator].format(one_line_json(argument))
    )
    message = f"{path}: expected {expectation}, found {one_line_json(actual)}"
    if operator in {"$same", "$differs"}:
        message += f"; there is {one_line_json(look_up(output, argument))}"
    if operator == "$is" and isinstance(actual, dict | list) and isinstance(argument, dict | list):
        message += f"\n{difference(argument, actual)}"
    return message


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return ABSENT


def _has(actual: Any, expected: Any) -> bool:
    """Whether `actual` contains everything in `expected`, and possibly more."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(key in actual and _has(actual[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        fits = isinstance(actual, list) and len(actual) == len(expected)
        return fits and all(_has(*pair) for pair in zip(actual, expected, strict=True))
    return bool(actual == expected)


def _nowhere(value: Any, words: list[str]) -> bool:
    text = json.dumps(value, ensure_ascii=False)
    return not any(word in text for word in words)


def _in_order(actual: Any, words: list[str]) -> bool:
    text = json.dumps(actual, ensure_ascii=False)
    places = [text.find(word) for word in words]
    return -1 not in places and places == sorted(places)


_OPERATORS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "$is": lambda actual, expected, _: bool(actual == expected and type(actual) is type(expected)),
    "$absent": lambda actual, expected, _: (actual is ABSENT) is expected,
    "$has": lambda actual, expected, _: _has(actual, expected),
    "$matches": lambda actual, expected, _: isinstance(actual, str) and re.search(expected, actual) is not None,
    "$longest": lambda actual, expected, _: isinstance(actual, str | list) and 0 < len(actual) <= expected,
    "$count": lambda actual, expected, _: isinstance(actual, list) and len(actual) == expected,
    "$json": lambda actual, expected, _: _parsed(actual) == expected,
    "$same": lambda actual, expected, output: actual is not ABSENT and actual == look_up(output, expected),
    "$differs": lambda actual, expected, output: actual is not ABSENT and actual != look_up(output, expected),
    "$distinct": lambda actual, expected, _: (
        isinstance(actual, list) and (len(set(map(str, actual))) == len(actual)) is expected
    ),
    "$nowhere": lambda actual, expected, _: actual is not ABSENT and _nowhere(actual, expected),
    "$inOrder": lambda actual, expected, _: actual is not ABSENT and _in_order(actual, expected),
    "$over": lambda actual, expected, _: isinstance(actual, int | float) and actual > expected,
}
_DESCRIPTIONS = {
    "$is": "{}",
    "$absent": "nothing",
    "$has": "something with {}",
    "$matches": "something like {}",
    "$longest": "at most {} long and not empty",
    "$count": "{} of them",
    "$json": "the JSON text of {}",
    "$same": "the same as at {}",
    "$differs": "a value other than at {}",
    "$distinct": "all values to differ",
    "$nowhere": "none of {} in it",
    "$inOrder": "all of {} in this order",
    "$over": "more than {}",
}
