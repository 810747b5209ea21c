"""The option `--instead`: an answer that a person writes, given at the step in place of the model's.

A file with plain text is a message. A JSON file holds `text`, `calls`, or both; each call has the name of a tool and
its `arguments`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from demeanor.core.values.errors import BadInput, nearest
from demeanor.core.values.exchange import Request, Response, StopReason
from demeanor.core.values.messages import Part, Text, ToolCall

_KEYS = ("text", "calls")
_CALL_KEYS = ("tool", "arguments")


def read_instead(path: Path, request: Request) -> Response:
    """The answer in a file, to the request of the step; raises BadInput."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't be read: {error}", where=path, key="--instead") from None
    if not text.strip():
        raise BadInput("is empty", where=path, key="--instead", remedy="write the answer into it")
    if path.suffix != ".json":
        return Response(parts=(Text(text=text.strip()),), stop=StopReason.END)
    try:
        data = json.loads(text)
    except ValueError as error:
        raise BadInput(f"is not valid JSON: {error}", where=path, key="--instead") from None
    _require_keys(data, _KEYS, path, "")
    calls = data.get("calls", [])
    if not isinstance(calls, list) or not (calls or data.get("text")):
        raise BadInput("expected text, or a list of calls", where=path, key="--instead")
    parts: list[Part] = [Text(text=str(data["text"]))] if data.get("text") else []
    parts += [_call(call, number, request, path) for number, call in enumerate(calls, 1)]
    return Response(parts=tuple(parts), stop=StopReason.TOOL_USE if calls else StopReason.END)


def _call(data: Any, number: int, request: Request, path: Path) -> ToolCall:
    at = f"calls[{number - 1}]"
    _require_keys(data, _CALL_KEYS, path, at)
    names = [tool.name for tool in request.tools]
    name, arguments = data.get("tool"), data.get("arguments", {})
    if name not in names:
        close = nearest(str(name), names)
        remedy = f"did you mean {close!r}?" if close else f"the agent offers {', '.join(names) or 'no tools'}"
        raise BadInput(f"the agent offers no tool {name!r}", where=path, key=f"{at}.tool", remedy=remedy)
    if not isinstance(arguments, dict):
        raise BadInput("expected a table of arguments", where=path, key=f"{at}.arguments")
    raw = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=f"call_instead_{number}", name=name, arguments=arguments, raw=raw)


def _require_keys(data: Any, names: tuple[str, ...], path: Path, at: str) -> None:
    if not isinstance(data, dict):
        raise BadInput(f"expected a table with {' and '.join(names)}", where=path, key=at or "--instead")
    for key in data:
        if key not in names:
            close = nearest(key, names)
            remedy = f"did you mean {close!r}?" if close else f"expected {' or '.join(names)}"
            raise BadInput("unknown key", where=path, key=f"{at}.{key}" if at else key, remedy=remedy)
