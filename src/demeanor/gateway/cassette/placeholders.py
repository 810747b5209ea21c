"""What belongs to one bench alone, taken out of what is recorded and put into what is replayed.

A model that was told to work in `/tmp/a/workspace` answers with paths in it. Played on another bench, the answer must
name that one's. So a cassette holds `{{demeanor:workspace}}`, and neither paths of the recording machine nor secrets.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from demeanor.core.redaction.redactor import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SHORTEST_SECRET = 8
_MARK = re.compile(r"\{\{demeanor:([a-z-]+)\}\}")


class Places:
    """The names of one bench, and what stands for them in a cassette."""

    def __init__(self, facts: Mapping[str, str], secrets: Iterable[str] = (), own: bytes = b"") -> None:
        """`facts` are those of the bench: `workspace`, `home`, `base_url`, `seed`, any of which may be missing.

        `own` is what the scenario itself says: what looks like a key in it is none.
        """
        secrets = tuple(secrets)
        self._redactor = Redactor(digits=False, spare=own)
        for value in secrets:
            self._redactor = self._redactor.also({"secret": value})
        self._seed = facts.get("seed")
        self._names = _names(facts)
        found = {name: re.escape(text) + r"(?![\w-])" for name, text in self._names.items()}
        hidden = [(name, found[name]) for name in sorted(found, key=lambda name: -len(self._names[name]))]
        secret = "|".join(re.escape(text) for text in sorted(set(secrets), key=len, reverse=True) if _secret(text))
        parts = [f"(?P<secret>{secret})"] if secret else []
        parts += [f"(?P<{name.replace('-', '_')}>{pattern})" for name, pattern in hidden]
        parts.append(r"(?P<token>\bhf-[0-9a-f]{40}\b)")
        self._pattern = re.compile("|".join(parts))

    def hide(self, data: Any) -> Any:
        """JSON data with marks where the bench's names were."""
        return _walked(data, self._hidden)

    def hide_request(self, request: dict[str, Any]) -> dict[str, Any]:
        """A request as JSON data, also without the seed that Demeanor drew for the attempt."""
        found: dict[str, Any] = self.hide(request)
        for table in (found.get("sampling"), *(found.get("extra") or {}).values()):
            if isinstance(table, dict) and self._seed is not None and str(table.get("seed")) == self._seed:
                del table["seed"]
        return found

    def show(self, data: Any) -> Any:
        """JSON data with this bench's names where marks were."""
        return _walked(data, self._shown)

    def _hidden(self, text: str) -> str:
        text = self._pattern.sub(lambda match: f"{{{{demeanor:{(match.lastgroup or '').replace('_', '-')}}}}}", text)
        return self._redactor.text(text)

    def _shown(self, text: str) -> str:
        if "{{demeanor:" not in text:
            return text
        return _MARK.sub(lambda match: self._names.get(match[1], match[0]), text)


def _names(facts: Mapping[str, str]) -> dict[str, str]:
    found = {name: facts[name] for name in ("workspace", "home", "base_url", "canary") if facts.get(name)}
    if "base_url" in found:
        found["base-url"] = found.pop("base_url")
    workspace, home = found.get("workspace"), found.get("home")
    if workspace:
        found["workspace-in-a-word"] = re.sub(r"[^A-Za-z0-9]", "-", workspace)
        above = PurePosixPath(workspace).parent
        if home and PurePosixPath(home).parent == above and len(above.parts) > 2:
            found["bench"] = str(above)
    return found


def _secret(text: str) -> bool:
    return len(text) >= _SHORTEST_SECRET


def _walked(data: Any, change: Any) -> Any:
    """The same data with every text changed; the raw text of a tool call's arguments goes with the arguments."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, list):
        return [_walked(item, change) for item in data]
    if not isinstance(data, dict):
        return data
    found = {change(key): _walked(item, change) for key, item in data.items()}
    arguments = data.get("arguments")
    if data.get("kind") == "tool_call" and isinstance(arguments, dict) and found["arguments"] != arguments:
        found["raw"] = json.dumps(found["arguments"], ensure_ascii=False)
    return found
