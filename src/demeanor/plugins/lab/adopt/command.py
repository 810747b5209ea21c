"""`demeanor adopt`: turn a session in which an agent did the wrong thing into an eval."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import config_argument, load_config, positive_int, sandbox_argument, with_sandbox
from demeanor.core.values.errors import BadInput, UsageError
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.core.values.session import PastSession
    from demeanor.runner import Catalog

SUMMARY = "turn a session in which an agent did the wrong thing into an eval"
GROUP = "explore"
EXAMPLES = (
    ("demeanor adopt ~/.claude/projects/*/1f0c….jsonl", "what the agent did, and a draft of an eval"),
    ("demeanor adopt session.jsonl --check 1", "the first listed fact was wrong"),
    ("demeanor adopt saves_the_note/native:scripted/2", "a stored trial"),
    ("demeanor adopt ~/.claude/projects", "all sessions, in groups"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a session file of Claude Code, Cline, Codex, Gemini CLI, goose or opencode, traffic of"
        " `demeanor gateway serve --keep`, an ATIF trajectory, or a stored trial: EVAL/SUBJECT/N;"
        " of a folder, its sessions in groups, with an eval of one example of each",
    )
    parser.add_argument(
        "--check",
        action="append",
        type=positive_int,
        default=[],
        metavar="NUMBER",
        help="what was wrong: the number of a listed fact, whose check becomes active; repeatable",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the facts and the file; write nothing")
    part = parser.add_argument_group("which part of it")
    part.add_argument("--session", metavar="ID", help="a session of a database (default: the newest)")
    part.add_argument("--prompt", type=positive_int, metavar="N", help="the eval's prompt (default: the last)")
    part.add_argument(
        "--turns", action="store_true", help="ask all prompts up to this one, instead of resuming the conversation"
    )
    part.add_argument("--run", default="latest", metavar="RUN", help="the run of a stored trial (default: latest)")
    part.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    files = parser.add_argument_group("its files")
    files.add_argument(
        "--repo", type=Path, metavar="DIR", help="the folder that the agent worked in (default: that of the session)"
    )
    files.add_argument("--commit", metavar="REV", help="the commit that was checked out (default: that of the session)")
    files.add_argument(
        "--all-files", action="store_true", help="take all files of the commit, not only those that the session touched"
    )
    parser.add_argument("--name", help="the eval's name (default: the first words of the prompt)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the file to write (default: evals/eval_NAME.py)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    sandbox_argument(parser)
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Read the session, write the eval, and validate it: exit code 1 as long as it has gaps or faults."""
    from demeanor.plugins.lab.adopt.render import adopted_json, adopted_text
    from demeanor.plugins.lab.adopt.report import AdoptReport
    from demeanor.plugins.lab.adopt.situation import Choice
    from demeanor.plugins.lab.adopt.workflow import adopt, adopt_and_validate
    from demeanor.runner import Catalog

    config = with_sandbox(load_config(args), args)
    catalog = Catalog(config=config, environ=os.environ)
    if Path(args.source).is_dir():
        return _adopt_folder(Path(args.source), args, catalog)
    session, source = _session(args, catalog)
    adopted = adopt(
        session,
        Choice(prompt=args.prompt, turns=args.turns, repo=args.repo, commit=args.commit, all_files=args.all_files),
        redactor=catalog.redactor,
        folder=config.root / config.paths[0],
        source=source,
        checks=args.check,
        name=args.name,
        out=_out(args.output),
    )
    report = AdoptReport(adopted=adopted, validation=None) if args.dry_run else adopt_and_validate(catalog, adopted)
    print(adopted_json(report) if args.json else adopted_text(report))
    faulty = report.validation is not None and report.validation.faulty
    return ExitCode.REJECTED if faulty else ExitCode.ACCEPTED


def _adopt_folder(folder: Path, args: argparse.Namespace, catalog: Catalog) -> ExitCode:
    """Write an eval of one session of each group; no file is overwritten."""
    for option in ("check", "dry_run", "session", "prompt", "turns", "commit", "all_files", "name", "output", "json"):
        if getattr(args, option):
            shown = option.replace("_", "-")
            raise UsageError(f"--{shown} is about one session, and {folder} is a folder\n  → name one of its files")
    from demeanor.core.trees.file_set import write_files
    from demeanor.plugins.lab.adopt.groups import group_sessions, grouped_text

    config = catalog.config
    grouped = group_sessions(folder, redactor=catalog.redactor, evals=config.root / config.paths[0])
    files = {path: text for group in grouped.groups if group.example for path, text in group.example.files.items()}
    kept = {path for path in files if path.exists()}
    write_files({path: text for path, text in files.items() if path not in kept})
    for path in files:
        print(f"kept     {path} (already exists)" if path in kept else f"created  {path}")
    print(f"\n{grouped_text(grouped)}")
    return ExitCode.ACCEPTED


def _out(path: Path | None) -> Path | None:
    """The file of `--output`, whose name must be one that evals are found by."""
    from demeanor.define import is_eval_file

    if path is not None and not is_eval_file(path.name):
        raise BadInput("an eval's file is named eval_*.py", where=f"--output {path}", remedy=f"eval_{path.stem}.py")
    return path


def _session(args: argparse.Namespace, catalog: Catalog) -> tuple[PastSession, str]:
    """The session, and a phrase that says what it is."""
    from demeanor.plugins.lab.adopt.workflow import session_phrase
    from demeanor.runner import choose_session, read_sessions

    path = Path(args.source)
    if not path.exists():
        return _trial(args, catalog)
    session = choose_session(read_sessions(path), args.session, path)
    return session, session_phrase(session)


def _trial(args: argparse.Namespace, catalog: Catalog) -> tuple[PastSession, str]:
    from demeanor.core.values.errors import UnknownName
    from demeanor.plugins.lab.adopt.trial import trial_session
    from demeanor.results import find_record, find_stored_run
    from demeanor.store.captures import open_capture_store

    config = catalog.config
    results = args.results or config.root / config.results
    try:
        run = find_stored_run(args.run, results, config, os.environ, trials=[args.source])
        record = find_record(run, args.source)
    except UnknownName as error:
        raise BadInput(
            f"there is no such file, and no such trial: {error}",
            where=args.source,
            remedy="name a session file, or a trial as `demeanor trace` does: EVAL/SUBJECT/N, with --run",
        ) from None
    return trial_session(catalog, run, record, open_capture_store(config)), f"the trial {record.trial} of {run.name}"
