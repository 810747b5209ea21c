"""`demeanor init`: set up evals, configuration and CI in this folder."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from demeanor.core.exit_code import ExitCode

_TARGETS = {
    "demeanor.toml": "demeanor.toml",
    "eval_notes.py": "evals/eval_notes.py",
    "scenario.toml": "evals/create-file/scenario.toml",
    "pull-request.yml": ".github/workflows/evals-pull-request.yml",
    "nightly.yml": ".github/workflows/evals-nightly.yml",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(), help="the folder to set up (default: the current folder)"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Create the missing files; never change existing ones."""
    starter = files("demeanor.commands.init") / "starter"
    for name, target in _TARGETS.items():
        path = args.folder / target
        if path.exists():
            print(f"kept     {path} (already exists)")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((starter / name).read_text("utf-8"), "utf-8")
        print(f"created  {path}")
    where = "" if args.folder == Path() else f"cd {args.folder} && "
    print(
        f"\nnext:\n  {where}demeanor validate             check that each eval can pass and can fail, without a model"
        f"\n  {where}demeanor run --policy all     run them"
    )
    return ExitCode.ACCEPTED
