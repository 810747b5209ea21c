"""Start the client: `python -m demeanor.acp TASK.json`. Exit codes: 0 every prompt was answered, 1 one was not."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.acp.events import EventLog
from demeanor.acp.jsonrpc import AgentFailed, JsonRpc
from demeanor.acp.session import Conversation


def main() -> int:
    """Hold the conversation that the task file describes; its events go to standard output."""
    task = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was heard so far is still told
    env = {**{name: value for name, value in os.environ.items() if name not in task["hide"]}, **task["env"]}
    story = EventLog(_tell, task["own_kinds"], task["usual_kinds"])
    try:
        wire = JsonRpc(task["command"], env=env, folder=task["workspace"])
        try:
            Conversation(wire, story, task).hold()
        finally:
            wire.close()
    except AgentFailed as error:
        sys.stderr.write(f"acp: {error}\n")
        return 1
    return 0


def _tell(event: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
