"""What the store has of a trial besides its steps, cut to what a page can show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from demeanor.core.text.codec import encode
from demeanor.core.text.wording import opening, shortened
from demeanor.core.values.errors import StoreError
from demeanor.core.values.history import PastRun
from demeanor.core.values.record import Record
from demeanor.results import load_capture
from demeanor.store.captures import CaptureStore, capture_text, read_exchanges
from demeanor.store.runs import RunFolder, log_file, place_of

MOST_BYTES = 60_000
"""Of a file that is shown."""

_WIDTH = 400
_TOOL_CHARACTERS = 1_500
_MOST_TOOLS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class FileText:
    """A file, cut if it is long."""

    text: str
    """Its beginning. Hostile text."""

    left_out: int
    """Bytes that are not shown."""

    path: str
    """Where the whole file is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffLine:
    """One line of a diff."""

    kind: str
    """`file`, `hunk`, `add`, `del` or empty."""

    text: str
    """The line. Hostile text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffFile:
    """The changes of one file."""

    path: str
    """Its path. Hostile text."""

    lines: tuple[DiffLine, ...]
    """The lines of its diff, with its two paths."""

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum(line.kind == "add" for line in self.lines)

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(line.kind == "del" for line in self.lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptParts:
    """What the model was told."""

    prompts: tuple[str, ...]
    """What the agent was asked, turn by turn."""

    system: str
    """The system prompt."""

    tools: tuple[tuple[str, str], ...]
    """The tools: name, and description with schema."""

    more_tools: int
    """Tools that are not shown."""


def workspace_diff(folder: RunFolder | None, record: Record) -> tuple[FileText, tuple[DiffFile, ...]] | None:
    """The changes of the workspace, file by file; None if the folder is not here."""
    if folder is None:
        return None
    diff = _read(folder.folder / record.folder / "workspace.diff")
    lines = diff.text.splitlines()
    starts = [
        n for n, line in enumerate(lines) if n == 0 or (_begins_file(lines, n) and not _begins_file(lines, n - 1))
    ]
    return diff, tuple(_diff_file(lines[start:end]) for start, end in pairwise([*starts, len(lines)]))


def _begins_file(lines: Sequence[str], number: int) -> bool:
    """Whether a file begins at a line: `diff …`, or its two paths."""
    line, following = lines[number], lines[number + 1] if number + 1 < len(lines) else ""
    return line.startswith("diff ") or (line.startswith("--- ") and following.startswith("+++ "))


def _diff_file(lines: Sequence[str]) -> DiffFile:
    paths = [line[4:] for line in lines[:4] if line.startswith(("--- ", "+++ ")) and line[4:] != "/dev/null"]
    path = paths[-1].removeprefix("b/").removeprefix("a/") if paths else lines[0]
    return DiffFile(path=path, lines=tuple(DiffLine(kind=diff_kind(line), text=line) for line in lines))


def diff_kind(line: str) -> str:
    """What a line of a unified diff is."""
    if line.startswith(("+++", "---", "diff ", "index ")):
        return "file"
    return {"@": "hunk", "+": "add", "-": "del"}.get(line[:1], "")


def log_text(folder: RunFolder | None, record: Record) -> FileText | None:
    """What the agent printed; None if the folder is not here."""
    return None if folder is None else _read(log_file(folder.folder / record.folder))


def _read(path: Path) -> FileText:
    """The beginning of a file of a trial; an empty one is not written."""
    try:
        with path.open("rb") as file:
            start = file.read(MOST_BYTES)
            left_out = path.stat().st_size - len(start)
    except FileNotFoundError:
        return FileText(text="", left_out=0, path=str(path))
    except OSError as error:
        raise StoreError(f"{path}: can't be read: {error.strerror}") from None
    text = opening(start.decode("utf-8", "replace"), lines=10**6, width=_WIDTH)
    return FileText(text=text, left_out=left_out, path=str(path))


def prompt_parts(run: PastRun, record: Record, results: Path, captures: CaptureStore | None) -> PromptParts:
    """What the model was told, from the capture; raises StoreError if that is elsewhere."""
    capture = load_capture(place_of(run, results), record, captures)
    first = capture.exchanges[0].request if capture.exchanges else None
    tools = [(tool.name, _tool(tool)) for tool in first.tools] if first else []
    return PromptParts(
        prompts=tuple(opening(text, lines=400, width=_WIDTH) for text in capture.prompts[:10]),
        system=opening(shortened(first.system if first else "", 40_000), lines=2000, width=_WIDTH),
        tools=tuple(tools[:_MOST_TOOLS]),
        more_tools=max(0, len(tools) - _MOST_TOOLS),
    )


def _tool(tool: Any) -> str:
    text = json.dumps(encode(tool), indent=1, ensure_ascii=False, default=str)
    return opening(shortened(text, _TOOL_CHARACTERS, end="\n…"), lines=200, width=_WIDTH)


def exchange_text(
    run: PastRun, record: Record, results: Path, captures: CaptureStore | None, number: int
) -> FileText | None:
    """One exchange as JSON; None if there is no such one, StoreError if the capture is elsewhere."""
    place = place_of(run, results)
    text, where = capture_text(record, run=place.folder, captures=captures, home=place.source)
    exchange = next((exchange for exchange in read_exchanges(text, where=where) if exchange.number == number), None)
    if exchange is None:
        return None
    raw = json.dumps(encode(exchange), indent=1, ensure_ascii=False, default=str)
    shown = opening(shortened(raw, MOST_BYTES), lines=10**6, width=2000)
    return FileText(text=shown, left_out=max(0, len(raw) - MOST_BYTES), path=where)
