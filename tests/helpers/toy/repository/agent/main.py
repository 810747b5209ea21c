"""A toy coding agent: asks its model, uses the tools it names, until the model only talks. build.py completes it.

The tests start it hundreds of times, so it imports little: `urllib.request` alone takes longer than all the rest.
"""
# ruff: noqa: PTH108, PTH123

import json
import os
import socket
import sys

BUILT = {}  # what build.py puts here: the system prompt, and the tools as sent to the model
MOST_TURNS = 12


def ask(model, messages):
    """One answer of the model."""
    body = json.dumps({"model": model, "messages": messages, "tools": BUILT["tools"]}).encode()
    address, _, path = os.environ["OPENAI_BASE_URL"].removeprefix("http://").partition("/")
    host, _, port = address.rpartition(":")
    head = (
        f"POST /{path}/chat/completions HTTP/1.0\r\n"
        f"Host: {address}\r\n"
        f"Authorization: Bearer {os.environ['OPENAI_API_KEY']}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        with connection.makefile("rb") as reply:
            head, _, answer = reply.read().partition(b"\r\n\r\n")
    if head.split()[1] != b"200":
        sys.exit(f"{head.decode()}\n{answer.decode()}")
    return json.loads(answer)["choices"][0]["message"]


def use(name, arguments):
    """What a tool answers."""
    path = arguments.get("path", ".")
    try:
        if name == "read_file":
            with open(path) as file:
                return file.read()
        if name == "write_file":
            with open(path, "w") as file:
                file.write(arguments["content"])
            return f"wrote {path}"
        if name == "delete_file":
            os.unlink(path)
            return f"deleted {path}"
        if name == "shell":
            with os.popen(f"({arguments['command']}) 2>&1") as output:  # noqa: S605
                return output.read() or "(no output)"
    except OSError as error:
        return f"error: {error}"
    return f"error: there is no tool {name}"


def main(prompt, model):
    """The whole conversation."""
    messages = [{"role": "system", "content": BUILT["system"]}, {"role": "user", "content": prompt}]
    for turn in range(MOST_TURNS):
        message = ask(model, messages)
        messages.append(message)
        if message.get("content"):
            sys.stdout.write(message["content"] + "\n")
        if not message.get("tool_calls"):
            return
        for call in message["tool_calls"]:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            result = use(name, arguments)
            sys.stderr.write(f"debug: turn {turn + 1}: {name} {arguments} -> {result!r}\n")
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


if __name__ == "__main__":
    main(*sys.argv[1:3])
