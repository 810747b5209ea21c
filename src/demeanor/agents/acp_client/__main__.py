"""Start the client: `python -m demeanor.agents.acp_client TASK.json`.

Exit codes: 0 all prompts were answered, 1 the agent failed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demeanor.agents.acp_client.events import EventLog
from demeanor.agents.acp_client.jsonrpc import AgentFailed, JsonRpc
from demeanor.agents.acp_client.session import AcpSession
from demeanor.core.values.steering import Steering


def main() -> int:
    """Run the session that the task file describes; its events go to standard output."""
    task = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exception, so that events so far are still printed
    env = {**{name: value for name, value in os.environ.items() if name not in task["hide"]}, **task["env"]}
    steering = Steering(task["steer"])
    events = EventLog(_emit, task["own_kinds"], task["usual_kinds"], steering)
    try:
        rpc = JsonRpc(task["command"], env=env, cwd=task["workspace"])
        try:
            AcpSession(rpc, events, task, steering).run()
        finally:
            rpc.close()
    except AgentFailed as error:
        sys.stderr.write(f"acp: {error}\n")
        return 1
    return 0


def _emit(event: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
