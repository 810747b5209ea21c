"""Says something to the agent while it works, as the eval's `steer` tells.

The protocol itself has only the cancellation of a turn. Some agents take messages within a turn: goose by a method of
its own, Qwen Code by asking its client for them. All others are interrupted, and get the message as the next prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.agents.acp_client.events import EventLog
from demeanor.agents.acp_client.jsonrpc import JsonRpc
from demeanor.core.values.steering import Steering

_GOOSE_STEER = "_goose/unstable/session/steer"
_PULLING_AGENTS = ("qwen-code",)
_QUEUE_METHOD = "craft/drainMidTurnQueue"


class SteerHandler:
    """Gives the messages of one session as they become due."""

    def __init__(self, rpc: JsonRpc, events: EventLog, steering: Steering) -> None:
        self._rpc = rpc
        self._events = events
        self._steering = steering
        self._goose_run: str = ""
        self._pulls = False
        self._queue: list[dict[str, Any]] = []
        self._sent: dict[int, dict[str, Any]] = {}
        self._cancelled = False
        self.unsaid: list[str] = []
        """What the user says next, when the turn has ended."""

    @property
    def cancelled(self) -> bool:
        """Whether the turn that just ended was interrupted."""
        return self._cancelled

    def opened(self, agent: Any) -> None:
        """Learn from the handshake how this agent takes messages."""
        self._pulls = isinstance(agent, dict) and agent.get("name") in _PULLING_AGENTS

    def begin(self) -> None:
        """A turn begins."""
        self._cancelled = False

    def saw(self, update: Mapping[str, Any]) -> None:
        """Learn from an update how this agent takes messages: goose names the run that can be steered."""
        meta = update.get("_meta")
        goose = meta.get("goose") if isinstance(meta, dict) else None
        if isinstance(goose, dict) and "activeRunId" in goose:
            run = goose["activeRunId"]
            self._goose_run = run if isinstance(run, str) else ""

    def give(self, session: Any) -> None:
        """Say what is due, within the turn."""
        if self._cancelled:
            return
        for message in self._steering.due():
            if self._cancelled:
                self._keep(message)
            elif message.get("interrupt"):
                self._interrupt(session, message)
            elif self._goose_run:
                prompt = [{"type": "text", "text": message["say"]}]
                params = {"sessionId": session, "expectedRunId": self._goose_run, "prompt": prompt}
                self._sent[self._rpc.request(_GOOSE_STEER, params)] = message
            elif self._pulls:
                self._queue.append(message)
            else:
                self._interrupt(session, message)

    def pulled(self, method: Any) -> dict[str, Any] | None:
        """The answer to an agent that asks for messages of its user; None if the request is another one."""
        if method != _QUEUE_METHOD:
            return None
        self._pulls = True
        waiting, self._queue = self._queue, []
        for message in waiting:
            self._events.steered(message, "hint")
        items = [
            {"content": [{"type": "text", "text": message["say"]}], "displayText": message["say"]}
            for message in waiting
        ]
        return {"items": items}

    def answered(self, message: Mapping[str, Any]) -> bool:
        """Whether a message is the answer to a hint. One that the agent rejects is said when the turn has ended."""
        request = message.get("id")
        sent = self._sent.pop(request, None) if isinstance(request, int) and not isinstance(request, bool) else None
        if sent is None:
            return False
        if "error" in message:
            self._keep(sent)
        else:
            self._events.steered(sent, "hint")
        return True

    def end(self) -> None:
        """A turn has ended: what could not be said within it is said next."""
        for message in [*self._sent.values(), *self._queue, *self._steering.due()]:
            self._keep(message)
        self._sent, self._queue, self._goose_run = {}, [], ""

    def _interrupt(self, session: Any, message: dict[str, Any]) -> None:
        self._rpc.notify("session/cancel", {"sessionId": session})
        self._events.steered(message, "interrupt")
        self._cancelled = True
        if message.get("say"):
            self.unsaid.append(message["say"])

    def _keep(self, message: dict[str, Any]) -> None:
        self._events.steered(message, "prompt")
        if message.get("say"):
            self.unsaid.append(message["say"])
