"""How a program in the sandbox asks the user of its trial, through the gateway.

This module imports nothing but the standard library and nothing else of Demeanor: the programs that run inside a
sandbox (the native agent, the ACP client, the host of Python agents) use it. A copy of the native agent for Harbor
includes this file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

PATH = "/demeanor/user"
"""Below the prefix of a session of the gateway."""

_TIMEOUT = 3600.0
"""Seconds; the trial has limits of its own."""


class UserChannel:
    """The user, as the gateway lets a client ask them."""

    def __init__(self, base_url: str, token: str) -> None:
        """`base_url` is that of the session; without one, there is no user."""
        self._base_url = base_url
        self._token = token

    def reply(self, said: str) -> str | None:
        """What the user says next, after the agent's last message; None if the conversation is over."""
        return self._ask({"said": said})

    def answer(self, question: str, options: Sequence[str] = ()) -> str | None:
        """The user's answer to a question; None if they do not answer."""
        return self._ask({"question": question, "options": list(options)})

    def _ask(self, body: dict[str, object]) -> str | None:
        if not self._base_url:
            return None
        import urllib.request  # slow, and few trials have a user

        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self._base_url}{PATH}", data=data, headers=headers)  # noqa: S310
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=_TIMEOUT) as response:
            said = json.load(response).get("said")
        return said if isinstance(said, str) else None
