"""Placeholders: replace what belongs to one attempt's environment in recordings, and are filled in on replay.

A model that was told to work in `/tmp/a/workspace` answers with paths below it. Replayed elsewhere, the response must
contain the new path. So a cassette contains `{{demeanor:workspace}}`, and no paths of the recording machine or secrets.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from demeanor.core.redaction.encodings import can_be_secret
from demeanor.core.redaction.key_patterns import TOKEN_PATTERN, TOKEN_PREFIX
from demeanor.core.redaction.redactor import Redactor, without_digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MAX_CACHED_TEXTS = 4096
_MARK = re.compile(r"\{\{demeanor:([a-z-]+)\}\}")


class Placeholders:
    """The values of one attempt's environment and the placeholders that stand for them."""

    def __init__(self, facts: Mapping[str, str], secrets: Iterable[str] = (), scenario: bytes = b"") -> None:
        """`facts` are those of the attempt: `workspace`, `home`, `agent`, `base_url`, `seed`; any may be missing.

        `scenario` is the text of the scenario: a string in it that looks like a key is not redacted.
        """
        secrets = tuple(secrets)
        self._redactor = Redactor(digits=False, spare=scenario)
        for value in filter(can_be_secret, secrets):
            self._redactor = self._redactor.also({"secret": value})
        self._seed = facts.get("seed")
        self._names = _names(facts)
        patterns = {name: re.escape(text) + r"(?![\w-])" for name, text in self._names.items()}
        hidden = [(name, patterns[name]) for name in sorted(patterns, key=lambda name: -len(self._names[name]))]
        secret = "|".join(
            re.escape(text) for text in sorted(set(secrets), key=len, reverse=True) if can_be_secret(text)
        )
        parts = [f"(?P<secret>{secret})"] if secret else []
        parts += [f"(?P<{name.replace('-', '_')}>{pattern})" for name, pattern in hidden]
        parts.append(rf"(?P<token>\b{TOKEN_PREFIX}{TOKEN_PATTERN}\b)")
        self._pattern = re.compile("|".join(parts))

    def hide(self, data: Any) -> Any:
        """JSON data with placeholders instead of the attempt's values."""
        return map_strings(data, self._hide_text)

    def hide_request(self, request: dict[str, Any]) -> dict[str, Any]:
        """A request as JSON data with placeholders, and without the seed that Demeanor chose for the attempt."""
        hidden: dict[str, Any] = self.hide(request)
        for table in (hidden.get("sampling"), *(hidden.get("extra") or {}).values()):
            if isinstance(table, dict) and self._seed is not None and str(table.get("seed")) == self._seed:
                del table["seed"]
        return hidden

    def restore(self, data: Any) -> Any:
        """JSON data with this attempt's values instead of placeholders."""
        return map_strings(data, self._restore_text)

    def _hide_text(self, text: str) -> str:
        text = self._pattern.sub(lambda match: f"{{{{demeanor:{(match.lastgroup or '').replace('_', '-')}}}}}", text)
        return self._redactor.text(text)

    def _restore_text(self, text: str) -> str:
        if "{{demeanor:" not in text:
            return text
        return _MARK.sub(lambda match: self._names.get(match[1], match[0]), text)


class RedactedPlaceholders(Placeholders):
    """Placeholders that also remove a project's secrets, with marks that are the same in every run.

    A stored capture has such marks already, with digits of its run; a request of a running agent has the secrets.
    """

    def __init__(self, facts: Mapping[str, str], redactor: Redactor) -> None:
        super().__init__(facts)
        token = facts.get("token")
        self._steady = redactor.steady.also({"gateway-token": token}) if token else redactor.steady
        self._known: dict[str, str] = {}

    def hide(self, data: Any) -> Any:
        """JSON data without secrets, with placeholders instead of the attempt's values."""
        return super().hide(map_strings(data, self._redact))

    def _redact(self, text: str) -> str:
        """Remove secrets. Results are cached, because every request repeats the same texts."""
        if text not in self._known:
            if len(self._known) >= _MAX_CACHED_TEXTS:
                self._known.clear()
            self._known[text] = without_digits(self._steady.text(text))
        return self._known[text]


def _names(facts: Mapping[str, str]) -> dict[str, str]:
    names = {name: facts[name] for name in ("workspace", "home", "agent", "base_url", "canary") if facts.get(name)}
    if "base_url" in names:
        names["base-url"] = names.pop("base_url")
    workspace, home = names.get("workspace"), names.get("home")
    if workspace:
        names["workspace-in-a-word"] = re.sub(r"[^A-Za-z0-9]", "-", workspace)
        above = PurePosixPath(workspace).parent
        if home and PurePosixPath(home).parent == above and len(above.parts) > 2:
            names["bench"] = str(above)
    return names


def map_strings(data: Any, change: Any) -> Any:
    """The data with every string changed; the raw text of a tool call follows its changed arguments."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, list):
        return [map_strings(item, change) for item in data]
    if not isinstance(data, dict):
        return data
    strings = {change(key): map_strings(item, change) for key, item in data.items()}
    arguments = data.get("arguments")
    if data.get("kind") == "tool_call" and isinstance(arguments, dict) and strings["arguments"] != arguments:
        strings["raw"] = json.dumps(strings["arguments"], ensure_ascii=False)
    return strings
