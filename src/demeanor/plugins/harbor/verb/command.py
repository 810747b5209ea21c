"""`demeanor harbor`: show or install the Harbor that runs whole tasks, and manage the images of tasks."""

from __future__ import annotations

import argparse
import os
import sys

from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode

SUMMARY = "show or install Harbor, which runs whole tasks; manage its images"
GROUP = "machine"
EXAMPLES = (
    ("demeanor harbor", "which Harbor is used"),
    ("demeanor harbor install", "install the tested version"),
    ("demeanor harbor images pull python:3.12-slim", "get a base image of tasks"),
    ("demeanor harbor images prune --max-gb 5", "remove what was not used"),
)

_ACTIONS = {"show": (0, 0), "install": (0, 1), "images": (0, 3), "rootfs": (2, 2)}
"""The actions, with how many words each takes after its name."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    from demeanor.cli import config_argument, size_argument

    parser.add_argument(
        "action",
        choices=tuple(_ACTIONS),
        nargs="?",
        default="show",
        help="show the Harbor in use (default); install one into its own folder (needs Python 3.12 or later); "
        "images: manage the cache of images; rootfs: make a Debian image",
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="install [VERSION] | images [list] | images pull NAME | images import PATH NAME | images prune | "
        "rootfs make NAME",
    )
    parser.add_argument(
        "--max-gb",
        type=size_argument,
        default=0.0,
        metavar="N",
        help="images prune: keep what was used last, up to N GB",
    )
    parser.add_argument("--json", action="store_true", help="images list: print JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Show or install Harbor, or manage images."""
    least, most = _ACTIONS[args.action]
    if not least <= len(args.words) <= most:
        raise UsageError(f"harbor {args.action}: unexpected number of arguments\n  → demeanor harbor --help")
    match args.action:
        case "install":
            return _install(args.words[0] if args.words else None)
        case "images":
            from demeanor.plugins.harbor.verb.images import manage_images

            return manage_images(args.words, as_json=args.json, max_bytes=int(args.max_gb * 2**30))
        case "rootfs":
            from demeanor.plugins.harbor.verb.rootfs import make_rootfs

            if args.words[0] != "make":
                raise UsageError(f"unknown action {args.words[0]!r}\n  → demeanor harbor rootfs make NAME")
            return make_rootfs(args.words[1])
    return _show(args)


def _show(args: argparse.Namespace) -> ExitCode:
    from demeanor.cli import load_config
    from demeanor.plugins.harbor.program import find_harbor, harbor_problem, harbor_version

    config = load_config(args)
    if problem := harbor_problem(config, os.environ):
        raise UsageError(problem)
    words = find_harbor(config, os.environ)
    print(f"harbor {harbor_version(words)}  {' '.join(words)}")
    return ExitCode.ACCEPTED


def _install(version: str | None) -> ExitCode:
    from demeanor.agents.packages import agents_folder, install_package
    from demeanor.plugins.harbor.program import HARBOR

    program = install_package("harbor", HARBOR, version, agents_folder(os.environ), os.environ, _show_progress)
    print(f"harbor is ready: {program}")
    return ExitCode.ACCEPTED


def _show_progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
