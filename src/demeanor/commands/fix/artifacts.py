"""The folder of a fix, beside the runs, and applying its patch to the user's tree.

<results>/fixes/<id>/brief.md, evidence/     the diagnosis, and the first brief for the fixer
<results>/fixes/<id>/before/                 a run: the evals without any change
<results>/fixes/<id>/round-N/                brief.md, patch.diff; fixer/, after/ and guard/ are runs too
<results>/fixes/<id>/report.json, report.md  the result
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from demeanor.commands.fix.brief import evidence, fix_brief
from demeanor.commands.fix.diagnosis import Diagnosis
from demeanor.commands.fix.project import FixProject
from demeanor.commands.fix.render import fix_markdown
from demeanor.commands.fix.report import FIX_DOCUMENT, FixReport
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.redaction.values import redacted
from demeanor.core.started import mark_started
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.values.errors import StoreError
from demeanor.store.runs import new_run
from demeanor.vcs import apply_patch

FIXES = "fixes"


def create_fix_folder(results: Path) -> Path:
    """Create the folder of a fix that starts now."""
    folder = new_run(results / FIXES, datetime.now(UTC)).folder
    mark_started()
    return folder


def write_brief(diagnosis: Diagnosis, folder: Path, redactor: Redactor) -> str:
    """Write the first brief and the evidence, without secrets; return the brief as written."""
    brief = redactor.text(fix_brief(diagnosis))
    _write(folder, {"brief.md": brief})
    _write(folder / "evidence", {name: redactor.text(text) for name, text in evidence(diagnosis).items()})
    return brief


def write_report(report: FixReport, folder: Path, redactor: Redactor) -> FixReport:
    """Write the report, without secrets; return it as written."""
    clean = redacted(report, redactor)
    _write(folder, {"report.json": FIX_DOCUMENT.write(clean), "report.md": fix_markdown(clean)})
    return clean


def apply_fix(report: FixReport, project: FixProject) -> FixReport:
    """Apply the patch of a fix to the user's tree; if that is not safe, change nothing and raise UsageError."""
    best = report.best
    if best is None or not best.patch_file:
        return report
    apply_patch(Path(best.patch_file), project.top, best.files)
    return replace(report, applied=True)


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_atomically(folder / name, text)
    except OSError as error:
        raise StoreError(f"{folder}: can't write the fix here: {error.strerror}") from error
