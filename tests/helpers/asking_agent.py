"""An agent that asks its model once and prints the response: for tests in which what an agent does is not the point.

It starts several times faster than the native agent.
"""

from __future__ import annotations

import json
import sys

_PROGRAM = """\
import os, socket, sys
address, _, path = os.environ["URL"].removeprefix("http://").partition("/")
host, _, port = address.partition(":")
body = b'{"model": "' + os.environ["MODEL"].encode() + b'", "messages": [{"role": "user", "content": "Hello?"}]}'
head = f"POST /{path}/v1/chat/completions HTTP/1.1\\r\\nHost: {address}\\r\\nConnection: close\\r\\n"
head += f"Authorization: Bearer {os.environ['TOKEN']}\\r\\nContent-Type: application/json\\r\\n"
head += f"Content-Length: {len(body)}\\r\\n\\r\\n"
with socket.create_connection((host, int(port))) as link:
    link.sendall(head.encode() + body)
    answer = link.makefile().read()
print(answer)
sys.exit(0 if answer.startswith("HTTP/1.1 200") else 1)
"""
_LITERAL = _PROGRAM.replace("{", "{{").replace("}", "}}")

ASKS = f"""
[agents.asks]
adapter = "command"
dialect = "openai-chat"
command = [{json.dumps(sys.executable)}, "-I", "-S", "-c", {json.dumps(_LITERAL)}, "{{prompt}}"]
env = {{ URL = "{{base_url}}", TOKEN = "{{token}}", MODEL = "{{model}}" }}
"""
"""Its table in demeanor.toml, for a run with `sandbox = "none"`. A subject is `asks:MODEL`."""
