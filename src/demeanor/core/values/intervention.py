"""An intervention: instructions that are removed, replaced, negated, shortened or swapped in every request of a trial.

It is part of the subject's settings and therefore of its fingerprint: what an agent does with another prompt is never
mixed with what it does with its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from demeanor.core.text.instructions import SYSTEM, instruction_id, spans
from demeanor.core.text.prompt_edits import negated, shortened
from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Text, Tool
from demeanor.core.values.subject import Subject

TOOL = "tool:"
"""The beginning of the id of a description that is replaced by the name of its tool."""

_SETTING = "intervention"
"""The key of a subject's settings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Intervention:
    """What is changed in every request, by the ids of instructions."""

    without: tuple[str, ...] = ()
    """Instructions to remove."""

    replacements: Mapping[str, str] = field(default_factory=dict)
    """Instructions to replace, with the new text."""

    tools: Mapping[str, str] = field(default_factory=dict)
    """Descriptions to replace, by `tool` or `tool.parameter`."""

    negated: tuple[str, ...] = ()
    """Instructions to turn into their opposite."""

    shortened: tuple[str, ...] = ()
    """Instructions of which only the first sentence or clause stays."""

    swapped: tuple[tuple[str, str], ...] = ()
    """Pairs of instructions of the system prompt that change places."""

    def __bool__(self) -> bool:
        return bool(self.ids)

    @property
    def ids(self) -> frozenset[str]:
        """All instructions that it changes; a description that is replaced by name is `tool:NAME`."""
        pairs = (id_ for pair in self.swapped for id_ in pair)
        named = (f"{TOOL}{name}" for name in self.tools)
        return frozenset((*self.without, *self.replacements, *self.negated, *self.shortened, *pairs, *named))

    @property
    def edits(self) -> tuple[str, ...]:
        """What it does, in the words of `--edit-prompt`."""
        named = (f"{TOOL}{name}" for name in self.tools)
        kinds = {
            "remove": self.without,
            "replace": (*self.replacements, *named),
            "negate": self.negated,
            "shorten": self.shortened,
            "swap": [f"{first},{second}" for first, second in self.swapped],
        }
        return tuple(f"{kind}:{changed}" for kind, instructions in kinds.items() for changed in instructions)

    def over(self, below: Intervention) -> Intervention:
        """Both interventions; an instruction that both change is changed as this one says."""
        free = {*below.ids} - self.ids
        return Intervention(
            without=(*(kept for kept in below.without if kept in free), *self.without),
            replacements={kept: text for kept, text in below.replacements.items() if kept in free}
            | {**self.replacements},
            tools={**below.tools, **self.tools},
            negated=(*(kept for kept in below.negated if kept in free), *self.negated),
            shortened=(*(kept for kept in below.shortened if kept in free), *self.shortened),
            swapped=(*(pair for pair in below.swapped if free >= {*pair}), *self.swapped),
        )

    def on(self, subject: Subject) -> Subject:
        """The subject with this intervention."""
        value: dict[str, Any] = {"without": sorted(self.without), "replacements": dict(self.replacements)}
        more = {
            "tools": dict(self.tools),
            "negated": sorted(self.negated),
            "shortened": sorted(self.shortened),
            "swapped": sorted([*pair] for pair in self.swapped),
        }
        value |= {name: own for name, own in more.items() if own}
        return replace(subject, settings={**subject.settings, _SETTING: value}) if self else subject

    @classmethod
    def of(cls, subject: Subject) -> Intervention:
        """The intervention of a subject; an empty one if it has none."""
        value = subject.settings.get(_SETTING, {})
        return cls(
            without=tuple(value.get("without", ())),
            replacements=dict(value.get("replacements", {})),
            tools=dict(value.get("tools", {})),
            negated=tuple(value.get("negated", ())),
            shortened=tuple(value.get("shortened", ())),
            swapped=tuple((id_, other) for id_, other in value.get("swapped", ())),
        )

    def verb(self, id_: str) -> str:
        """What is done to an instruction: `removed`, `replaced`, …"""
        if id_.startswith(TOOL):
            return "replaced"
        done = {"removed": self.without, "replaced": self.replacements, "negated": self.negated}
        done |= {"shortened": self.shortened}
        return next((verb for verb, ids in done.items() if id_ in ids), "swapped")


