"""A session with an agent, from the first handshake to the end of the last prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.acp.events import EventLog
from demeanor.acp.files import BAD_PARAMS, PathRefused, read_text, write_text
from demeanor.acp.jsonrpc import AgentFailed, JsonRpc
from demeanor.acp.permission import Approver

_VERSION = 1
_UNKNOWN_METHOD = -32601


class Conversation:
    """One session, in which the agent is prompted turn by turn."""

    def __init__(self, wire: JsonRpc, story: EventLog, task: Mapping[str, Any]) -> None:
        self._wire = wire
        self._story = story
        self._task = task
        self._approver = Approver(task["approval"])
        self._session: Any = None
        self._listening = False

    def hold(self) -> None:
        """The whole of it; raises AgentFailed where the agent does not come to an end."""
        self._open()
        for prompt in self._task["prompts"]:
            self._prompt(prompt)

    def _open(self) -> None:
        files = bool(self._task["files"])
        able = {"fs": {"readTextFile": files, "writeTextFile": files}, "terminal": False}
        me = {"name": "demeanor", "title": "Demeanor", "version": self._task["version"]}
        told = self._ask("initialize", {"protocolVersion": _VERSION, "clientCapabilities": able, "clientInfo": me})
        if told.get("protocolVersion") != _VERSION:
            raise AgentFailed(
                f"the agent speaks version {told.get('protocolVersion')!r} of the protocol, not {_VERSION}"
            )
        if self._task["authenticate"]:
            self._ask("authenticate", {"methodId": self._task["authenticate"]})
        where = {"cwd": self._task["workspace"], "mcpServers": []}
        if self._task["session"]:
            self._session = self._task["session"]
            opened = self._ask("session/load", {**where, "sessionId": self._session})
        else:
            opened = self._ask("session/new", where)
            self._session = opened.get("sessionId")
        for what in ("mode", "model"):
            if self._task[what]:
                self._choose(what, self._task[what], opened)

    def _choose(self, what: str, value: str, opened: Mapping[str, Any]) -> None:
        """Set the session's mode or model, in whichever way the agent offers it."""
        if isinstance(opened.get(f"{what}s"), dict):
            self._ask(f"session/set_{what}", {"sessionId": self._session, f"{what}Id": value})
            return
        offered = opened.get("configOptions")
        for option in offered if isinstance(offered, list) else ():
            if isinstance(option, dict) and what in (option.get("id"), option.get("category")):
                params = {"sessionId": self._session, "configId": option.get("id"), "value": value}
                self._ask("session/set_config_option", params)
                return
        raise AgentFailed(f"the agent offers no choice of a {what}, so {value!r} can't be set")

    def _prompt(self, prompt: str) -> None:
        self._listening = True
        params = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
        denied = self._approver.denied
        try:
            reason = self._ask("session/prompt", params).get("stopReason")
        finally:
            self._story.ended()
            self._listening = False
        if reason == "refusal":
            self._story.refused()
        elif reason != "end_turn" and not (reason == "cancelled" and self._approver.denied > denied):
            raise AgentFailed(f"the agent ended its turn with {reason!r}")

    def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The agent's answer to a request; what it says and asks in the meantime is heard and answered."""
        number = self._wire.request(method, params)
        for message in self._wire.messages():
            if "method" in message:
                self._hear(message)
            elif message.get("id") == number and not isinstance(message.get("id"), bool):
                if "error" in message:
                    raise AgentFailed(f"the agent answered {method} with an error: {_shown(message['error'])}")
                result = message.get("result")
                return result if isinstance(result, dict) else {}
        raise AgentFailed(f"the agent ended ({self._wire.how_it_ended()}) before it answered {method}")

    def _hear(self, message: Mapping[str, Any]) -> None:
        method, number = message["method"], message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if number is None:
            update = params.get("update") if method == "session/update" else None
            # A session that is loaded first tells what was said in it before: nobody listens then.
            if isinstance(update, dict) and self._listening and params.get("sessionId") == self._session:
                self._story.update(update)
        elif method == "session/request_permission":
            self._wire.answer(number, {"outcome": self._approver.outcome(params, self._story)})
        elif method in ("fs/read_text_file", "fs/write_text_file") and self._task["files"]:
            self._serve(method, number, params)
        else:
            self._wire.refuse(number, _UNKNOWN_METHOD, f"this client has no {str(method)[:100]}")

    def _serve(self, method: str, number: Any, params: Mapping[str, Any]) -> None:
        workspace = self._task["workspace"]
        try:
            if method == "fs/read_text_file":
                self._wire.answer(number, {"content": read_text(workspace, params)})
            else:
                write_text(workspace, params)
                self._wire.answer(number, None)
        except PathRefused as error:
            self._wire.refuse(number, error.code, str(error))
        except (OSError, ValueError) as error:
            self._wire.refuse(number, BAD_PARAMS, str(error)[:200])


def _shown(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)[:500]
    data = f" ({error['data']})" if error.get("data") else ""
    return f"{error.get('code')}: {error.get('message')}{data}"[:500]
