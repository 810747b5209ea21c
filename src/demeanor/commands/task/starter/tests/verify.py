"""Judges what the agent left in /app, and writes a reward for each question, always under the same keys."""

import json
from pathlib import Path

APP = Path("/app")
NOTES = "milk\nbread\nthree apples\n"


def text_of(name: str) -> str:
    """A file's text; empty where there is none. What the agent left may be anything."""
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
