"""Prompt snapshots: compare the agent's system prompt and tools with a file."""

from __future__ import annotations

from pathlib import Path

from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.values.checks import PromptSnapshot
from demeanor.core.values.eval import Eval
from demeanor.core.values.evidence import Evidence
from demeanor.judge.word_diff import unified_diff

_UPDATE = "`demeanor run --update-snapshots` updates it"


def compare_snapshot(file: Path, asked: str) -> None:
    """Raise AssertionError if `asked` differs from the file, or if there is no file."""
    try:
        snapshot = file.read_text("utf-8")
    except FileNotFoundError:
        raise AssertionError(f"the snapshot {file.name} does not exist; {_UPDATE}") from None
    if snapshot != asked:
        difference = unified_diff(snapshot, asked, ("snapshot", "sent now"))
        raise AssertionError(f"the agent's prompt or tools differ from {file.name}; {_UPDATE}\n{difference}")


def write_snapshots(eval: Eval, evidence: Evidence) -> None:  # noqa: A002 - the term of the domain
    """Write what the agent sent to the eval's snapshot files; nothing if it is unknown."""
    subject = evidence.trial.rpartition("/")[0].removeprefix(f"{eval.name}/")
    for check in eval.checks:
        if isinstance(check, PromptSnapshot) and evidence.asked is not None:
            file = check.file_of(subject)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, evidence.asked)
