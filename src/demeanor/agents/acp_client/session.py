"""A session with an agent, from the handshake to the end of the last prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.agents.acp_client.events import EventLog
from demeanor.agents.acp_client.files import BAD_PARAMS, PathRefused, read_text, write_text
from demeanor.agents.acp_client.jsonrpc import AgentFailed, JsonRpc
from demeanor.agents.acp_client.questions import METHODS, QuestionHandler
from demeanor.agents.acp_client.steer import SteerHandler
from demeanor.agents.acp_client.wire import Wire
from demeanor.core.text.json_values import as_dict, as_dicts
from demeanor.core.values.approval import Approver
from demeanor.core.values.steering import Steering
from demeanor.core.values.user_channel import UserChannel

_VERSION = 1
_UNKNOWN_METHOD = -32601
_PATIENCE = 1.0
"""Seconds of silence after which a request for permission is answered, although the tool's kind is unknown."""


class AcpSession:
    """One session, with one turn per prompt."""

    def __init__(self, rpc: JsonRpc, events: EventLog, task: Mapping[str, Any], steering: Steering) -> None:
        self._rpc = rpc
        self._events = events
        self._task = task
        self._permissions = PermissionHandler(task["approval"], Wire(task["base_url"], task["token"]))
        self._user = UserChannel(task["base_url"], task["token"])
        self._questions = QuestionHandler(self._user, asked=bool(task["user"]))
        self._steer = SteerHandler(rpc, events, steering)
        self._session: Any = None
        self._listening = False
        self._waiting: list[tuple[Any, Mapping[str, Any]]] = []

    def run(self) -> None:
        """Send all prompts; raises AgentFailed if the agent does not finish a turn."""
        self._open()
        unsaid = list(self._task["prompts"])
        while unsaid:
            self._prompt(unsaid.pop(0))
            unsaid, self._steer.unsaid = [*self._steer.unsaid, *unsaid], []
            if not unsaid and self._task["user"]:
                said = self._user.reply(self._events.last_text)
                unsaid = [said] if said is not None else []

    def _open(self) -> None:
        files = bool(self._task["files"])
        capabilities: dict[str, Any] = {"fs": {"readTextFile": files, "writeTextFile": files}, "terminal": False}
        capabilities |= self._questions.capabilities()
        client = {"name": "demeanor", "title": "Demeanor", "version": self._task["version"]}
        params = {"protocolVersion": _VERSION, "clientCapabilities": capabilities, "clientInfo": client}
        answer = self._request("initialize", params)
        self._steer.opened(answer.get("agentInfo"))
        version = answer.get("protocolVersion")
        if version != _VERSION:
            raise AgentFailed(f"the agent speaks version {version!r} of the protocol, not {_VERSION}")
        if self._task["authenticate"]:
            self._request("authenticate", {"methodId": self._task["authenticate"]})
        self._check_servers(answer.get("agentCapabilities"))
        location = {"cwd": self._task["workspace"], "mcpServers": self._task["mcp_servers"]}
        if self._task["session"]:
            self._session = self._task["session"]
            opened = self._request("session/load", {**location, "sessionId": self._session})
        else:
            opened = self._request("session/new", location)
            self._session = opened.get("sessionId")
        for setting in ("mode", "model"):
            if self._task[setting]:
                self._set(setting, self._task[setting], opened)

    def _check_servers(self, capabilities: Any) -> None:
        """Raise AgentFailed if there is a server over HTTP, and the agent does not say that it can connect to it."""
        offered = capabilities.get("mcpCapabilities") if isinstance(capabilities, dict) else None
        if isinstance(offered, dict) and offered.get("http"):
            return
        for server in self._task["mcp_servers"]:
            if "url" in server:
                why = "it does not announce mcpCapabilities.http; serve them over standard input and output"
                raise AgentFailed(f"{server['name']}: the agent can't connect to MCP servers over HTTP: {why}")

    def _set(self, setting: str, value: str, opened: Mapping[str, Any]) -> None:
        """Set the session's mode or model, by whichever method the agent offers."""
        if isinstance(opened.get(f"{setting}s"), dict):
            self._request(f"session/set_{setting}", {"sessionId": self._session, f"{setting}Id": value})
            return
        offered = opened.get("configOptions")
        for option in offered if isinstance(offered, list) else ():
            if isinstance(option, dict) and setting in (option.get("id"), option.get("category")):
                params = {"sessionId": self._session, "configId": option.get("id"), "value": value}
                self._request("session/set_config_option", params)
                return
        raise AgentFailed(f"the agent has no way to set the {setting}, so {value!r} can't be used")

    def _prompt(self, prompt: str) -> None:
        self._listening = True
        self._steer.begin()
        params = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
        denied = self._permissions.denied
        try:
            reason = self._request("session/prompt", params).get("stopReason")
        finally:
            self._events.ended()
            self._listening = False
        self._steer.end()
        if reason == "refusal":
            self._events.refused()
        elif reason != "end_turn" and not (
            reason == "cancelled" and (self._permissions.denied > denied or self._steer.cancelled)
        ):
            raise AgentFailed(f"the agent ended its turn with {reason!r}")

    def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result; messages of the agent that come before it are handled."""
        request = self._rpc.request(method, params)
        for message in self._rpc.messages():
            self._answer_waiting(final=message is None)
            if message is None:
                continue
            if "method" in message:
                self._handle(message)
                self._answer_waiting(final=False)
                if self._listening:
                    self._steer.give(self._session)
            elif self._steer.answered(message):
                continue
            elif message.get("id") == request and not isinstance(message.get("id"), bool):
                cancelled = self._listening and self._steer.cancelled
                if "error" in message and not cancelled:
                    raise AgentFailed(f"the agent answered {method} with an error: {_error_text(message['error'])}")
                result = message.get("result")
                if isinstance(result, dict):
                    return result
                return {"stopReason": "cancelled"} if cancelled else {}
        raise AgentFailed(f"the agent exited ({self._rpc.describe_exit()}) before it answered {method}")

    def _handle(self, message: Mapping[str, Any]) -> None:
        method, request = message["method"], message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if request is None:
            update = params.get("update") if method == "session/update" else None
            # An agent that loads a session replays its messages first; those are not part of this trial.
            if isinstance(update, dict) and self._listening and params.get("sessionId") == self._session:
                self._steer.saw(update)
                self._events.update(update)
        elif method == "session/request_permission":
            self._permissions.identify(params, self._events)
            if (choice := self._questions.choice(params)) is not None:
                self._rpc.answer(request, {"outcome": choice})
            else:
                self._waiting.append((request, params))
        elif method in METHODS and self._questions.asked:
            self._rpc.answer(request, self._questions.form(params))
        elif method in ("fs/read_text_file", "fs/write_text_file") and self._task["files"]:
            self._serve_file(method, request, params)
        elif (messages := self._steer.pulled(method)) is not None and self._task["steer"]:
            self._rpc.answer(request, messages)
        else:
            self._rpc.refuse(request, _UNKNOWN_METHOD, f"this client does not support {str(method)[:100]}")

    def _answer_waiting(self, *, final: bool) -> None:
        """Answer requests for permission. The kind of a tool may follow in an update; after a silence it is `other`."""
        waiting, self._waiting = self._waiting, []
        for request, params in waiting:
            if not final and self._permissions.needs_kind(params, self._events):
                self._waiting.append((request, params))
            else:
                self._rpc.answer(request, {"outcome": self._permissions.outcome(params, self._events)})
        self._rpc.patience = _PATIENCE if self._waiting else None

    def _serve_file(self, method: str, request: Any, params: Mapping[str, Any]) -> None:
        workspace = self._task["workspace"]
        try:
            if method == "fs/read_text_file":
                self._rpc.answer(request, {"content": read_text(workspace, params)})
            else:
                write_text(workspace, params)
                self._rpc.answer(request, None)
        except PathRefused as error:
            self._rpc.refuse(request, error.code, str(error))
        except (OSError, ValueError) as error:
            self._rpc.refuse(request, BAD_PARAMS, str(error)[:200])


def _error_text(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)[:500]
    data = f" ({error['data']})" if error.get("data") else ""
    return f"{error.get('code')}: {error.get('message')}{data}"[:500]


# Answers an agent's requests for permission by the eval's `approval`.

_UNKNOWN = "other"
_KINDS = frozenset({"read", "edit", "delete", "search", "execute", "fetch", "think"})
_OPTION_KINDS = {"allow": ("allow_once", "allow_always"), "deny": ("reject_once", "reject_always")}


class PermissionHandler:
    """Answers requests in the terms of the protocol, and counts denials."""

    def __init__(self, approval: Mapping[str, Any], wire: Wire) -> None:
        self._approver = Approver(approval)
        self._wire = wire
        self._by_kind = not _KINDS.isdisjoint(approval.get("rules", {}))
        self.denied = 0
        """How many requests were denied so far."""

    def identify(self, params: Mapping[str, Any], events: EventLog) -> None:
        """Find the call of a new request in the model's answers, which have the name of its tool."""
        call = _call(params)
        if tool := self._wire.tool_of(*events.identity(call)):
            events.set_tool(call, tool)

    def needs_kind(self, params: Mapping[str, Any], events: EventLog) -> bool:
        """Whether the answer may depend on the tool's kind, which neither the agent nor the model's answer has told."""
        return self._by_kind and events.kind_of(_call(params)) == _UNKNOWN

    def outcome(self, params: Mapping[str, Any], events: EventLog) -> dict[str, str]:
        """The result of a request. If the agent does not offer the answer, it is `cancelled`, which is a denial."""
        options = params.get("options")
        offered = {str(option.get("kind")): option.get("optionId") for option in as_dicts(options)}
        chosen = ""

        def decide(tool: str, kind: str) -> str:
            nonlocal chosen
            answer = self._approver.answer(tool, kind)
            chosen = next((str(offered[name]) for name in _OPTION_KINDS[answer] if name in offered), "")
            return answer if chosen else "deny"

        if events.asked(_call(params), decide) == "deny":
            self.denied += 1
        return {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}


def _call(params: Mapping[str, Any]) -> dict[str, Any]:
    return as_dict(params.get("toolCall"))
