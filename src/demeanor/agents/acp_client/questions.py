"""Answers an agent's questions with what the user of the trial says.

An agent asks by `elicitation/create`, whose form has one or more fields, or by a request for permission that offers
several answers instead of one yes. Each field is one question to the user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from demeanor.core.text.json_values import as_dict, as_dicts, as_text
from demeanor.core.values.user_channel import UserChannel

METHODS = ("elicitation/create", "session/elicitation")
"""The request of the protocol, and its name in earlier drafts."""

_YES = {"yes", "y", "true", "ok", "sure"}
_NO = {"no", "n", "false"}


class QuestionHandler:
    """Asks the user of the trial, if there is one."""

    def __init__(self, user: UserChannel, *, asked: bool) -> None:
        """`asked`: whether the eval has a user."""
        self._user = user
        self.asked = asked
        """Whether questions can be answered."""

    def capabilities(self) -> dict[str, Any]:
        """What the client tells the agent."""
        return {"elicitation": {"form": {}}} if self.asked else {}

    def form(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a form; it is declined if the user does not answer a required field."""
        schema = as_dict(params.get("requestedSchema") or params.get("schema"))
        message = as_text(params.get("message"))
        required = schema.get("required")
        content: dict[str, Any] = {}
        for name, about in as_dict(schema.get("properties")).items():
            field = as_dict(about)
            said = self._user.answer(_question(message, name, field), tuple(_choices(field)))
            value = _value(said, field) if said is not None else None
            if value is not None:
                content[name] = value
            elif said is not None or not isinstance(required, list) or name in required:
                return {"action": "decline"}
        return {"action": "accept", "content": content} if content else {"action": "decline"}

    def choice(self, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """The outcome of a request for permission that is a question: it offers several ways to say yes. None if it is
        an ordinary request, or if the user does not answer.
        """
        options = as_dicts(params.get("options"))
        answers = [option for option in options if option.get("kind") == "allow_once"]
        if not self.asked or len(answers) < 2:
            return None
        question = as_text(as_dict(params.get("toolCall")).get("title"))
        said = self._user.answer(question, tuple(as_text(answer.get("name")) for answer in answers))
        chosen = next((answer for answer in answers if said is not None and _same(said, answer.get("name"))), None)
        return None if chosen is None else {"outcome": "selected", "optionId": chosen.get("optionId")}


def _question(message: str, name: str, field: Mapping[str, Any]) -> str:
    """The question as the user sees it: the message of the form, and what the field is about."""
    label = as_text(field.get("title")) or name
    about = as_text(field.get("description"))
    return "\n".join(part for part in (message, f"{label}: {about}" if about else label) if part)


def _choices(field: Mapping[str, Any]) -> list[str]:
    """The answers that a field offers, as they are shown."""
    return [shown for shown, _ in _pairs(field)]


def _pairs(field: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What is shown for each answer that a field offers, and its value."""
    inner = as_dict(field.get("items")) or field
    listed = inner.get("oneOf") or inner.get("anyOf")
    if isinstance(listed, list):
        options = [as_dict(item) for item in listed]
        return [
            (as_text(option.get("title")) or str(option.get("const")), option["const"])
            for option in options
            if "const" in option
        ]
    values = inner.get("enum")
    names = inner.get("enumNames")
    shown = names if isinstance(names, list) else values
    return (
        [(str(name), value) for name, value in zip(shown or (), values, strict=False)]
        if isinstance(values, list)
        else []
    )


def _value(said: str, field: Mapping[str, Any]) -> Any:
    """The user's words as a value of the field; None if they are not one."""
    pairs = _pairs(field)
    if field.get("type") == "array":
        words = [part.strip() for part in said.split(",")]
        values = [value for shown, value in pairs if any(_same(word, shown) or _same(word, value) for word in words)]
        return values or None
    if pairs:
        return next((value for shown, value in pairs if _same(said, shown) or _same(said, value)), None)
    plain = said.strip().lower().rstrip(".!")
    if field.get("type") == "boolean":
        if plain in _YES:
            return True
        return False if plain in _NO else None
    if field.get("type") in ("integer", "number"):
        try:
            number = json.loads(plain)
        except ValueError:
            return None
        return number if isinstance(number, int | float) and not isinstance(number, bool) else None
    return said


def _same(said: str, other: Any) -> bool:
    return said.strip().lower() == str(other).strip().lower()
