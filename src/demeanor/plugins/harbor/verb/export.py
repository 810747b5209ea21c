"""`demeanor harbor export`: write evals as tasks in Harbor's format."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.core.values.eval import Eval

SUMMARY = "write evals as tasks that Harbor runs without Demeanor"
EXAMPLES = (
    ("demeanor harbor export evals/create-file", "as tasks/create-file"),
    ("demeanor harbor export saves_the_note --partial", "only the checks that Harbor can run"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    from demeanor.cli import config_argument

    parser.add_argument(
        "evals", nargs="+", metavar="EVAL", help="an eval to write: a name, or FILE::NAME, or a folder; repeatable"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("tasks"), metavar="DIR", help="folder for the tasks (default: tasks)"
    )
    parser.add_argument(
        "--org", default="local", help="the organisation, the first half of the task's name (default: local)"
    )
    parser.add_argument("--image", default="python:3.12-slim", help="the base image of the task (default: %(default)s)")
    parser.add_argument(
        "--partial", action="store_true", help="leave out the checks that Harbor can't run, and list them"
    )
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Write the tasks; stop at the first eval that can't be exported."""
    from demeanor.cli import folder_problem, load_config
    from demeanor.core.started import mark_started
    from demeanor.core.values.errors import BadInput
    from demeanor.plugins.harbor.export.exported_task import export_task
    from demeanor.runner import choose_evals

    config = load_config(args)
    if problem := folder_problem(args.output):
        raise BadInput(problem, where="--output", remedy="choose another path")
    evals: list[Eval] = []
    for named in args.evals:
        path = "::" in named or Path(named).exists()
        evals += choose_evals(config, paths=[named] if path else (), names=() if path else (named,))
    for eval_ in evals:
        done = export_task(eval_, args.output, org=args.org, image=args.image, partial=args.partial)
        mark_started()
        print(f"{done.folder}: written; check it with `demeanor validate {done.folder}`")
        for reason in done.left_out:
            print(f"  left out: {reason}")
        if not done.solution:
            print("  without a solution: the eval has no passing behaviour (passes_on)")
    return ExitCode.ACCEPTED
