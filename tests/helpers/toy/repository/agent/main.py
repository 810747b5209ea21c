"""A toy coding agent: asks its model, uses the tools it names, until the model only talks. build.py completes it."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

BUILT = {}  # what build.py puts here: the system prompt, and the tools as sent to the model
MOST_TURNS = 12


def ask(model, messages):
    """One answer of the model."""
    body = {"model": model, "messages": messages, "tools": BUILT["tools"]}
    request = urllib.request.Request(  # noqa: S310 - the address is the gateway's
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)["choices"][0]["message"]


def use(name, arguments):
    """What a tool answers."""
    path = Path(arguments.get("path", "."))
    try:
        if name == "read_file":
            return path.read_text()
        if name == "write_file":
            path.write_text(arguments["content"])
            return f"wrote {path}"
        if name == "delete_file":
            path.unlink()
            return f"deleted {path}"
        if name == "shell":
            done = subprocess.run(["sh", "-c", arguments["command"]], capture_output=True, text=True, check=False)
            return done.stdout + done.stderr or "(no output)"
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
