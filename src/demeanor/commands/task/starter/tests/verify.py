"""Check the files in /app after the agent has run, and write a reward for each check, always under the same keys."""

import json
from pathlib import Path

APP = Path("/app")
NOTES = "milk\nbread\nthree apples\n"


def text_of(name: str) -> str:
    """Return a file's text, or an empty string. The agent may have left anything there."""
    try:
        return (APP / name).read_text("utf-8")
    except (OSError, ValueError):
        return ""


answers = {
    "count_right": text_of("count.txt").strip() == str(len(NOTES.splitlines())),
    "notes_untouched": text_of("notes.txt") == NOTES,
}
rewards = {"reward": float(all(answers.values())), **{name: float(yes) for name, yes in answers.items()}}
Path("/logs/verifier/reward.json").write_text(json.dumps(rewards))
