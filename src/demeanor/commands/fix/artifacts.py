"""A fix's own folder, beside the runs: brief, evidence, report; and its patch in the user's tree, where that is wanted.

<results>/fixes/<id>/brief.md, evidence/     what was known, and what the fixer was told first
<results>/fixes/<id>/before/                 a run: the evals without any change
<results>/fixes/<id>/round-N/                brief.md, patch.diff; fixer/, after/ and guard/ are runs too
<results>/fixes/<id>/report.json, report.md  what came of it
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from demeanor.commands.fix.brief import evidence, fix_brief
from demeanor.commands.fix.diagnosis import Diagnosis
from demeanor.commands.fix.markdown import fix_markdown
from demeanor.commands.fix.project import FixProject
from demeanor.commands.fix.report import FIX_DOCUMENT, FixReport
from demeanor.core.errors import StoreError
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.redaction.values import redacted
from demeanor.store.runs.run_dirs import new_run
from demeanor.store.runs.run_folder import write_whole
from demeanor.vcs.patch import apply_patch

FIXES = "fixes"


def new_fix(results: Path) -> Path:
    """A folder for a fix that begins now."""
    return new_run(results / FIXES, datetime.now(UTC)).folder


def keep_brief(found: Diagnosis, folder: Path, redactor: Redactor) -> str:
    """Keep what is known; and what a fixer is told first, as it is kept."""
    brief = redactor.text(fix_brief(found))
    _write(folder, {"brief.md": brief})
    _write(folder / "evidence", {name: redactor.text(text) for name, text in evidence(found).items()})
    return brief


def keep_report(report: FixReport, folder: Path, redactor: Redactor) -> FixReport:
    """Keep what came of it; and give it as it is kept, without secrets."""
    clean = redacted(report, redactor)
    _write(folder, {"report.json": FIX_DOCUMENT.write(clean), "report.md": fix_markdown(clean)})
    return clean


def apply_fix(report: FixReport, project: FixProject) -> FixReport:
    """Lay the patch of a fix onto the user's tree; raises UsageError, and changes nothing, where that is not safe."""
    best = report.best
    if best is None or not best.patch_file:
        return report
    apply_patch(Path(best.patch_file), project.top, best.files)
    return replace(report, applied=True)


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_whole(folder / name, text)
    except OSError as error:
        raise StoreError(f"{folder}: the fix can't be kept here: {error.strerror}") from error
