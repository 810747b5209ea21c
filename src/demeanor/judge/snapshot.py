"""Prompt snapshots: has what the agent tells its model changed, and how?"""

from __future__ import annotations

import difflib
from pathlib import Path

from demeanor.core.checks import PromptSnapshot
from demeanor.core.eval import Eval
from demeanor.core.evidence import Evidence
from demeanor.core.text import opening

_UPDATE = "`demeanor run --update-snapshots` writes it"


def compare_snapshot(file: Path, asked: str) -> None:
    """Raise AssertionError where `asked` is not what the file holds, or where there is no file."""
    try:
        kept = file.read_text("utf-8")
    except FileNotFoundError:
        raise AssertionError(f"there is no snapshot {file.name} yet; {_UPDATE}") from None
    if kept != asked:
        lines = difflib.unified_diff(kept.splitlines(), asked.splitlines(), "snapshot", "sent now", n=2, lineterm="")
        difference = opening("\n".join(lines), lines=40)
        raise AssertionError(f"the agent's prompt or tools are not those of {file.name}; {_UPDATE}\n{difference}")


def write_snapshots(eval: Eval, evidence: Evidence) -> None:  # noqa: A002 - the word of the house
    """Write what the agent sent to the snapshots that the eval asks for; nothing where it is not known."""
    subject = evidence.trial.rpartition("/")[0].removeprefix(f"{eval.name}/")
    for check in eval.checks:
        if isinstance(check, PromptSnapshot) and evidence.asked is not None:
            file = check.file_of(subject)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(evidence.asked, "utf-8")
