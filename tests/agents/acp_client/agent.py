"""A small agent that speaks the Agent Client Protocol, for tests; started as a program, standard library only.

Its prompt is a list of steps in JSON, such as `[["say", "hi"], ["write", "a.txt", "text"], ["end"]]`.
"""

import json
import sys
import time
from pathlib import Path

NUMBERS = iter(range(1, 10**6))
SERVERS = []


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(method, **params):
    """A request to the client: its result, or its error."""
    number = f"agent-{next(NUMBERS)}"
    send(id=number, method=method, params={"sessionId": "s1", **params})
    answer = receive()
    assert answer["id"] == number
    return answer


def update(kind, /, **fields):
    send(method="session/update", params={"sessionId": "s1", "update": {"sessionUpdate": kind, **fields}})


def say(text, kind="agent_message_chunk", **more):
    update(kind, content={"type": "text", "text": text}, **more)


def permitted(call, options=("allow_always", "allow_once", "reject_once")):
    offered = [{"optionId": f"o-{kind}", "name": kind, "kind": kind} for kind in options]
    return ask("session/request_permission", toolCall=call, options=offered)["result"]["outcome"]


def write(path, text, tool="write_file", kind="edit", options=("allow_always", "allow_once", "reject_once")):
    """A tool that asks first."""
    call = {"toolCallId": f"t{next(NUMBERS)}", "title": f"Writing {path}", "kind": kind}
    update("tool_call", **call, rawInput={"path": path, "content": text}, _meta={"mine": {"toolName": tool}})
    outcome = permitted(call, options)
    done = {"toolCallId": call["toolCallId"]}
    if outcome.get("optionId") == "o-allow_once":
        Path(path).write_text(text)
        update("tool_call_update", **done, status="completed", rawOutput="written")
    else:
        denial = {"type": "content", "content": {"type": "text", "text": f"denied: {json.dumps(outcome)}"}}
        update("tool_call_update", **done, status="failed", content=[denial])


def late(path, before, after):
    """A tool whose request for permission names only the call; its kind comes before, after or never."""
    call = {"toolCallId": "late", "title": f"Writing {path}"}
    update("tool_call", **call, kind=before, rawInput={"filePath": path}, _meta={"tool_name": "scribe"})
    number = f"agent-{next(NUMBERS)}"
    options = [{"optionId": f"o-{kind}", "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
    request = {"sessionId": "s1", "toolCall": {"toolCallId": "late"}, "options": options}
    send(id=number, method="session/request_permission", params=request)
    if after:
        update("tool_call_update", toolCallId="late", kind=after)
    outcome = receive()["result"]["outcome"]
    if outcome["optionId"] == "o-allow_once":
        Path(path).write_text("late")
    update("tool_call_update", toolCallId="late", kind="edit", status="completed", rawOutput=outcome["optionId"])


def read(path, **more):
    """A tool that asks the client for a file."""
    answer = ask("fs/read_text_file", path=path, **more)
    say(json.dumps(answer.get("error") or answer["result"]["content"]), messageId=next(NUMBERS))


def put(path, content):
    answer = ask("fs/write_text_file", path=path, content=content)
    say(json.dumps(answer.get("error", "put")), messageId=next(NUMBERS))


def call(tool, kind, arguments, result):
    """A tool that does not ask."""
    number = f"t{next(NUMBERS)}"
    update("tool_call", toolCallId=number, title=tool, kind=kind, rawInput=arguments)
    update("tool_call_update", toolCallId=number, status="completed", rawOutput=result)


def raw(text, times=1):
    sys.stdout.write(text * times)
    sys.stdout.flush()


def unknown(method):
    say(json.dumps(ask(method)["error"]["code"]))


def think(text):
    say(text, "agent_thought_chunk")


def plan(*steps):
    update("plan", entries=[{"content": step, "priority": "high", "status": "pending"} for step in steps])


def elicit(message, properties, required=()):
    """A question of the protocol, with a form."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    answer = ask("elicitation/create", mode="form", message=message, requestedSchema=schema)
    say(json.dumps(answer.get("result") or answer["error"]), messageId=next(NUMBERS))


def choose(title, *names):
    """A question that is a request for permission with several answers."""
    options = [{"optionId": f"o-{name}", "name": name, "kind": "allow_once"} for name in names]
    options.append({"optionId": "no", "name": "Cancel", "kind": "reject_once"})
    call = {"toolCallId": f"t{next(NUMBERS)}", "title": title, "kind": "other"}
    say(
        json.dumps(ask("session/request_permission", toolCall=call, options=options)["result"]), messageId=next(NUMBERS)
    )


def cancelled():
    """Wait for the cancellation of the turn."""
    assert receive()["method"] == "session/cancel"


def begin(tool):
    update("tool_call", toolCallId="open", title=tool, kind="execute", rawInput={"command": "sleep"})


STEPS = {
    "say": say, "write": write, "read": read, "put": put, "call": call, "raw": raw, "unknown": unknown, "think": think,
    "plan": plan, "late": late, "begin": begin, "exit": sys.exit, "sleep": time.sleep, "elicit": elicit,
    "choose": choose, "cancelled": cancelled, "servers": lambda: say(json.dumps(SERVERS)),
}  # fmt: skip


def prompt(number, params):
    for name, *given in json.loads(params["prompt"][0]["text"]):
        if name == "stop":
            return send(id=number, result={"stopReason": given[0]})
        if name == "error":
            return send(id=number, error={"code": -32603, "message": given[0], "data": {"why": "because"}})
        STEPS[name](*given)
    return send(id=number, result={"stopReason": "end_turn"})


def main():
    while True:
        message = receive()
        number, method, params = message["id"], message["method"], message["params"]
        if method == "initialize":
            found = {"mcpCapabilities": {"http": True}} if sys.argv[2:] == ["http"] else {}
            version = int(sys.argv[1]) if sys.argv[1:] else 1
            send(id=number, result={"protocolVersion": version, "agentCapabilities": found})
        elif method == "session/new":
            SERVERS.extend(params["mcpServers"])
            send(id=number, result={"sessionId": "s1", "modes": {"currentModeId": "auto", "availableModes": []}})
        elif method == "session/load":
            say("said long ago")
            send(id=number, result=None)
        elif method == "session/set_mode":
            send(id=number, result={} if params["modeId"] == "careful" else None)
        elif method == "session/prompt":
            prompt(number, params)
        else:
            send(id=number, error={"code": -32601, "message": f"no {method}"})


main()
