"""Start the native agent: `python -m demeanor.agents.native_agent "Fix the failing test."`"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from demeanor.agents.native_agent.chat import Chat, ModelError
from demeanor.agents.native_agent.loop import Conversation, run
from demeanor.core.values.approval import Approver
from demeanor.core.values.steering import Steering
from demeanor.core.values.user_channel import UserChannel


def main() -> int:
    """Exit codes: 0 the model finished, 1 it did not finish within --max-turns, 2 wrong usage, 3 the model failed."""
    parser = argparse.ArgumentParser(
        prog="demeanor.agents.native_agent", description="A small coding agent for the current folder."
    )
    parser.add_argument("prompt", nargs="*", help="what to do; several prompts are several turns of one conversation")
    parser.add_argument("--task", type=Path, help="a JSON file: prompts, messages, approval")
    parser.add_argument("--model", default=os.environ.get("OPENAI_MODEL", ""), help="default: $OPENAI_MODEL")
    parser.add_argument("--base-url", default=os.environ.get("OPENAI_BASE_URL", ""), help="default: $OPENAI_BASE_URL")
    parser.add_argument("--max-turns", type=int, default=25, help="maximum model answers per prompt (default: 25)")
    parser.add_argument("--seed", type=int, help="a seed for the model's sampling, if the model supports it")
    args = parser.parse_args()
    task = json.loads(args.task.read_text("utf-8")) if args.task else {}
    prompts = args.prompt or task.get("prompts", [])
    if not prompts or not args.model or not args.base_url:
        parser.error("a prompt, a model and a base URL are needed")
    # Programs that the agent starts must not see its key and import path.
    key = os.environ.pop("OPENAI_API_KEY", "")
    os.environ.pop("PYTHONPATH", None)
    conversation = Conversation(
        chat=Chat(base_url=args.base_url, key=key, model=args.model, seed=args.seed),
        workspace=Path.cwd(),
        approver=Approver(task.get("approval", {})),
        emit=lambda event: print(json.dumps(event), flush=True),  # noqa: T201 - its log is its output
        max_turns=args.max_turns,
        steering=Steering(task.get("steer", [])),
        user=UserChannel(task["user"], key) if task.get("user") else None,
    )
    try:
        return 0 if run(conversation, prompts, task.get("messages", [])) else 1
    except ModelError as error:
        event = {"type": "model_failed", "turn": conversation.turn, "status": error.status, "reason": error.reason}
        conversation.emit({**event, "message": str(error)})
        return 3


if __name__ == "__main__":
    sys.exit(main())