def intervene(request: Request, change: Intervention, facts: Mapping[str, str]) -> tuple[Request, dict[str, str]]:
    """The changed request, and the changed instructions: id → the text that was there."""
    editor = _Editor(change, facts)
    messages = tuple(
        editor.message(message) if message.role in {"system", "developer"} else message for message in request.messages
    )
    tools = tuple(editor.tool(tool) for tool in request.tools)
    if not editor.changed:
        return request, {}
    return replace(
        request, messages=tuple(message for message in messages if message.parts), tools=tools
    ), editor.changed


class _Editor:
    """Changes texts, and remembers which instructions it found."""

    def __init__(self, change: Intervention, facts: Mapping[str, str]) -> None:
        self._change = change
        self._tools = change.tools
        self._facts = facts
        self._moved: dict[str, str] = {}
        self.changed: dict[str, str] = {}

    def message(self, message: Message) -> Message:
        """The message with changed texts; a text that was removed as a whole leaves no empty part."""
        parts = tuple(self._part(part) for part in message.parts)
        kept = tuple(
            new for old, new in zip(message.parts, parts, strict=True) if new is old or getattr(new, "text", "").strip()
        )
        return replace(message, parts=kept)

    def _part(self, part: Any) -> Any:
        if not isinstance(part, Text):
            return part
        text = self._edit(part.text)
        return part if text == part.text else replace(part, text=text)

    def _edit(self, text: str) -> str:
        self._moved = self._moves(text)
        kept, done = [], 0
        for span in spans(text):
            if span.start < done:
                continue  # within a section that was changed
            old = text[span.start : span.end]
            new = self._whole(SYSTEM, old.strip())
            if new is None:
                continue
            gap = old[len(old.rstrip()) :] if new else ""
            lead = old[: len(old) - len(old.lstrip())] if new else ""
            kept += [text[done : span.start], lead, new, gap]
            done = span.end
        return "".join((*kept, text[done:]))

    def _moves(self, text: str) -> dict[str, str]:
        """Instructions that take the place of another one in this text: the other's id → their text."""
        if not self._change.swapped:
            return {}
        texts: dict[str, str] = {}
        for span in spans(text):
            own = text[span.start : span.end].strip()
            texts.setdefault(instruction_id(SYSTEM, own, self._facts), own)
        pairs = [pair for pair in self._change.swapped if pair[0] in texts and pair[1] in texts]
        return {id_: texts[other] for pair in pairs for id_, other in (pair, pair[::-1])}

    def _whole(self, place: str, text: str) -> str | None:
        """The new text of an instruction; None if it stays."""
        if place != SYSTEM and place in self._tools:
            self.changed[f"{TOOL}{place}"] = text
            return self._tools[place]
        instruction = instruction_id(place, text, self._facts) if text.strip() else ""
        new = self._new(instruction, text)
        if new is None:
            return None
        self.changed[instruction] = text
        return new

    def _new(self, id_: str, text: str) -> str | None:
        if id_ in self._change.without:
            return ""
        if id_ in self._change.negated:
            return negated(text)
        if id_ in self._change.shortened:
            short = shortened(text)
            return short if short != text else None
        return self._change.replacements.get(id_, self._moved.get(id_))

    def tool(self, tool: Tool) -> Tool:
        """The tool with changed descriptions."""
        self._moved = {}
        description = self._whole(tool.name, tool.description)
        schema = self._schema(tool.schema, tool.name)
        if description is None and schema is tool.schema:
            return tool
        return replace(tool, description=tool.description if description is None else description, schema=schema)

    def _schema(self, schema: Mapping[str, Any], place: str) -> Mapping[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return schema
        changed = {name: self._parameter(about, f"{place}.{name}") for name, about in properties.items()}
        same = all(changed[name] is about for name, about in properties.items())
        return schema if same else {**schema, "properties": changed}

    def _parameter(self, about: Any, place: str) -> Any:
        if not isinstance(about, Mapping):
            return about
        new = self._schema(about, place)
        if isinstance(items := new.get("items"), Mapping) and (inner := self._schema(items, f"{place}[]")) is not items:
            new = {**new, "items": inner}
        text = new.get("description", "" if place in self._tools else None)
        description = self._whole(place, text) if isinstance(text, str) else None
        if description == "":
            return {name: value for name, value in new.items() if name != "description"}
        return new if description is None else {**new, "description": description}
